"""GodeX inside somebody else's Flask app."""

from __future__ import annotations

import logging

import pytest
from flask import Flask, jsonify

from app import GodeX
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
