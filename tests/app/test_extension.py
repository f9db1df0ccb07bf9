"""GodeX inside somebody else's Flask app."""

from __future__ import annotations

import logging

import pytest
from flask import Flask, Response, abort, jsonify, redirect, request
from werkzeug.datastructures import WWWAuthenticate
from werkzeug.middleware.dispatcher import DispatcherMiddleware

from app import GodeX, create_app
from bridge.errors import ServerError
from tests.support.client import Gateway
from tests.support.fake_upstream import FakeUpstream, answer


@pytest.fixture
def upstream():
    with FakeUpstream() as server:
        yield server


def config(upstream):
    provider = {"spec": "openai_compatible", "endpoint": {"base_url": upstream.url}, "credentials": {"api_key": "k"}}
    return {"providers": {"up": provider}, "session": {"backend": "memory"}, "trace": {"enabled": False}}


def host_app():
    host = Flask("host")

    @host.get("/")
    def home():
        return jsonify({"b": 1, "a": 2})

    @host.errorhandler(404)
    def missing(error):
        return "the host's own 404", 404

    return host


def test_mounted_under_a_prefix_of_the_hosts_choice(upstream):
    host = host_app()
    host.config["GODEX"] = config(upstream)
    GodeX().init_app(host, url_prefix="/ai/v1", health_prefix="/ai")
    upstream.script("m", answer("one"), answer("two"))
    gateway = Gateway(host.test_client(), "/ai/v1")
    first = gateway.create()
    assert gateway.stream(previous_response_id=first["id"]).response["status"] == "completed"
    assert host.test_client().get("/ai/health").status_code == 200


def test_as_an_application_beside_the_host(upstream):
    host = host_app()
    host.wsgi_app = DispatcherMiddleware(host.wsgi_app, {"/ai": create_app(config(upstream))})
    upstream.script("m", answer("one"), answer("two"))
    gateway = Gateway(host.test_client(), "/ai/v1")
    first = gateway.create()
    assert gateway.stream(previous_response_id=first["id"]).response["status"] == "completed"
    assert host.test_client().get("/ai/health").status_code == 200
    assert host.test_client().get("/").json == {"a": 2, "b": 1}
    assert host.test_client().get("/nowhere").text == "the host's own 404"


def test_the_hosts_own_door_stands_before_the_routes(upstream):
    host = host_app()

    @host.before_request
    def door():
        if request.headers.get("X-Badge") != "staff":
            abort(401, "show your badge", www_authenticate=WWWAuthenticate("bearer"))

    GodeX(host, config(upstream))
    upstream.script("m", answer("one"))
    gateway = Gateway(host.test_client())
    refused = gateway.post({"model": "m", "input": "x"})
    assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, "Bearer")
    error = {"message": "show your badge", "type": "authentication_error", "param": None, "code": "unauthorized"}
    assert refused.json == {"error": error}
    assert upstream.requests == []
    assert gateway.post({"model": "m", "input": "x"}, headers={"X-Badge": "staff"}).status_code == 200


@pytest.mark.parametrize(
    ("refusal", "status", "text"),
    [
        (lambda: abort(Response("closed for lunch", 503)), 503, "closed for lunch"),
        (lambda: abort(redirect("/login")), 302, "login"),
        (lambda: abort(429), 429, '"code":"too_many_requests"'),
    ],
)
def test_what_the_host_answers_itself_stays_its_answer(upstream, refusal, status, text):
    host = host_app()
    host.before_request(refusal)
    GodeX(host, config(upstream))
    reply = Gateway(host.test_client()).post({"model": "m", "input": "x"})
    assert (reply.status_code, text in reply.text) == (status, True)


def test_the_host_stays_as_it_was(upstream):
    plain, mounted = host_app(), host_app()
    before = (list(logging.getLogger("godex").handlers), logging.getLogger().handlers[:])
    GodeX(mounted, config(upstream))
    assert (list(logging.getLogger("godex").handlers), logging.getLogger().handlers[:]) == before
    assert type(mounted.json) is type(plain.json)
    for path in ("/", "/nowhere", "/v1/nowhere"):
        expected, seen = plain.test_client().get(path), mounted.test_client().get(path)
        assert (seen.status_code, seen.data) == (expected.status_code, expected.data)
    assert mounted.teardown_appcontext_funcs == plain.teardown_appcontext_funcs


def test_one_extension_serves_several_apps(upstream):
    godex = GodeX()
    for _ in range(2):
        host = host_app()
        host.config["GODEX"] = config(upstream)
        godex.init_app(host)
        Gateway(host.test_client()).create()


def test_a_wrong_configuration_stops_the_start_with_its_path():
    with pytest.raises(ServerError, match="providers.up.spec"):
        GodeX(host_app(), {"providers": {"up": {}}})


def test_the_hosts_own_limit_on_bodies_is_told_as_one(upstream):
    host = host_app()
    host.config["MAX_CONTENT_LENGTH"] = 1000
    GodeX(host, config(upstream))
    client = Gateway(host.test_client())
    client.create()
    assert client.post(input="x" * 2000).status_code == 413


def test_what_flask_refuses_before_a_route_keeps_its_status_and_name(upstream):
    app = create_app(config(upstream))

    @app.before_request
    def closed():
        abort(429)

    reply = app.test_client().get("/nowhere")
    assert (reply.status_code, reply.json["error"]["code"]) == (429, "too_many_requests")
    assert reply.headers["x-request-id"]
