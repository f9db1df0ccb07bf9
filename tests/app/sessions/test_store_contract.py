"""What every store does, whatever it is built on."""

from __future__ import annotations

import json
import logging
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from app.sessions.ids import new_response_id
from app.sessions.record import encode
from app.sessions.session import response_object
from app.sessions.store import SessionStore
from bridge.errors import (
    CHAIN_CYCLE_DETECTED,
    CHAIN_DEPTH_EXCEEDED,
    CHAIN_NOT_FOUND,
    CHAIN_UNAVAILABLE,
    STORE_CONFLICT,
    SessionError,
)

from .builders import OWNER, STRANGER, TOOL, response, save_chain, session
from .conftest import TTL, Bench


def refused(code: str, call: Callable[[], Any]) -> SessionError:
    with pytest.raises(SessionError) as caught:
        call()
    assert caught.value.code == code
    return caught.value


# -------------------------------------------------------------------------------------------------- save and get


def test_a_stored_response_comes_back_exactly_as_it_was_given(store: SessionStore) -> None:
    given = response(new_response_id(), tools=[TOOL], metadata={"käse": "日本"}, temperature=0.25)
    stored = session(given["id"], request={"tools": [TOOL], "input": [{"role": "user", "content": "é\u2028"}]}, **given)
    store.save(stored)
    found = store.get(given["id"], OWNER)
    assert found == stored
    assert json.dumps(response_object(found)) == json.dumps(given)


@pytest.mark.parametrize(
    "text",
    ["\ud83d alone", "\x00\x01", "\u2028", "😀", "x" * 200_000, "".join(secrets.token_hex(8) for _ in range(4000))],
    ids=["lone surrogate", "control", "line separator", "astral", "long", "incompressible"],
)
def test_any_text_survives(store: SessionStore, text: str) -> None:
    stored = session(new_response_id(), request={"input": text}, metadata={"n": 2**70, "text": text})
    store.save(stored)
    assert store.get(stored.id, OWNER) == stored
    assert store.resolve_chain(stored.id, owner=OWNER).turns == [stored]


def test_an_unknown_response_is_none(store: SessionStore) -> None:
    assert store.get(new_response_id(), OWNER) is None


def test_many_are_found_at_once_and_missing_ones_left_out(store: SessionStore) -> None:
    first, second = save_chain(store, 2)
    (other,) = save_chain(store, 1)
    found = store.get_many([first, other, new_response_id()], OWNER)
    assert set(found) == {first, other}
    assert found[first].id == first
    assert second not in found
    assert store.get_many([], OWNER) == {}


def test_an_id_is_taken_once(store: SessionStore) -> None:
    (taken,) = save_chain(store, 1)
    error = refused(STORE_CONFLICT, lambda: store.save(session(taken, status="failed")))
    assert error.context["responseId"] == taken
    assert store.get(taken, OWNER).status == "completed"


def test_overwrite_replaces(store: SessionStore) -> None:
    first, second = save_chain(store, 2)
    store.save(session(second, first, status="incomplete"), overwrite=True)
    assert store.get(second, OWNER).status == "incomplete"
    assert [child.id for child in store.list_children(first, OWNER)] == [second]


def test_overwrite_stores_what_was_not_there(store: SessionStore) -> None:
    stored = session(new_response_id())
    store.save(stored, overwrite=True)
    assert store.get(stored.id, OWNER) == stored


def test_what_another_owner_stored_cannot_be_overwritten(store: SessionStore) -> None:
    (taken,) = save_chain(store, 1)
    refused(STORE_CONFLICT, lambda: store.save(session(taken, owner=STRANGER), overwrite=True))
    assert store.get(taken, OWNER).owner == OWNER


@pytest.mark.parametrize("expected", [None, "resp_another"])
def test_another_parent_than_expected_is_a_conflict(store: SessionStore, expected: str | None) -> None:
    (root,) = save_chain(store, 1)
    child = session(new_response_id(root), root)
    refused(STORE_CONFLICT, lambda: store.save(child, expected_previous_response_id=expected))
    assert store.get(child.id, OWNER) is None


def test_the_expected_parent_is_no_conflict(store: SessionStore) -> None:
    root = session(new_response_id())
    store.save(root, expected_previous_response_id=None)
    child = session(new_response_id(root.id), root.id)
    store.save(child, expected_previous_response_id=root.id)
    store.save(child, overwrite=True, expected_previous_response_id=root.id)
    assert store.get(child.id, OWNER) == child


