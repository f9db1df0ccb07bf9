"""Keys that rest, breakers that trip, and what other workers hear of it."""

from __future__ import annotations

import threading
import time

import pytest

from bridge import errors as codes
from bridge.errors import ProviderError
from providers import breaker as breaker_module
from providers.breaker import FAILURES, Breaker
from providers.keys import KeyPool
from providers.openai_compatible.spec import OPENAI_COMPATIBLE
from providers.settings import ClientSettings
from providers.transport import ChatClient
from tests.support.fake_upstream import FakeUpstream, answer, failure

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


class Shared:
    """What a session store offers, without one."""

    def __init__(self):
        self.values = {}
        self.reads = 0

    def remember(self, values, ttl):
        self.values.update(values)

    def recall(self, keys):
        self.reads += 1
        return {key: self.values[key] for key in keys if key in self.values}


class Away(Shared):
    def remember(self, values, ttl):
        raise OSError("away")

    recall = remember


class Slow(Shared):
    """Each call lasts until `go` is set, as in a store that is away until its time-outs are over."""

    def __init__(self):
        super().__init__()
        self.asked, self.go = threading.Event(), threading.Event()

    def remember(self, values, ttl):
        self._wait()
        super().remember(values, ttl)

    def recall(self, keys):
        self._wait()
        return super().recall(keys)

    def _wait(self):
        self.asked.set()
        assert self.go.wait(10)


def refusal(code, wait=None):
    return ProviderError(code, "no", **({} if wait is None else {"wait": wait}))


def test_keys_are_used_in_turn():
    pool = KeyPool("p", ["a", "b", "c"])
    assert [pool.take() for _ in range(4)] == ["a", "b", "c", "a"]


@pytest.mark.parametrize("code", [codes.UPSTREAM_RATE_LIMIT, codes.UPSTREAM_QUOTA, codes.UPSTREAM_AUTHENTICATION])
def test_a_refused_key_rests_while_there_are_others(code):
    pool = KeyPool("p", ["a", "b"])
    assert pool.take() == "a"
    assert pool.refuse("a", refusal(code, 5))
    assert [pool.take(), pool.take()] == ["b", "b"]
    assert not pool.refuse("b", refusal(code, 50))
    assert pool.ready == 0
    assert pool.take() == "a"  # the one that rests shortest


@pytest.mark.parametrize(("wait", "rest"), [(None, 10), (0.5, 0.5), (7, 7), (9999, 600)])
def test_a_rate_limited_key_rests_as_long_as_the_upstream_asked(wait, rest, monkeypatch):
    pool, now = KeyPool("p", ["a", "b"]), time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    pool.refuse("a", refusal(codes.UPSTREAM_RATE_LIMIT, wait))
    now += rest - 0.01
    assert pool.ready == 1
    now += 0.02
    assert pool.ready == 2


def test_an_error_that_is_not_the_keys_fault_rests_nothing():
    pool = KeyPool("p", ["a", "b"])
    assert not pool.refuse("a", refusal(codes.UPSTREAM_SERVER_ERROR))
    assert pool.ready == 2


def test_a_single_key_is_always_used():
    pool = KeyPool("p", ["a"])
    assert not pool.refuse("a", refusal(codes.UPSTREAM_QUOTA))
    assert pool.take() == "a"
    assert KeyPool("p", []).take() is None


def test_other_workers_hear_of_a_resting_key_and_no_key_is_stored():
    shared = Shared()
    KeyPool("p", ["key-a", "key-b"], shared).refuse("key-a", refusal(codes.UPSTREAM_QUOTA))
    assert KeyPool("p", ["key-a", "key-b"], shared).take() == "key-b"
    assert KeyPool("other", ["key-a", "key-b"], shared).take() == "key-a"
    assert "key-a" not in str(shared.values)


def test_a_store_that_is_away_changes_nothing_here():
    pool = KeyPool("p", ["a", "b"], Away())
    pool.refuse("a", refusal(codes.UPSTREAM_QUOTA))
    assert pool.take() == "b"


def test_asking_costs_one_read_for_a_while():
    shared = Shared()
    pool = KeyPool("p", ["a", "b"], shared)
    for _ in range(50):
        pool.take()
    assert shared.reads == 1


@pytest.fixture
def short_pauses(monkeypatch):
    monkeypatch.setattr(breaker_module, "FIRST_PAUSE", 0.05)


def trip(breaker):
    for _ in range(FAILURES):
        breaker.admit()
        breaker.failed()


def test_a_breaker_trips_after_failures_in_a_row_only():
    breaker = Breaker("p")
    for _ in range(FAILURES * 3):
        breaker.failed()
        breaker.succeeded()
    assert breaker.state == "closed"
    trip(breaker)
    assert breaker.state == "open"
    with pytest.raises(ProviderError) as refused:
        breaker.admit()
    assert refused.value.retry_after >= 1 and refused.value.code == codes.UPSTREAM_OVERLOADED


def wait_until_half_open(breaker):
    for _ in range(200):
        if breaker.state == "half_open":
            return
        threading.Event().wait(0.01)
    raise AssertionError(breaker.state)


