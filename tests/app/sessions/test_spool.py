"""A spool in front of a store that the tests can take away."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.sessions import spool, spooled_store, sqlite_schema
from app.sessions.conversations import Conversation
from app.sessions.ids import new_response_id
from app.sessions.memory_conversations import MemoryConversations
from app.sessions.memory_store import MemoryStore
from app.sessions.record import encode
from app.sessions.redis_store import RedisStore
from app.sessions.session import StoredResponseSession
from app.sessions.spooled_store import SpooledStore
from app.sessions.sqlite_store import SqliteStore
from app.sessions.store import unavailable
from bridge.errors import CHAIN_NOT_FOUND, STORE_CONFLICT, STORE_UNAVAILABLE, SessionError
from tests.support.redis_server import RedisServer, wait_until

from .builders import OWNER, STRANGER, save_chain, session
from .test_conversations import contents, entry, made


class ShakyStore(MemoryStore):
    """`away`: nothing works. `silent`: saves arrive, but their answers are lost."""

    def __init__(self) -> None:
        super().__init__(ttl=1000, max_count=1000, max_bytes=10_000_000)
        self.conversations = ShakyConversations(self)
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

    def ping(self) -> None:
        self._check()

    def list_children(self, *arguments: Any) -> list[StoredResponseSession]:
        self._check()
        return super().list_children(*arguments)

    def setting(self, *arguments: Any) -> bytes:
        self._check()
        return super().setting(*arguments)

    def remember(self, *arguments: Any) -> None:
        self._check()
        super().remember(*arguments)

    def recall(self, *arguments: Any) -> dict[str, bytes]:
        self._check()
        return super().recall(*arguments)

    def purge(self) -> int:
        self._check()
        return super().purge()

    def _check(self) -> None:
        if self.away:
            raise unavailable("test", "away")


class ShakyConversations(MemoryConversations):
    """The conversations of a ShakyStore, as shaky as it is."""

    def __init__(self, store: ShakyStore) -> None:
        super().__init__(ttl=1000, max_count=1000, max_bytes=10_000_000, clock=time.time)
        self._store = store

    def __getattribute__(self, name: str) -> Any:
        method = super().__getattribute__(name)
        if name not in {"create", "get", "read", "append", "update", "remove", "delete"}:
            return method

        def shaky(*arguments: Any) -> Any:
            self._store._check()
            answer = method(*arguments)
            if name == "append" and self._store.silent:
                raise unavailable("test", "no answer")
            return answer

        return shaky


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "SHORTEST_WAIT", 0.01)
    monkeypatch.setattr(spool, "LONGEST_WAIT", 0.02)
    monkeypatch.setattr(spool, "CLOSING_WAIT", 0.01)
    monkeypatch.setattr(spooled_store, "GRACE", 0)
    monkeypatch.setattr(spooled_store, "PAUSE", 0)


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
    wait_until(lambda: store.counters.waiting == 0 and store._spool._thread is None, "the spool is empty", timeout=5)


def test_saves_go_straight_to_a_store_that_is_there(store: SpooledStore, inner: ShakyStore) -> None:
    ids = save_chain(store, 3)
    assert inner.saved == ids
    assert store.counters.waiting == 0
    assert store._spool._thread is None


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
    with store._spool.delivering:  # the store is back, but what waits is not delivered yet
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
    with store._spool.delivering:
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
    assert [record.fields["response_id"] for record in errors] == ids[:2]
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
    with store._spool.delivering:
        inner.away = False
        inner.save(session("resp_1", status="failed"))
    emptied(store)
    assert store.counters.conflicts == 1
    assert store.counters.delivered == 0
    assert [record.fields["code"] for record in errors] == [STORE_CONFLICT]
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
    with store._spool.delivering:
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
    with store._spool.delivering:
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
    assert [record.fields["count"] for record in errors] == [3]
    wait_until(lambda: store._spool._thread is None, "the thread has ended", timeout=5)


def test_attempts_grow_rarer(monkeypatch: pytest.MonkeyPatch, store: SpooledStore, inner: ShakyStore) -> None:
    waits: list[float] = []
    monkeypatch.setattr(spool, "LONGEST_WAIT", 0.05)
    real = store._spool._wake.wait
    monkeypatch.setattr(store._spool._wake, "wait", lambda seconds: waits.append(seconds) or real(seconds))
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


# --------------------------------------------------------------------------------------------- turns of conversations


@pytest.fixture
def conversation(store: SpooledStore) -> Conversation:
    return made(store, entry(0))


def test_turns_wait_and_arrive_in_order(store: SpooledStore, inner: ShakyStore, conversation: Conversation) -> None:
    inner.away = True
    for number in range(1, 4):
        assert store.conversations.add_turn(conversation.id, OWNER, [entry(number), entry(f"{number}b")])
    assert store.counters.waiting == 3
    inner.away = False
    emptied(store)
    expected = ["msg_0", "msg_1", "msg_1b", "msg_2", "msg_2b", "msg_3", "msg_3b"]
    assert [one.item["id"] for one in contents(inner, conversation).entries] == expected
    assert store.counters.delivered == 3


def test_a_turn_that_waits_is_read_and_not_overtaken(
    store: SpooledStore, inner: ShakyStore, conversation: Conversation
) -> None:
    with store._spool.delivering:
        inner.away = True
        store.conversations.add_turn(conversation.id, OWNER, [entry(1)])
        inner.away = False
        store.conversations.add_turn(conversation.id, OWNER, [entry(2)])
        assert contents(store, conversation).entries == [entry(0), entry(1), entry(2)]
        assert store.conversations.read(conversation.id, STRANGER) is None
        assert contents(inner, conversation).entries == [entry(0)]
    emptied(store)
    assert contents(inner, conversation).entries == [entry(0), entry(1), entry(2)]


def test_a_turn_whose_answer_was_lost_is_not_doubled(
    store: SpooledStore, inner: ShakyStore, conversation: Conversation
) -> None:
    inner.silent = True
    store.conversations.add_turn(conversation.id, OWNER, [entry(1)])
    inner.silent = False
    emptied(store)
    assert contents(store, conversation).entries == [entry(0), entry(1)]
    assert (store.counters.delivered, store.counters.conflicts) == (1, 0)


def test_a_turn_of_a_conversation_that_was_deleted_is_given_up(
    store: SpooledStore, inner: ShakyStore, conversation: Conversation
) -> None:
    with store._spool.delivering:
        inner.away = True
        store.conversations.add_turn(conversation.id, OWNER, [entry(1)])
        inner.away = False
        store.conversations.delete(conversation.id, OWNER)
    emptied(store)
    assert store.counters.conflicts == 1


def test_what_a_client_does_to_a_conversation_itself_does_not_wait(
    store: SpooledStore, inner: ShakyStore, conversation: Conversation
) -> None:
    inner.away = True
    asked = store.conversations
    for call in (
        lambda: asked.create(conversation, []),
        lambda: asked.get(conversation.id, OWNER),
        lambda: asked.read(conversation.id, OWNER),
        lambda: asked.append(conversation.id, OWNER, [entry(1)]),
        lambda: asked.update(conversation.id, OWNER, {}),
        lambda: asked.remove(conversation.id, OWNER, "msg_0"),
        lambda: asked.delete(conversation.id, OWNER),
    ):
        refused(STORE_UNAVAILABLE, call)
    assert store.counters.waiting == 0


# ------------------------------------------------------------------------------------- what another process may hold


def test_shortly_after_the_store_was_away_nothing_is_said_to_be_missing(
    store: SpooledStore, inner: ShakyStore, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    (known,) = save_chain(store, 1)
    elsewhere = new_response_id()  # waits in another process
    asked = [
        lambda: store.get(elsewhere, OWNER),
        lambda: store.get_many([known, elsewhere], OWNER),
        lambda: store.resolve_chain(elsewhere, owner=OWNER),
        lambda: store.delete(elsewhere, OWNER),
        lambda: store.conversations.read(conversation.id, OWNER),
    ]
    inner.away = True
    refused(STORE_UNAVAILABLE, store.ping)
    inner.away = False
    monkeypatch.setattr(spooled_store, "GRACE", 600)
    for call in asked:
        refused(STORE_UNAVAILABLE, call)
    assert store.get(known, OWNER)
    assert store.get("an id that nobody here gave out", OWNER) is None
    monkeypatch.setattr(spooled_store, "GRACE", 0)
    assert store.get(elsewhere, OWNER) is None
    assert contents(store, conversation).entries == [entry(0)]


def test_the_store_is_tried_as_soon_as_it_answers_somebody(
    store: SpooledStore, inner: ShakyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "SHORTEST_WAIT", 600)
    monkeypatch.setattr(spool, "LONGEST_WAIT", 600)
    inner.away = True
    (waiting,) = save_chain(store, 1)
    wait_until(lambda: inner.attempts >= 2, "it was tried in vain", timeout=5)
    inner.away = False
    store.ping()
    emptied(store)
    assert inner.saved == [waiting]


def test_while_the_store_is_away_nobody_waits_for_it_twice(
    store: SpooledStore, inner: ShakyStore, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spooled_store, "PAUSE", 600)
    monkeypatch.setattr(spool, "SHORTEST_WAIT", 600)
    monkeypatch.setattr(spool, "LONGEST_WAIT", 600)
    inner.away = True
    (first,) = save_chain(store, 1)
    wait_until(lambda: inner.attempts == 2, "the thread has tried", timeout=5)
    ids = save_chain(store, 2)
    store.conversations.add_turn(conversation.id, OWNER, [entry(1)])
    refused(STORE_UNAVAILABLE, lambda: store.remember({"a": b"1"}, 10))
    refused(STORE_UNAVAILABLE, lambda: store.recall(["a"]))
    assert inner.attempts == 2 and store.counters.waiting == 4
    inner.away = False
    store.ping()
    emptied(store)
    assert inner.saved == [first, *ids]
    assert contents(inner, conversation).entries == [entry(0), entry(1)]


CALLS: dict[str, Callable[[SpooledStore], Any]] = {
    "get": lambda store: store.get("resp_1", OWNER),
    "ancestry": lambda store: store.ancestry("resp_1", OWNER, 9),
    "children": lambda store: store.list_children("resp_1", OWNER),
    "delete": lambda store: store.delete("resp_1", OWNER),
    "setting": lambda store: store.setting("name", lambda: b"value"),
    "remember": lambda store: store.remember({"a": b"1"}, 10),
    "recall": lambda store: store.recall(["a"]),
    "purge": lambda store: store.purge(),
    "ping": lambda store: store.ping(),
    "conversation": lambda store: store.conversations.get("conv_1", OWNER),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_whoever_finds_the_store_away_or_back_spares_the_others_the_wait(
    call: Callable[[SpooledStore], Any], store: SpooledStore, inner: ShakyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spooled_store, "PAUSE", 600)
    inner.away = True
    refused(STORE_UNAVAILABLE, lambda: call(store))
    inner.away = False
    refused(STORE_UNAVAILABLE, lambda: store.remember({"b": b"2"}, 10))  # without asking
    if call not in (CALLS["remember"], CALLS["recall"]):  # these two do not even ask so soon
        call(store)
        store.remember({"b": b"2"}, 10)


def test_a_store_that_answered_since_is_written_to_at_once(
    store: SpooledStore, inner: ShakyStore, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spooled_store, "PAUSE", 600)
    inner.away = True
    refused(STORE_UNAVAILABLE, store.ping)
    inner.away = False
    store.ping()
    ids = save_chain(store, 2)
    store.conversations.add_turn(conversation.id, OWNER, [entry(1)])
    store.remember({"a": b"1"}, 10)
    assert inner.saved == ids and store.counters.delivered == 0
    assert contents(inner, conversation).entries == [entry(0), entry(1)]


def test_what_waits_in_another_process_is_not_called_missing_while_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under a foreign lock SQLite can still be read: a process that only reads does not see the store away."""
    monkeypatch.setattr(sqlite_schema, "BUSY_TIMEOUT", 0.01)
    path = tmp_path / "sessions.db"
    ours, theirs = (SpooledStore(SqliteStore(path, ttl=100), max_count=9, max_bytes=10**6) for _ in range(2))
    assert theirs.get(new_response_id(None), OWNER) is None
    foreign = sqlite3.connect(path, isolation_level=None)
    foreign.execute("BEGIN IMMEDIATE")
    (saved,) = save_chain(ours, 1)
    refused(STORE_UNAVAILABLE, lambda: theirs.get(saved, OWNER))
    refused(STORE_UNAVAILABLE, lambda: theirs.resolve_chain(saved, owner=OWNER))
    foreign.execute("ROLLBACK")
    foreign.close()
    wait_until(lambda: ours.counters.waiting == 0, "it is delivered", timeout=5)
    assert theirs.get(saved, OWNER) is not None
    for store in (ours, theirs):
        store.close()