def test_a_replaced_response_with_another_parent_than_expected_is_a_conflict(store: SessionStore) -> None:
    root, child = save_chain(store, 2)
    orphan = session(child, None)
    refused(STORE_CONFLICT, lambda: store.save(orphan, overwrite=True, expected_previous_response_id=None))
    assert store.get(child, OWNER).previous_response_id == root


def test_of_many_that_save_one_id_at_once_exactly_one_succeeds(store: SessionStore) -> None:
    contested = new_response_id()
    barrier = threading.Barrier(8)

    def attempt(number: int) -> bool:
        barrier.wait()
        try:
            store.save(session(contested, metadata={"by": str(number)}))
        except SessionError as error:
            assert error.code == STORE_CONFLICT
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(attempt, range(8)))
    assert won.count(True) == 1
    assert store.get(contested, OWNER).metadata == {"by": str(won.index(True))}


def test_overwrites_at_once_leave_one_of_them_whole(store: SessionStore) -> None:
    (contested,) = save_chain(store, 1)

    def attempt(number: int) -> None:
        try:
            store.save(session(contested, metadata={"by": str(number)}), overwrite=True)
        except SessionError as error:
            assert error.code == STORE_CONFLICT

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(attempt, range(8)))
    assert store.get(contested, OWNER).metadata["by"] in set("01234567")


# --------------------------------------------------------------------------------------------------------- chains


def test_a_chain_resolves_oldest_first(store: SessionStore) -> None:
    ids = save_chain(store, 5)
    chain = store.resolve_chain(ids[-1], owner=OWNER)
    assert chain.previous_response_id == ids[-1]
    assert [turn.id for turn in chain.turns] == ids
    texts = [part["text"] for item in chain.input_items for part in item["content"]]
    assert texts == [text for link in ids for text in (f"question of {link}", f"answer of {link}")]


def test_a_chain_can_be_continued_from_its_middle(store: SessionStore) -> None:
    ids = save_chain(store, 4)
    branch = session(new_response_id(ids[1]), ids[1])
    store.save(branch)
    assert [turn.id for turn in store.resolve_chain(branch.id, owner=OWNER).turns] == [ids[0], ids[1], branch.id]
    assert [turn.id for turn in store.resolve_chain(ids[3], owner=OWNER).turns] == ids


@pytest.mark.parametrize("length", [64, 65, 100, 150])
def test_deep_chains_resolve_whole(store: SessionStore, length: int) -> None:
    ids = save_chain(store, length)
    chain = store.resolve_chain(ids[-1], owner=OWNER, max_depth=200)
    assert [turn.id for turn in chain.turns] == ids


@pytest.mark.parametrize(("length", "max_depth"), [(3, 2), (65, 64), (3, 1)])
def test_a_chain_that_is_too_deep_is_refused(store: SessionStore, length: int, max_depth: int) -> None:
    ids = save_chain(store, length)
    error = refused(CHAIN_DEPTH_EXCEEDED, lambda: store.resolve_chain(ids[-1], owner=OWNER, max_depth=max_depth))
    assert error.context == {"responseId": ids[-1 - max_depth], "previousResponseId": ids[-1]}
    assert len(store.resolve_chain(ids[-2], owner=OWNER, max_depth=length - 1).turns) == length - 1


def test_a_deleted_turn_breaks_the_chain_and_only_what_follows_it(store: SessionStore) -> None:
    ids = save_chain(store, 6)
    assert store.delete(ids[2], OWNER)
    error = refused(CHAIN_NOT_FOUND, lambda: store.resolve_chain(ids[5], owner=OWNER))
    assert error.context == {"responseId": ids[2], "previousResponseId": ids[5]}
    assert error.param == "previous_response_id"
    assert len(store.resolve_chain(ids[1], owner=OWNER).turns) == 2


def test_a_chain_that_leads_back_to_itself_is_refused(store: SessionStore) -> None:
    ids = save_chain(store, 3)
    store.save(session(ids[0], ids[2]), overwrite=True)
    refused(CHAIN_CYCLE_DETECTED, lambda: store.resolve_chain(ids[2], owner=OWNER))
    store.save(session(new_response_id(ids[2]), ids[2]))  # renewing a cycle ends as well


@pytest.mark.parametrize("status", ["incomplete", "failed", "cancelled", "in_progress", "queued"])
def test_only_completed_turns_are_continued_by_default(store: SessionStore, status: str) -> None:
    stored = session(new_response_id(), status=status)
    store.save(stored)
    refused(CHAIN_UNAVAILABLE, lambda: store.resolve_chain(stored.id, owner=OWNER))


