"""What every store does with conversations, whatever it is built on."""

from __future__ import annotations

import logging
import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from app.sessions.conversations import Contents, Conversation, Entry, encode_entry
from app.sessions.ids import new_conversation_id
from app.sessions.store import SessionStore
from bridge.errors import STORE_CONFLICT, SessionError

from .builders import OWNER, STRANGER
from .conftest import TTL, Bench


def entry(number: Any, text: str = "", response_id: str | None = None) -> Entry:
    content = [{"type": "input_text", "text": text or f"text {number}"}]
    return Entry({"id": f"msg_{number}", "type": "message", "role": "user", "content": content}, response_id)


def made(store: SessionStore, *entries: Entry, owner: str = OWNER, **metadata: str) -> Conversation:
    conversation = Conversation(id=new_conversation_id(), created_at=1_700_000_000, metadata=metadata, owner=owner)
    store.conversations.create(conversation, entries)
    return conversation


def contents(store: SessionStore, conversation: Conversation, owner: str = OWNER) -> Contents:
    found = store.conversations.read(conversation.id, owner)
    assert found is not None
    return found


def ids(store: SessionStore, conversation: Conversation) -> list[str]:
    return [one.item["id"] for one in contents(store, conversation).entries]


def test_a_conversation_comes_back_as_it_was_made(store: SessionStore) -> None:
    entries = [entry(1), entry(2, response_id="resp_1")]
    conversation = made(store, *entries, käse="日本")
    assert contents(store, conversation) == Contents(conversation, entries)
    assert store.conversations.get(conversation.id, OWNER) == conversation


def test_an_empty_conversation_is_one_too(store: SessionStore) -> None:
    conversation = made(store)
    assert contents(store, conversation) == Contents(conversation, [])


def test_an_open_gateway_has_conversations_of_nobody(store: SessionStore) -> None:
    conversation = made(store, entry(1), owner="")
    assert store.conversations.append(conversation.id, "", [entry(2)])
    assert len(contents(store, conversation, "").entries) == 2
    assert store.conversations.read(conversation.id, OWNER) is None


TEXTS = ["\ud83d alone", "\x00\x01", "\u2028", "😀", "x" * 200_000, "".join(secrets.token_hex(8) for _ in range(4000))]


@pytest.mark.parametrize("text", TEXTS, ids=["surrogate", "control", "line", "astral", "long", "incompressible"])
def test_any_text_survives(store: SessionStore, text: str) -> None:
    entries = [entry(1, text), entry(2, text)]
    conversation = made(store, entries[0])
    assert store.conversations.append(conversation.id, OWNER, entries[1:])
    assert contents(store, conversation).entries == entries


def test_what_is_appended_stands_at_the_end_in_order(store: SessionStore) -> None:
    conversation = made(store, entry(3))
    for batch in ([entry(1), entry(9)], [], [entry(2)]):
        assert store.conversations.append(conversation.id, OWNER, batch)
    assert ids(store, conversation) == ["msg_3", "msg_1", "msg_9", "msg_2"]


def test_more_than_256_items_keep_their_order(store: SessionStore) -> None:
    conversation = made(store)
    for start in range(0, 600, 60):
        store.conversations.append(conversation.id, OWNER, [entry(n) for n in range(start, start + 60)])
    assert ids(store, conversation) == [f"msg_{n}" for n in range(600)]


def test_an_append_sent_twice_is_made_once(store: SessionStore) -> None:
    conversation = made(store, entry(1))
    batch = [entry(2, "x" * 10_000), entry(3)]
    for _ in range(2):
        assert store.conversations.append(conversation.id, OWNER, batch)
    assert ids(store, conversation) == ["msg_1", "msg_2", "msg_3"]


def test_a_taken_id_is_a_conflict_that_changes_nothing(store: SessionStore) -> None:
    conversation = made(store, entry(1))
    with pytest.raises(SessionError) as caught:
        store.conversations.append(conversation.id, OWNER, [entry(2), entry(1, "another")])
    assert caught.value.code == STORE_CONFLICT
    assert contents(store, conversation).entries == [entry(1)]