def test_one_probe_finds_out_whether_it_is_back(short_pauses):
    breaker = Breaker("p")
    trip(breaker)
    wait_until_half_open(breaker)
    breaker.admit()
    with pytest.raises(ProviderError):
        breaker.admit()  # the others wait for the probe
    breaker.failed()
    assert breaker.state == "open"
    wait_until_half_open(breaker)
    breaker.admit()
    breaker.succeeded()
    assert breaker.state == "closed"
    for _ in range(3):
        breaker.admit()


def test_a_probe_that_tells_nothing_lets_another_one_go(short_pauses):
    breaker = Breaker("p")
    trip(breaker)
    wait_until_half_open(breaker)
    breaker.admit()
    breaker.abandoned()
    breaker.admit()


def test_other_workers_hear_that_an_upstream_is_down():
    shared = Shared()
    trip(Breaker("p", shared))
    with pytest.raises(ProviderError):
        Breaker("p", shared).admit()
    Breaker("q", shared).admit()


def keys_that_are_read(shared):
    pool = KeyPool("p", ["a", "b"], shared)
    return pool.take, pool.take


def key_that_is_refused(shared):
    pool = KeyPool("p", ["a", "b", "c"], shared)
    pool._resting._refreshed = time.monotonic()
    return lambda: pool.refuse("a", refusal(codes.UPSTREAM_QUOTA)), pool.take


def breaker_that_is_read(shared):
    breaker = Breaker("p", shared)
    return breaker.admit, breaker.admit


def breaker_that_trips(shared):
    breaker = Breaker("p", shared)
    breaker._open._refreshed = time.monotonic()
    for _ in range(FAILURES - 1):
        breaker.failed()
    return breaker.failed, breaker.succeeded


@pytest.mark.parametrize(
    "case",
    [keys_that_are_read, key_that_is_refused, breaker_that_is_read, breaker_that_trips],
    ids=lambda case: case.__name__,
)
def test_while_one_call_waits_for_the_store_the_others_go_on(case):
    shared = Slow()
    first, other = case(shared)
    threads = [threading.Thread(target=call, daemon=True) for call in (first, other)]
    threads[0].start()
    assert shared.asked.wait(5)
    threads[1].start()
    threads[1].join(2)
    stuck = threads[1].is_alive()
    shared.go.set()
    for thread in threads:
        thread.join(5)
    assert not stuck


def client(upstream, **settings):
    return ChatClient(OPENAI_COMPATIBLE, ClientSettings(base_url=upstream.url, **settings), "up")


def test_a_refused_key_is_replaced_within_the_call():
    with FakeUpstream() as upstream:
        caller = client(upstream, api_keys=("key-a", "key-b"), attempts=1)
        upstream.script("m", failure(429, "slow down", headers={"Retry-After": "60"}), answer("one"), answer("two"))
        assert caller.complete(REQUEST)["choices"][0]["message"]["content"] == "one"
        caller.complete(REQUEST)
        keys = [request.headers["authorization"] for request in upstream.requests]
        assert keys == ["Bearer key-a", "Bearer key-b", "Bearer key-b"]


def test_when_all_keys_rest_the_last_refusal_is_heard():
    with FakeUpstream() as upstream:
        caller = client(upstream, api_keys=("key-a", "key-b"), attempts=1)
        upstream.script("m", failure(402, "pay"), failure(429, "slow down", headers={"Retry-After": "7"}))
        with pytest.raises(ProviderError) as refused:
            caller.complete(REQUEST)
        assert refused.value.code == codes.UPSTREAM_RATE_LIMIT and refused.value.retry_after == 7
        assert len(upstream.requests) == 2


@pytest.mark.parametrize("rest", [{}, {"Retry-After-Ms": "1"}], ids=["unknown", "over at once"])
def test_each_key_is_tried_once_however_soon_it_could_be_tried_again(rest):
    with FakeUpstream() as upstream:
        upstream.script("m", failure(429, "slow down", headers=rest), repeat=True)
        client = ChatClient(
            OPENAI_COMPATIBLE, ClientSettings(base_url=upstream.url, api_keys=("a", "b", "c"), attempts=1)
        )
        with pytest.raises(ProviderError):
            client.complete(REQUEST)
        client.close()
        assert sorted(sent.headers["authorization"] for sent in upstream.requests) == [
            "Bearer a",
            "Bearer b",
            "Bearer c",
        ]


def test_a_dead_upstream_is_soon_not_asked_any_more():
    caller = ChatClient(OPENAI_COMPATIBLE, ClientSettings(base_url="http://127.0.0.1:9/v1", attempts=1), "up")
    seen = []
    for _ in range(FAILURES + 2):
        with pytest.raises(ProviderError) as refused:
            caller.complete(REQUEST)
        seen.append(refused.value.code)
    assert seen == [codes.UPSTREAM_UNREACHABLE] * FAILURES + [codes.UPSTREAM_OVERLOADED] * 2


@pytest.mark.parametrize("status", [400, 401, 404, 429])
def test_refusals_do_not_trip_the_breaker(status):
    with FakeUpstream() as upstream:
        caller = client(upstream, attempts=1)
        upstream.script("m", failure(status, "no"), repeat=True)
        for _ in range(FAILURES + 2):
            with pytest.raises(ProviderError):
                caller.complete(REQUEST)
        assert caller.breaker.state == "closed"
        assert len(upstream.requests) == FAILURES + 2