def test_incomplete_turns_are_continued_on_demand_and_failed_ones_never(store: SessionStore) -> None:
    incomplete, failed = session(new_response_id(), status="incomplete"), session(new_response_id(), status="failed")
    store.save(incomplete)
    store.save(failed)
    assert store.resolve_chain(incomplete.id, owner=OWNER, include_incomplete=True).turns == [incomplete]
    refused(CHAIN_UNAVAILABLE, lambda: store.resolve_chain(failed.id, owner=OWNER, include_incomplete=True))


@pytest.mark.parametrize(
    "asked", ["", "resp_unknown", "\ud800", "a\nb", "x" * 1_000_000, "{a}", "*", "resp_{0}", "' OR 1=1 --", "é"]
)
def test_whatever_a_client_asks_for_is_found_or_not_found(store: SessionStore, asked: str) -> None:
    assert store.get(asked, OWNER) is None
    error = refused(CHAIN_NOT_FOUND, lambda: store.resolve_chain(asked, owner=OWNER))
    assert len(error.message) < 200
    error.message.encode()


def test_ids_of_a_foreign_shape_chain_like_our_own(store: SessionStore) -> None:
    ids = ["abc", "resp_1", new_response_id("resp_1"), "msg{x}", new_response_id("msg{x}")]
    for parent, link in zip([None, *ids], ids, strict=False):
        store.save(session(link, parent))
    assert [turn.id for turn in store.resolve_chain(ids[-1], owner=OWNER).turns] == ids
    assert [child.id for child in store.list_children("resp_1", OWNER)] == [ids[2]]
    assert [child.id for child in store.list_children("abc", OWNER)] == ["resp_1"]


# --------------------------------------------------------------------------------------------------------- owners


def test_another_owner_sees_nothing(store: SessionStore) -> None:
    ids = save_chain(store, 2)
    assert store.get(ids[0], STRANGER) is None
    assert store.get_many(ids, STRANGER) == {}
    assert store.list_children(ids[0], STRANGER) == []
    refused(CHAIN_NOT_FOUND, lambda: store.resolve_chain(ids[1], owner=STRANGER))
    assert not store.delete(ids[0], STRANGER)
    assert store.get(ids[0], OWNER) is not None


def test_a_chain_does_not_lead_into_another_owners_turns(store: SessionStore) -> None:
    (theirs,) = save_chain(store, 1, owner=STRANGER)
    mine = session(new_response_id(theirs), theirs)
    store.save(mine)
    refused(CHAIN_NOT_FOUND, lambda: store.resolve_chain(mine.id, owner=OWNER))


# ------------------------------------------------------------------------------------------------ delete, children


def test_a_deleted_response_is_gone_for_every_use(store: SessionStore) -> None:
    root, child = save_chain(store, 2)
    assert store.delete(child, OWNER)
    assert store.get(child, OWNER) is None
    assert store.list_children(root, OWNER) == []
    refused(CHAIN_NOT_FOUND, lambda: store.resolve_chain(child, owner=OWNER))
    assert not store.delete(child, OWNER)


def test_children_are_listed_oldest_first(store: SessionStore) -> None:
    (root,) = save_chain(store, 1)
    children = [session(new_response_id(root), root, created_at=1_700_000_000 + number) for number in range(3)]
    for child in children:
        store.save(child)
    store.save(session(new_response_id(children[0].id), children[0].id))
    assert store.list_children(root, OWNER) == children
    assert store.list_children(new_response_id(), OWNER) == []


# ------------------------------------------------------------------------------------------------------ time to live


def test_a_response_ends_with_its_time_to_live(bench: Bench) -> None:
    (only,) = save_chain(bench.store, 1)
    bench.age(TTL - 1)
    assert bench.store.get(only, OWNER) is not None
    bench.age(2)
    assert bench.store.get(only, OWNER) is None
    refused(CHAIN_NOT_FOUND, lambda: bench.store.resolve_chain(only, owner=OWNER))
    assert bench.store.list_children(only, OWNER) == []
    assert not bench.store.delete(only, OWNER)


def test_an_id_whose_time_is_over_is_free_again(bench: Bench) -> None:
    (only,) = save_chain(bench.store, 1)
    bench.age(TTL + 1)
    bench.store.save(session(only, status="incomplete"))
    assert bench.store.get(only, OWNER).status == "incomplete"