def test_the_same_id_may_stand_in_two_conversations(store: SessionStore) -> None:
    first, second = made(store, entry(1, "a")), made(store, entry(1, "b"))
    assert contents(store, first).entries == [entry(1, "a")]
    assert contents(store, second).entries == [entry(1, "b")]


def test_appends_at_once_stay_whole_and_lose_nothing(store: SessionStore) -> None:
    conversation = made(store)
    barrier = threading.Barrier(8)

    def add(worker: int) -> None:
        barrier.wait()
        for turn in range(5):
            batch = [entry(f"{worker}_{turn}_{place}") for place in range(3)]
            assert store.conversations.append(conversation.id, OWNER, batch)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(8)))
    found = ids(store, conversation)
    assert len(found) == 8 * 5 * 3
    batches = [found[at : at + 3] for at in range(0, len(found), 3)]
    assert all([one.rpartition("_")[2] for one in batch] == ["0", "1", "2"] for batch in batches)
    assert all(len({one.rpartition("_")[0] for one in batch}) == 1 for batch in batches)
    for worker in range(8):
        assert [b[0] for b in batches if b[0].startswith(f"msg_{worker}_")] == [f"msg_{worker}_{n}_0" for n in range(5)]


def test_metadata_is_replaced(store: SessionStore) -> None:
    conversation = made(store, entry(1), a="b")
    changed = store.conversations.update(conversation.id, OWNER, {"c": "d"})
    assert changed == Conversation(id=conversation.id, created_at=1_700_000_000, metadata={"c": "d"}, owner=OWNER)
    assert contents(store, conversation) == Contents(changed, [entry(1)])


def test_an_item_can_be_removed(store: SessionStore) -> None:
    conversation = made(store, entry(1), entry(2), entry(3))
    assert store.conversations.remove(conversation.id, OWNER, "msg_2")
    assert ids(store, conversation) == ["msg_1", "msg_3"]
    assert not store.conversations.remove(conversation.id, OWNER, "msg_2")
    assert store.conversations.append(conversation.id, OWNER, [entry(2)])
    assert ids(store, conversation) == ["msg_1", "msg_3", "msg_2"]


@pytest.mark.parametrize("name", ["owner", "next", "metadata", "i:msg_1", ""])
def test_only_items_can_be_removed(store: SessionStore, name: str) -> None:
    conversation = made(store, entry(1))
    assert not store.conversations.remove(conversation.id, OWNER, name)
    assert contents(store, conversation) == Contents(conversation, [entry(1)])


def test_what_is_deleted_is_gone_and_does_not_come_back(store: SessionStore) -> None:
    conversation = made(store, entry(1))
    assert store.conversations.delete(conversation.id, OWNER)
    assert not store.conversations.delete(conversation.id, OWNER)
    assert not store.conversations.append(conversation.id, OWNER, [entry(2)])
    assert not store.conversations.add_turn(conversation.id, OWNER, [entry(2)])
    assert not store.conversations.remove(conversation.id, OWNER, "msg_1")
    assert store.conversations.update(conversation.id, OWNER, {}) is None
    assert store.conversations.get(conversation.id, OWNER) is None
    assert store.conversations.read(conversation.id, OWNER) is None


def test_another_owner_sees_and_changes_nothing(store: SessionStore) -> None:
    conversation = made(store, entry(1), a="b")
    theirs = store.conversations
    assert theirs.get(conversation.id, STRANGER) is None
    assert theirs.read(conversation.id, STRANGER) is None
    assert theirs.update(conversation.id, STRANGER, {}) is None
    assert not theirs.append(conversation.id, STRANGER, [entry(2)])
    assert not theirs.remove(conversation.id, STRANGER, "msg_1")
    assert not theirs.delete(conversation.id, STRANGER)
    assert contents(store, conversation) == Contents(conversation, [entry(1)])


