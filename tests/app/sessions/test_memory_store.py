from __future__ import annotations

import pytest

from app.sessions.memory_store import MemoryStore
from app.sessions.record import encode
from bridge.errors import STORE_UNAVAILABLE, SessionError

from .builders import OWNER, save_chain, session


def ids_in(store: MemoryStore, candidates: list[str]) -> list[str]:
    return [one for one in candidates if store.get(one, OWNER)]


def test_the_responses_unused_for_longest_make_room() -> None:
    store = MemoryStore(ttl=100, max_count=5, max_bytes=10_000_000)
    used, unused = save_chain(store, 2), save_chain(store, 3)
    store.resolve_chain(used[-1], owner=OWNER)
    added = save_chain(store, 2)
    assert ids_in(store, [*used, *unused, *added]) == [*used, unused[2], *added]


def test_bytes_are_bounded_as_well() -> None:
    size = len(encode(session("resp_0")))
    store = MemoryStore(ttl=100, max_count=100, max_bytes=3 * size)
    for number in range(5):
        store.save(session(f"resp_{number}"))
    assert ids_in(store, [f"resp_{number}" for number in range(5)]) == ["resp_2", "resp_3", "resp_4"]
    store.delete("resp_3", OWNER)
    store.save(session("resp_5"))
    assert ids_in(store, ["resp_2", "resp_4", "resp_5"]) == ["resp_2", "resp_4", "resp_5"]


def test_what_is_larger_than_the_whole_store_drives_nothing_else_out() -> None:
    store = MemoryStore(ttl=100, max_count=100, max_bytes=10_000)
    (kept,) = save_chain(store, 1)
    with pytest.raises(SessionError) as caught:
        store.save(session("resp_big", request={"input": "x" * 20_000}))
    assert caught.value.code == STORE_UNAVAILABLE
    assert store.get(kept, OWNER)


def test_what_a_reader_does_with_a_session_does_not_change_the_store() -> None:
    store = MemoryStore(ttl=100, max_count=100, max_bytes=10_000_000)
    given = session("resp_1")
    store.save(given)
    given.response["output"].clear()
    store.get("resp_1", OWNER).response["output"].clear()
    assert store.get("resp_1", OWNER) == session("resp_1")
