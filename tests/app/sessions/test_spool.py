"""A spool in front of a store that the tests can take away."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from app.sessions import spool
from app.sessions.ids import new_response_id
from app.sessions.memory_store import MemoryStore
from app.sessions.record import encode
from app.sessions.redis_store import RedisStore
from app.sessions.session import StoredResponseSession
from app.sessions.spool import SpooledStore
from app.sessions.store import unavailable
from bridge.errors import CHAIN_NOT_FOUND, STORE_CONFLICT, STORE_UNAVAILABLE, SessionError
from tests.support.redis_server import RedisServer, wait_until

from .builders import OWNER, STRANGER, save_chain, session


class ShakyStore(MemoryStore):
    """`away`: nothing works. `silent`: saves arrive, but their answers are lost."""

    def __init__(self) -> None:
        super().__init__(ttl=1000, max_count=1000, max_bytes=10_000_000)
        self.away = False
        self.silent = False
        self.saved: list[str] = []
        self.attempts = 0

    def get_many(self, *arguments: Any) -> dict[str, StoredResponseSession]:
        self._check()
        return super().get_many(*arguments)

    def ancestry(self, *arguments: Any) -> dict[str, StoredResponseSession]:
        self._check()
        return super().ancestry(*arguments)

    def save(self, session: StoredResponseSession, **options: Any) -> None:
        self.attempts += 1
        self._check()
        super().save(session, **options)
        self.saved.append(session.id)
        if self.silent:
            raise unavailable("test", "no answer")

    def delete(self, *arguments: Any) -> bool:
        self._check()
        return super().delete(*arguments)

    def _check(self) -> None:
        if self.away:
            raise unavailable("test", "away")


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "SHORTEST_WAIT", 0.01)
    monkeypatch.setattr(spool, "LONGEST_WAIT", 0.02)
    monkeypatch.setattr(spool, "CLOSING_WAIT", 0.01)


@pytest.fixture
def inner() -> ShakyStore:
    return ShakyStore()


@pytest.fixture
def store(inner: ShakyStore) -> SpooledStore:
    return SpooledStore(inner, max_count=5, max_bytes=1_000_000)


def refused(code: str, call: Callable[[], Any]) -> None:
    with pytest.raises(SessionError) as caught:
        call()
    assert caught.value.code == code


def emptied(store: SpooledStore) -> None:
    wait_until(lambda: store.counters.waiting == 0 and store._thread is None, "the spool is empty", timeout=5)


def test_saves_go_straight_to_a_store_that_is_there(store: SpooledStore, inner: ShakyStore) -> None:
    ids = save_chain(store, 3)
    assert inner.saved == ids
    assert store.counters.waiting == 0
    assert store._thread is None


def test_a_client_can_go_on_at_once_while_the_store_is_away(store: SpooledStore, inner: ShakyStore) -> None:
    inner.away = True
    ids = save_chain(store, 3)
    assert [turn.id for turn in store.resolve_chain(ids[-1], owner=OWNER).turns] == ids
    assert store.get(ids[0], OWNER) == session(ids[0])
    assert set(store.get_many(ids, OWNER)) == set(ids)
    assert store.counters.waiting == 3
    assert store.counters.waiting_bytes == sum(len(encode(turn)) for turn in store.get_many(ids, OWNER).values())
    inner.away = False
    emptied(store)


def test_what_waits_is_delivered_parents_first_when_the_store_is_back(store: SpooledStore, inner: ShakyStore) -> None:
    before = save_chain(store, 2)
    inner.away = True
    later = [new_response_id(before[0]) for _ in range(3)]
    for parent, link in zip([before[-1], *later], later, strict=False):
        store.save(session(link, parent))
    inner.away = False
    emptied(store)
    assert inner.saved == [*before, *later]
    assert [turn.id for turn in inner.resolve_chain(later[-1], owner=OWNER).turns] == [*before, *later]
    assert store.counters.delivered == 3
    assert store.counters.waiting_bytes == 0


def test_a_chain_may_alternate_between_store_and_spool(store: SpooledStore, inner: ShakyStore) -> None:
    ids: list[str] = []
    with store._delivering:  # the store is back, but what waits is not delivered yet
        for away in (False, True, False, True):
            inner.away = away
            ids.append(new_response_id(ids[-1] if ids else None))
            store.save(session(ids[-1], ids[-2] if len(ids) > 1 else None))
        inner.away = False
        assert inner.saved == [ids[0], ids[2]]
        assert [turn.id for turn in store.resolve_chain(ids[-1], owner=OWNER).turns] == ids
        assert [child.id for child in store.list_children(ids[0], OWNER)] == [ids[1]]
        assert [child.id for child in store.list_children(ids[1], OWNER)] == [ids[2]]
    emptied(store)


def test_reads_of_what_only_the_store_has_fail_while_it_is_away(store: SpooledStore, inner: ShakyStore) -> None:
    (before,) = save_chain(store, 1)
    inner.away = True
    child = session(new_response_id(before), before)
    store.save(child)
    refused(STORE_UNAVAILABLE, lambda: store.get(before, OWNER))
    refused(STORE_UNAVAILABLE, lambda: store.resolve_chain(child.id, owner=OWNER))
    inner.away = False
    emptied(store)


def test_the_spool_keeps_owners_apart(store: SpooledStore, inner: ShakyStore) -> None:
    inner.away = True
    (waiting,) = save_chain(store, 1)
    with store._delivering:
        inner.away = False
        assert store.get(waiting, STRANGER) is None
        assert store.list_children(waiting, STRANGER) == []
        assert not store.delete(waiting, STRANGER)
        refused(CHAIN_NOT_FOUND, lambda: store.resolve_chain(waiting, owner=STRANGER))
    emptied(store)
    assert inner.get(waiting, OWNER)


def test_a_full_spool_drops_its_oldest_and_counts_them(
    store: SpooledStore, inner: ShakyStore, errors: list[logging.LogRecord]
) -> None:
    inner.away = True
    ids = [f"resp_{number}" for number in range(7)]
    for link in ids:
        store.save(session(link))
    assert (store.counters.waiting, store.counters.dropped) == (5, 2)
    assert [record.response_id for record in errors] == ids[:2]
    inner.away = False
    emptied(store)
    assert inner.saved == ids[2:]


def test_a_spool_is_bounded_in_bytes(inner: ShakyStore) -> None:
    size = len(encode(session("resp_0")))
    store = SpooledStore(inner, max_count=100, max_bytes=2 * size)
    inner.away = True
    for number in range(3):
        store.save(session(f"resp_{number}"))
    assert (store.counters.waiting, store.counters.waiting_bytes, store.counters.dropped) == (2, 2 * size, 1)
    store.save(session("resp_big", metadata={"text": "x" * 10_000}))
    assert (store.counters.waiting, store.counters.waiting_bytes, store.counters.dropped) == (0, 0, 4)


def test_a_conflict_found_later_is_logged_and_not_tried_again(
    store: SpooledStore, inner: ShakyStore, errors: list[logging.LogRecord]
) -> None:
    inner.away = True
    store.save(session("resp_1"))
    with store._delivering:
        inner.away = False
        inner.save(session("resp_1", status="failed"))
    emptied(store)
    assert store.counters.conflicts == 1
    assert store.counters.delivered == 0
    assert [record.code for record in errors] == [STORE_CONFLICT]
    assert inner.get("resp_1", OWNER).status == "failed"


def test_a_first_try_that_arrived_after_all_is_no_conflict(store: SpooledStore, inner: ShakyStore) -> None:
    inner.silent = True
    store.save(session("resp_1"))
    emptied(store)
    assert (store.counters.delivered, store.counters.conflicts) == (1, 0)
    assert inner.get("resp_1", OWNER) == session("resp_1")


def test_a_conflict_found_at_once_is_raised(store: SpooledStore, inner: ShakyStore) -> None:
    save_chain(store, 1)
    refused(STORE_CONFLICT, lambda: store.save(session(inner.saved[0])))
    inner.away = True
    store.save(session("resp_1"))
    refused(STORE_CONFLICT, lambda: store.save(session("resp_1")))
    inner.away = False
    emptied(store)


def test_an_overwrite_of_what_waits_takes_its_place(store: SpooledStore, inner: ShakyStore) -> None:
    inner.away = True
    store.save(session("resp_1", status="in_progress"))
    store.save(session("resp_1"), overwrite=True)
    assert store.counters.waiting == 1
    assert store.get("resp_1", OWNER).status == "completed"
    inner.away = False
    emptied(store)
    assert inner.get("resp_1", OWNER).status == "completed"


def test_what_waits_can_be_deleted(store: SpooledStore, inner: ShakyStore) -> None:
    inner.silent = True  # it is in both places
    with store._delivering:
        store.save(session("resp_1"))
        deleting = threading.Thread(target=store.delete, args=("resp_1", OWNER))
        deleting.start()
        wait_until(lambda: store.counters.waiting == 0, "it left the spool", timeout=5)
    deleting.join()
    inner.silent = False
    emptied(store)
    assert inner.get("resp_1", OWNER) is None
    assert not store.delete("resp_1", OWNER)


def test_an_error_of_another_kind_stays_what_it_is(
    store: SpooledStore, inner: ShakyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bug(*_: Any, **__: Any) -> None:
        raise KeyError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr(inner, "save", bug)
        with pytest.raises(KeyError):
            store.save(session("resp_1"))
    inner.away = True
    store.save(session("resp_1"))
    store.save(session("resp_2"))
    with store._delivering:
        inner.away = False
        monkeypatch.setattr(inner, "save", bug)
    emptied(store)
    assert store.counters.dropped == 2


def test_closing_delivers_what_waits(store: SpooledStore, inner: ShakyStore) -> None:
    inner.away = True
    ids = save_chain(store, 3)
    threading.Timer(0.1, setattr, (inner, "away", False)).start()
    store.close(timeout=5)
    assert inner.saved == ids
    assert store.counters.dropped == 0


def test_closing_does_not_wait_for_ever_and_says_what_is_lost(
    store: SpooledStore, inner: ShakyStore, errors: list[logging.LogRecord]
) -> None:
    inner.away = True
    save_chain(store, 3)
    store.close(timeout=0.1)
    assert store.counters.dropped == 3
    assert [record.count for record in errors] == [3]
    wait_until(lambda: store._thread is None, "the thread has ended", timeout=5)


def test_attempts_grow_rarer(monkeypatch: pytest.MonkeyPatch, store: SpooledStore, inner: ShakyStore) -> None:
    waits: list[float] = []
    monkeypatch.setattr(spool, "LONGEST_WAIT", 0.05)
    real = store._wake.wait
    monkeypatch.setattr(store._wake, "wait", lambda seconds: waits.append(seconds) or real(seconds))
    inner.away = True
    store.save(session("resp_1"))
    wait_until(lambda: len(waits) >= 5, "five attempts", timeout=5)
    inner.away = False
    emptied(store)
    assert waits[:5] == [0.01, 0.02, 0.04, 0.05, 0.05]


def test_with_a_real_server_that_goes_and_comes_back(own_redis: RedisServer) -> None:
    redis_store = RedisStore(own_redis.url, prefix="test", ttl=100, max_connections=4)
    store = SpooledStore(redis_store, max_count=100, max_bytes=1_000_000)
    own_redis.stop()
    ids = save_chain(store, 4)
    assert len(store.resolve_chain(ids[-1], owner=OWNER).turns) == 4
    own_redis.start()
    emptied(store)
    assert [turn.id for turn in redis_store.resolve_chain(ids[-1], owner=OWNER).turns] == ids
    store.close()