@pytest.mark.parametrize("pause", [TTL / 30, TTL / 8, TTL * 0.8], ids=["short", "middling", "long"])
def test_a_chain_that_goes_on_lives_on_as_a_whole(bench: Bench, pause: float) -> None:
    ids = save_chain(bench.store, 2)
    passed = 0.0
    while passed < 4 * TTL:
        bench.age(pause)
        passed += pause
        ids.append(new_response_id(ids[-1]))
        bench.store.save(session(ids[-1], ids[-2]))
    assert [turn.id for turn in bench.store.resolve_chain(ids[-1], owner=OWNER, max_depth=200).turns] == ids


def test_purging_removes_what_has_ended_and_nothing_else(bench: Bench) -> None:
    save_chain(bench.store, 3)
    bench.age(TTL / 2)
    (young,) = save_chain(bench.store, 1)
    bench.age(TTL / 2 + 1)
    assert bench.store.purge() in (3, 0)  # Redis has removed them itself
    assert bench.store.purge() == 0
    assert bench.store.get(young, OWNER) is not None


# ------------------------------------------------------------------------------------------------------------ damage


def damaged_records() -> list[Any]:
    whole = encode(session("resp_x"))
    return [
        pytest.param(b"", id="empty"),
        pytest.param(b"\x00\xff\xfe", id="no JSON"),
        pytest.param(b"(\xb5/\xfd broken", id="broken compression"),
        pytest.param(whole[: len(whole) // 3], id="cut"),
        pytest.param(b"null\nnull", id="null"),
        pytest.param(b"[]\n", id="a list"),
        pytest.param(b'{"v":1}\n{}', id="no fields"),
        pytest.param(whole, id="another response's"),
        pytest.param(whole.replace(b'"output":[', b'"output":"x","_":['), id="output is no list"),
        pytest.param(whole.replace(b'"status":"completed"', b'"status":3'), id="status is no string"),
        pytest.param(whole.replace(b'"input":"', b'"input":7,"_":"'), id="input is a number"),
    ]


@pytest.mark.parametrize("record", damaged_records())
@pytest.mark.parametrize("at", [0, 2, 4], ids=["oldest", "middle", "newest"])
def test_a_record_that_cannot_be_read_breaks_the_chain_like_a_missing_one(
    bench: Bench, record: bytes, at: int, errors: list[logging.LogRecord]
) -> None:
    ids = save_chain(bench.store, 5)
    bench.damage(ids[at], record)
    error = refused(CHAIN_NOT_FOUND, lambda: bench.store.resolve_chain(ids[-1], owner=OWNER))
    assert error.context == {"responseId": ids[at], "previousResponseId": ids[-1]}
    assert {record.fields["response_id"] for record in errors} == {ids[at]}
    assert bench.store.get(ids[at], OWNER) is None


def test_damage_behind_what_a_chain_needs_is_noticed_by_readers(bench: Bench) -> None:
    stored = session(new_response_id())
    bench.store.save(stored)
    bench.damage(stored.id, encode(stored)[:-20])
    assert bench.store.get(stored.id, OWNER) is None


def test_a_record_that_cannot_be_read_can_be_continued_by_nobody_but_replaced(bench: Bench) -> None:
    (only,) = save_chain(bench.store, 1)
    bench.damage(only, b"?")
    refused(STORE_CONFLICT, lambda: bench.store.save(session(only)))
    bench.store.save(session(only), overwrite=True)
    assert bench.store.get(only, OWNER) == session(only)


# ---------------------------------------------------------------------------------------------------------- settings


def test_a_setting_is_made_once(store: SessionStore) -> None:
    assert store.setting("seal", lambda: b"first \x00\xff") == b"first \x00\xff"
    assert store.setting("seal", lambda: b"second") == b"first \x00\xff"
    assert store.setting("another", lambda: b"second") == b"second"


def test_all_who_ask_for_a_setting_at_once_get_the_same(store: SessionStore) -> None:
    barrier = threading.Barrier(8)

    def ask(_: int) -> bytes:
        barrier.wait()
        return store.setting("seal", lambda: secrets.token_bytes(32))

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(8)))) == 1


def test_a_setting_outlives_the_responses(bench: Bench) -> None:
    made = bench.store.setting("seal", lambda: b"key")
    bench.age(10 * TTL)
    bench.store.purge()
    assert bench.store.setting("seal", lambda: b"other") == made


def test_a_store_that_is_there_answers_a_ping(store: SessionStore) -> None:
    store.ping()
