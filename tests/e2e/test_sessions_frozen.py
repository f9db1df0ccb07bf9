"""Redis stops answering for ten seconds without being gone. Nobody waits for long, and nothing is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.crowd import Refusal, Talker, get, post
from tests.support.fake_upstream import FakeUpstream, answer
from tests.support.redis_server import wait_until
from tests.support.replicas import Replicas

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

FROZEN = 10.0  # seconds
LONGEST = 6.0  # seconds that a call may take: two time-outs of one second in each of at most two looks, and some slack


@pytest.fixture
def replicas(tmp_path: Path) -> Iterator[Replicas]:
    with FakeUpstream() as upstream:
        upstream.default = answer("yes")
        with Replicas(upstream.url, tmp_path) as deployment:
            yield deployment
            assert "Traceback" not in deployment.log, deployment.log


def on_threads(count: int, end: float, call: Any) -> None:
    """`call` again and again on `count` threads until `end`."""

    def loop(number: int) -> None:
        while time.monotonic() < end:
            call(number)
            time.sleep(0.1)

    threads = [threading.Thread(target=loop, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def may_be_tried_again(refusal: Refusal) -> bool:
    assert refusal.error is not None
    return (
        refusal.status == 503
        and refusal.error["godex_code"] == "session.store.unavailable"
        and bool(refusal.retry_after)
    )


def test_a_frozen_redis_holds_up_only_what_needs_it(replicas: Replicas) -> None:
    before = Talker(replicas.port, "before")
    for _ in range(3):
        assert before.say(stream=False)
    parent = before.turns[-1].response["id"]
    begun: list[dict[str, Any]] = []
    refused: list[Refusal] = []
    durations: list[float] = []

    def begin(number: int) -> None:
        started = time.monotonic()
        made = post(replicas.port, "/v1/responses", {"model": "m", "input": "new", "stream": number % 2 == 0})
        durations.append(time.monotonic() - started)
        assert not isinstance(made, Refusal), made
        begun.append(made)

    def go_on(number: int) -> None:
        started = time.monotonic()
        body = {"model": "m", "input": "again", "previous_response_id": parent, "stream": number % 2 == 0}
        made = post(replicas.port, "/v1/responses", body)
        durations.append(time.monotonic() - started)
        if isinstance(made, Refusal):
            refused.append(made)
        else:
            begun.append(made)

    replicas.redis.freeze()
    end = time.monotonic() + FROZEN
    on_threads(20, end, lambda number: go_on(number) if number % 4 == 0 else begin(number))
    replicas.redis.thaw()

    assert max(durations) < LONGEST, sorted(durations)[-5:]
    assert len(begun) > 100, "most did not wait for the store at all"
    assert refused and all(map(may_be_tried_again, refused)), refused
    for made in begun:
        path = f"/v1/responses/{made['id']}"
        wait_until(lambda path=path, made=made: get(replicas.port, path) == (200, made), "it was delivered", timeout=10)
    later = Talker(replicas.port, "later")
    for talker in (before, later):
        for _ in range(5):
            # One worker may save a turn in its spool, not yet knowing that Redis is back, and another be asked for it.
            wait_until(lambda talker=talker: talker.say(stream=False), "the conversation goes on", timeout=10)
        assert all(map(may_be_tried_again, talker.refusals)), talker.refusals
