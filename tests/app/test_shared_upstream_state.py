"""What one worker learns about an upstream, the others know through the store that they share."""

from __future__ import annotations

import pytest

from providers.breaker import FAILURES
from tests.support.fake_upstream import answer, failure
from tests.support.redis_server import redis_url


@pytest.fixture(params=["sqlite", "redis"])
def session(request, tmp_path):
    """A section of the configuration whose store several gateways can share."""
    if request.param == "sqlite":
        yield {"backend": "sqlite", "sqlite": {"path": str(tmp_path / "sessions.db")}}
        return
    with redis_url() as url:
        yield {"backend": "redis", "redis": {"url": url, "prefix": tmp_path.name}}


def test_a_key_that_one_worker_saw_refused_is_not_tried_by_the_next(make_gateway, upstream, session):
    keys = {"credentials": {"api_keys": ["sk-spent", "sk-good"]}}
    upstream.script("m", failure(401, "invalid key"), answer("Hi"), answer("Hi"))
    for _ in range(2):
        make_gateway(provider=keys, session=session).create()
    used = [request.headers["authorization"] for request in upstream.requests]
    assert used == ["Bearer sk-spent", "Bearer sk-good", "Bearer sk-good"]


def test_an_upstream_that_one_worker_saw_down_is_left_alone_by_the_next(make_gateway, upstream, session):
    upstream.script("m", failure(500, "broken"), repeat=True)
    first = make_gateway(session=session)
    for _ in range(FAILURES):
        assert first.post({"model": "m", "input": "x"}).status_code >= 500
    make_gateway(session=session).post({"model": "m", "input": "x"})
    assert len(upstream.requests) == FAILURES
