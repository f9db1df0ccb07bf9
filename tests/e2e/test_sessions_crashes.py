"""Workers, replicas and Redis die in mid-conversation. What a client saw completed is there afterwards, whole."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.crowd import Crowd, Refusal, get, post
from tests.support.fake_upstream import FakeUpstream, answer
from tests.support.redis_server import wait_until
from tests.support.replicas import Replicas

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

CLIENTS = 50
PAUSE = 0.05  # seconds that each of them thinks between two turns
ANSWERS_GONE = {0, 502, 504}  # what nginx, or a broken connection, says for a process that is no more


@pytest.fixture
def upstream() -> Iterator[FakeUpstream]:
    with FakeUpstream() as server:
        server.default = answer("yes")
        yield server


@pytest.fixture
def replicas(upstream: FakeUpstream, tmp_path: Path) -> Iterator[Replicas]:
    with Replicas(upstream.url, tmp_path) as deployment:
        yield deployment
        assert "Traceback" not in deployment.log, deployment.log


def run_on(crowd: Crowd, turns: int) -> None:
    """Until the crowd has made so many turns more."""
    goal = len(crowd.turns) + turns
    wait_until(lambda: len(crowd.turns) >= goal, f"{turns} more turns", timeout=30)


def check_nothing_is_lost(replicas: Replicas, upstream: FakeUpstream, crowd: Crowd) -> None:
    """Each client's last response can be fetched as it was, and continued with its whole history."""
    for talker in crowd.talkers:
        assert talker.turns, "every client got through"
        last = talker.turns[-1]
        path, whole = f"/v1/responses/{last.response['id']}", (200, last.response)
        wait_until(lambda path=path, whole=whole: get(replicas.port, path) == whole, "it is stored", timeout=10)
        asked = len(upstream.requests)
        assert talker.say(stream=True), talker.refusals[-1]
        messages = upstream.requests[asked].body["messages"]
        said = [message["content"] for message in messages if message["role"] == "user"]
        assert len(messages) == 2 * last.depth + 1
        assert said == [
            f"{talker.name} {number}" for number in range(len(talker.turns) - 1 - last.depth, len(talker.turns))
        ]


def unexpected(refusals: list[Refusal], *allowed: str) -> list[Refusal]:
    """Refusals that are neither a process's death nor one of these codes with its Retry-After."""
    return [
        refusal
        for refusal in refusals
        if not (refusal.status in ANSWERS_GONE and refusal.error is None)
        and not (refusal.error and refusal.error.get("godex_code") in allowed and refusal.retry_after)
    ]


def test_a_worker_is_killed(replicas: Replicas, upstream: FakeUpstream) -> None:
    with Crowd(replicas.port, CLIENTS, pause=PAUSE) as crowd:
        run_on(crowd, 150)
        replicas.kill_worker(0)
        run_on(crowd, 150)
        replicas.kill_worker(1)
        run_on(crowd, 150)
    assert unexpected(crowd.refusals) == []
    check_nothing_is_lost(replicas, upstream, crowd)


def test_a_replica_is_killed(replicas: Replicas, upstream: FakeUpstream) -> None:
    with Crowd(replicas.port, CLIENTS, pause=PAUSE) as crowd:
        run_on(crowd, 200)
        replicas.kill_replica(0)
        run_on(crowd, 200)
    assert unexpected(crowd.refusals) == []
    check_nothing_is_lost(replicas, upstream, crowd)


def test_redis_is_killed_and_comes_back(replicas: Replicas, upstream: FakeUpstream) -> None:
    with Crowd(replicas.port, CLIENTS, pause=PAUSE) as crowd:
        run_on(crowd, 200)
        replicas.redis.stop()
        time.sleep(1.5)
        first = post(replicas.port, "/v1/responses", {"model": "m", "input": "new client 0", "stream": True})
        assert not isinstance(first, Refusal), "a conversation can begin without the store"
        replicas.redis.start()
        run_on(crowd, 400)
    assert unexpected(crowd.refusals, "session.store.unavailable") == []
    assert any(refusal.status == 503 for refusal in crowd.refusals)
    wait_until(
        lambda: get(replicas.port, f"/v1/responses/{first['id']}") == (200, first), "it was delivered", timeout=10
    )
    check_nothing_is_lost(replicas, upstream, crowd)
