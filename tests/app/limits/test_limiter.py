"""What a key may use, as its user sees it."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from app.config.model import KeyLimits
from app.context import Caller
from app.limits import limiter as module
from app.limits.ledger import Ledger, MemoryLedger, RedisLedger
from app.limits.limiter import Limiter
from bridge.errors import RATE_LIMITED, GodeXError
from tests.app.limits.conftest import OpenLedger
from tests.support.client import Gateway, check_error
from tests.support.fake_upstream import FakeUpstream, answer, chunk, failure, sse

MINUTE = 1_800_000_000.0  # a moment at the beginning of a minute


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """The limiter's time stands still; clock(seconds) sets it forward."""
    now = [MINUTE]
    monkeypatch.setattr(module.time, "time", lambda: now[0])
    return lambda seconds: now.__setitem__(0, now[0] + seconds)


def caller(**limits: int) -> Caller:
    return Caller(owner="an-owner", name="ann", limits=KeyLimits(**limits))


def refused(limiter: Limiter, who: Caller) -> tuple[str, int | None]:
    with pytest.raises(GodeXError) as refusal:
        limiter.admit(who, {})
    assert refusal.value.code == RATE_LIMITED
    return refusal.value.message, refusal.value.retry_after


def test_workers_count_together(open_ledger: OpenLedger) -> None:
    workers = [Limiter(open_ledger) for _ in range(2)]
    who = caller(concurrent=3)
    admissions = [worker.admit(who, {}) for worker in (*workers, workers[0])]
    message, wait = refused(workers[1], who)
    assert (message, wait) == ("Rate limit reached for concurrent requests: limit 3. Please try again in 1s.", 1)
    admissions[0].ended()
    workers[1].admit(who, {}).ended()
    for admission in admissions:
        admission.ended()
    for worker in workers:
        worker.close()


def test_requests_are_counted_by_the_minute_of_the_clock(clock: Callable[[float], None]) -> None:
    limiter = Limiter(open_memory())
    who = caller(requests_per_minute=2)
    clock(50)
    headers: dict[str, str] = {}
    for _ in range(2):
        limiter.admit(who, headers).ended()
    assert headers == {
        "x-ratelimit-limit-requests": "2",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "10s",
    }
    assert refused(limiter, who) == ("Rate limit reached for requests: limit 2. Please try again in 10s.", 10)
    clock(10)
    limiter.admit(who, headers)
    assert headers["x-ratelimit-remaining-requests"] == "1"


def open_memory() -> OpenLedger:
    ledger = MemoryLedger()
    return lambda: ledger


def test_a_minute_may_take_more_tokens_than_its_limit_and_then_no_more(clock: Callable[[float], None]) -> None:
    limiter = Limiter(open_memory())
    who = caller(tokens_per_minute=100)
    first, second = limiter.admit(who, {}), limiter.admit(who, {})
    first.ended(99)
    limiter.admit(who, {}).ended(0)
    second.ended(500)
    headers: dict[str, str] = {}
    with pytest.raises(GodeXError, match="Rate limit reached for tokens: limit 100"):
        limiter.admit(who, headers)
    assert headers["x-ratelimit-remaining-tokens"] == "0"
    clock(60)
    limiter.admit(who, headers)
    assert headers["x-ratelimit-remaining-tokens"] == "100"


def test_an_admission_ends_once() -> None:
    limiter = Limiter(open_memory())
    who = caller(tokens_per_minute=100)
    admission = limiter.admit(who, {})
    admission.ended(60)
    admission.ended(60)
    limiter.admit(who, {})


def test_who_has_no_limits_costs_no_look_at_the_ledger() -> None:
    def no_ledger() -> Ledger:
        raise AssertionError("the ledger was opened")

    Limiter(no_ledger).admit(Caller(owner="o", name="n"), {}).ended(5)


def test_leases_are_renewed_as_long_as_the_process_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEASE", 0.3)
    monkeypatch.setattr(module, "RENEWED_EVERY", 0.05)
    opened = open_memory()
    living, dead = Limiter(opened), Limiter(opened)
    who = caller(concurrent=2)
    living.admit(who, {})
    dead.admit(who, {})
    dead.close()
    end = time.monotonic() + 5
    while time.monotonic() < end:  # the dead one's lease ends
        try:
            living.admit(who, {})
            break
        except GodeXError:
            time.sleep(0.02)
    time.sleep(0.5)
    refused(living, who)
    living.close()


