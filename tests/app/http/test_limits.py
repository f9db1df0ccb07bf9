"""Bodies that would exhaust a worker, and headers that keep answers from being taken for something else."""

from __future__ import annotations

import json

import pytest

from app.http import limits
from app.http.body import parsed_object
from app.http.limits import MAX_DEPTH, MAX_ITEMS
from bridge.errors import INVALID_JSON, INVALID_PARAMETER, GodeXError
from tests.support.client import check_error


def nested(depth):
    """An object whose deepest value lies `depth` objects and arrays deep."""
    return b'{"metadata":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"


REFUSED = [
    (b"[" * 100_000, INVALID_JSON, "100,000 arrays that are never closed"),
    (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, INVALID_JSON, "100,000 objects inside each other"),
    (nested(900), INVALID_JSON, "deeper than we go, not too deep for the parser"),
    (nested(MAX_DEPTH + 1), INVALID_JSON, "one level too deep"),
    (b'{"input":[' + b"1," * MAX_ITEMS + b"1]}", INVALID_PARAMETER, "one item too many"),
]


@pytest.mark.parametrize(("raw", "code", "what"), REFUSED, ids=[what for *_, what in REFUSED])
def test_what_is_too_deep_or_too_long_is_refused(raw, code, what):
    with pytest.raises(GodeXError) as refused:
        parsed_object(raw)
    assert refused.value.code == code


@pytest.mark.parametrize(
    "raw", [nested(MAX_DEPTH), b'{"input":[' + b"1," * (MAX_ITEMS - 1) + b"1]}"], ids=["deep", "long"]
)
def test_what_is_just_within_the_limits_is_taken(raw):
    assert parsed_object(raw) == json.loads(raw)


def test_a_depth_is_no_matter_of_brackets_in_texts():
    body = {"input": "[{" * 5000}
    assert parsed_object(json.dumps(body).encode()) == body


def test_too_many_objects_are_refused_before_they_are_made(monkeypatch):
    monkeypatch.setattr(limits, "MAX_BRACKETS", 1000)
    with pytest.raises(GodeXError, match="more than 1000 objects and arrays"):
        parsed_object(b'{"a":[' + b"[]," * 1000)  # not even JSON: it was not looked at


@pytest.mark.parametrize(("raw", "code", "what"), REFUSED, ids=[what for *_, what in REFUSED])
def test_the_client_is_told(gateway, raw, code, what):
    reply = gateway.client.post("/v1/responses", data=raw, content_type="application/json")
    assert check_error(reply, 400)["godex_code"] == code


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/v1/responses"), ("GET", "/v1/models"), ("GET", "/health"), ("GET", "/nowhere")]
)
def test_every_answer_says_that_it_is_no_page(gateway, method, path):
    reply = gateway.client.open(path, method=method, json={"model": "m", "input": "hi"} if method == "POST" else None)
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert reply.headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert reply.headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in reply.headers


def test_a_stream_keeps_its_own_cache_rule(gateway):
    assert "no-cache" in gateway.stream().headers["Cache-Control"]
