"""What one worker learns about an upstream, the others know through the store that they share."""

from __future__ import annotations

from providers.breaker import FAILURES
from tests.support.fake_upstream import answer, failure


def test_a_key_that_one_worker_saw_refused_is_not_tried_by_the_next(make_gateway, upstream, tmp_path):
    keys = {"credentials": {"api_keys": ["sk-spent", "sk-good"]}}
    session = {"backend": "sqlite", "sqlite": {"path": str(tmp_path / "sessions.db")}}
    upstream.script("m", failure(401, "invalid key"), answer("Hi"), answer("Hi"))
    for _ in range(2):
        make_gateway(provider=keys, session=session).create()
    used = [request.headers["authorization"] for request in upstream.requests]
    assert used == ["Bearer sk-spent", "Bearer sk-good", "Bearer sk-good"]


def test_an_upstream_that_one_worker_saw_down_is_left_alone_by_the_next(make_gateway, upstream, tmp_path):
    session = {"backend": "sqlite", "sqlite": {"path": str(tmp_path / "sessions.db")}}
    upstream.script("m", failure(500, "broken"), repeat=True)
    first = make_gateway(session=session)
    for _ in range(FAILURES):
        assert first.post({"model": "m", "input": "x"}).status_code >= 500
    make_gateway(session=session).post({"model": "m", "input": "x"})
    assert len(upstream.requests) == FAILURES