CHANGES = [
    lambda store, one: store.append(one, OWNER, [entry(2)]),
    lambda store, one: store.update(one, OWNER, {}),
    lambda store, one: store.remove(one, OWNER, "msg_1"),
]


@pytest.mark.parametrize("change", CHANGES, ids=["append", "update", "remove"])
def test_a_change_renews_the_time_to_live(bench: Bench, change: Any) -> None:
    conversation, idle = made(bench.store, entry(1)), made(bench.store)
    bench.age(TTL * 0.7)
    assert change(bench.store.conversations, conversation.id)
    bench.age(TTL * 0.7)
    assert bench.store.conversations.read(conversation.id, OWNER)
    assert bench.store.conversations.read(idle.id, OWNER) is None
    bench.age(TTL * 0.4)
    assert bench.store.conversations.get(conversation.id, OWNER) is None
    assert not change(bench.store.conversations, conversation.id)


def test_purging_removes_conversations_whose_time_is_over(bench: Bench) -> None:
    made(bench.store, entry(1))
    bench.age(TTL + 1)
    young = made(bench.store, entry(1))
    assert bench.store.purge() in (1, 0)  # Redis has removed it itself
    assert ids(bench.store, young) == ["msg_1"]


DAMAGE = [
    b"",
    b"\x00\xff",
    b"null",
    b"{}",
    b'{"item":3,"response_id":null}',
    b'{"item":{},"response_id":null}',
    b"(\xb5/\xfd?",
]


@pytest.mark.parametrize("record", DAMAGE)
def test_a_conversation_with_an_entry_that_cannot_be_read_is_not_shown_by_halves(
    bench: Bench, record: bytes, errors: list[logging.LogRecord]
) -> None:
    conversation = made(bench.store, entry(1), entry(2))
    bench.damage_entry(conversation.id, "msg_2", record)
    assert bench.store.conversations.read(conversation.id, OWNER) is None
    assert [one.fields["conversation_id"] for one in errors] == [conversation.id]
    assert bench.store.conversations.remove(conversation.id, OWNER, "msg_2")
    assert ids(bench.store, conversation) == ["msg_1"]


def test_a_memory_store_is_bounded_in_conversations_and_bytes(clock: Any) -> None:
    from app.sessions.memory_store import MemoryStore

    size = len(encode_entry(entry(1)))
    store = MemoryStore(ttl=TTL, max_count=3, max_bytes=4 * size, clock=clock)
    old, used, new = (made(store, entry(1)) for _ in range(3))
    ids(store, old)
    fourth = made(store)
    assert store.conversations.get(used.id, OWNER) is None  # the one not used for longest
    assert store.conversations.append(fourth.id, OWNER, [entry(n) for n in range(1, 4)])
    assert store.conversations.get(new.id, OWNER) is None
    with pytest.raises(SessionError):
        store.conversations.append(fourth.id, OWNER, [entry(4, "x" * 4 * size)])
    assert len(ids(store, fourth)) == 3


# ------------------------------------------------------------------------------------------------------- remembering


def test_what_is_remembered_is_recalled_for_a_while(bench: Bench) -> None:
    bench.store.remember({"a": b"1", "b": b"\x00\xff"}, 100)
    bench.store.remember({"b": b"2", "c": b"3"}, 300)
    assert bench.store.recall(["a", "b", "c", "d"]) == {"a": b"1", "b": b"2", "c": b"3"}
    bench.age(101)
    assert bench.store.recall(["a", "b", "c"]) == {"b": b"2", "c": b"3"}
    assert bench.store.recall([]) == {}
    bench.age(200)
    bench.store.purge()
    assert bench.store.recall(["a", "b", "c"]) == {}


def test_a_memory_store_forgets_its_oldest_memories(clock: Any) -> None:
    from app.sessions.memory_store import MemoryStore

    store = MemoryStore(ttl=TTL, max_count=10, max_bytes=30, clock=clock)
    for name in "abcd":
        store.remember({name: b"x" * 10}, 100)
    assert set(store.recall("abcd")) == set("bcd")