def test_nobody_is_limited_while_the_ledger_is_away(caplog: pytest.LogCaptureFixture) -> None:
    limiter = Limiter(lambda: RedisLedger("redis://127.0.0.1:1/0", "p"))
    who = caller(requests_per_minute=1, concurrent=1)
    started = time.monotonic()
    for _ in range(20):
        limiter.admit(who, {}).ended(5)
    limiter.close()
    assert time.monotonic() - started < 5
    assert [record.message for record in caplog.records if "ledger" in record.message] == [
        "limits are not enforced: the ledger is away"
    ]


# Through the gateway

KEYS = {"keys": [{"name": "ann", "key": "key-of-ann", "limits": {}}, {"name": "bob", "key": "key-of-bob"}]}


@pytest.fixture
def limited(make_gateway: Callable[..., Gateway]) -> Callable[..., Gateway]:
    """limited(concurrent=1, …): a gateway whose key `ann` has these limits; `bob` has none."""

    def made(**limits: int) -> Gateway:
        ann, bob = KEYS["keys"]
        return make_gateway(auth={"keys": [{**ann, "limits": limits}, bob]})

    return made


ANN, BOB = {"Authorization": "Bearer key-of-ann"}, {"Authorization": "Bearer key-of-bob"}


def test_a_client_is_told_what_is_left_and_when_to_come_again(limited: Any) -> None:
    gateway = limited(requests_per_minute=2, tokens_per_minute=1000)
    first, second, third = (gateway.post(headers=ANN) for _ in range(3))
    assert (first.headers["x-ratelimit-limit-requests"], first.headers["x-ratelimit-remaining-requests"]) == ("2", "1")
    assert (first.headers["x-ratelimit-remaining-tokens"], second.headers["x-ratelimit-remaining-tokens"]) == (
        "1000",
        "983",
    )
    error = check_error(third, 429)
    assert (error["type"], error["code"]) == ("rate_limit_error", "rate_limit_exceeded")
    assert re.fullmatch(r"Rate limit reached for requests: limit 2\. Please try again in \d+s\.", error["message"])
    assert third.headers["Retry-After"] in error["message"]
    assert third.headers["x-ratelimit-remaining-requests"] == "0"
    other = gateway.post(headers=BOB)
    assert other.status_code == 200
    assert not [name for name, _ in other.headers if name.startswith("x-ratelimit")]


def test_tokens_of_streams_and_of_whole_answers_count_alike(limited: Any, upstream: FakeUpstream) -> None:
    gateway = limited(tokens_per_minute=34)
    gateway.post(headers=ANN, stream=True).get_data()
    gateway.post(headers=ANN)
    assert "limit 34" in check_error(gateway.post(headers=ANN), 429)["message"]


def test_a_stream_holds_its_place_until_it_has_ended(limited: Any, upstream: FakeUpstream) -> None:
    gateway = limited(concurrent=1)
    upstream.script("slow", sse(*[chunk(content="x")] * 20, chunk(finish="stop"), pause=0.05))
    answering = threading.Thread(
        target=lambda: (
            gateway.client.application.test_client()
            .post("/v1/responses", json={"model": "slow", "input": "x", "stream": True}, headers=ANN)
            .get_data()
        )
    )
    answering.start()
    end = time.monotonic() + 5
    while not upstream.requests:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert "concurrent" in check_error(gateway.post(headers=ANN), 429)["message"]
    answering.join()
    assert gateway.post(headers=ANN).status_code == 200


@pytest.mark.parametrize(
    ("reply", "status", "fields"),
    [
        (failure(500, "down"), 502, {}),
        (answer("x"), 400, {"previous_response_id": "resp_of_nobody"}),
        (sse(chunk(content="half"), cut_after=1), 502, {}),
    ],
    ids=["the upstream refuses", "we refuse", "the answer breaks off"],
)
def test_what_fails_gives_its_place_back(
    limited: Any, upstream: FakeUpstream, reply: Any, status: int, fields: Any
) -> None:
    gateway = limited(concurrent=1)
    upstream.script("m", reply, answer("x"))
    assert gateway.post(headers=ANN, **fields).status_code == status
    assert gateway.post(headers=ANN).status_code == 200
