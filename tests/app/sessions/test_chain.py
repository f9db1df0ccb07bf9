from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.sessions.chain import flatten_turns, input_items, request_history_items, resolve_response_session_chain
from app.sessions.record import decode, encode
from app.sessions.session import StoredResponseSession, make_session
from bridge.errors import (
    CHAIN_CYCLE_DETECTED,
    CHAIN_DEPTH_EXCEEDED,
    CHAIN_NOT_FOUND,
    CHAIN_UNAVAILABLE,
    SessionError,
)

from .builders import OWNER, message, response, session


def system(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "system", "content": [{"type": "input_text", "text": text}]}


def user(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def stored(*links: tuple[str, str | None, str]) -> dict[str, StoredResponseSession]:
    """(id, parent, status) of each turn."""
    return {link: session(link, parent, status=status) for link, parent, status in links}


CYCLE = [("a", "c", "completed"), ("b", "a", "completed"), ("c", "b", "completed")]
GAP = [("b", "a", "completed"), ("c", "b", "completed")]
LINE = [("a", None, "completed"), *GAP]
BROKEN = [("a", None, "incomplete"), *GAP]

GUARDS = [
    # turns, max_depth, include_incomplete -> code, where
    pytest.param(LINE, 2, False, CHAIN_DEPTH_EXCEEDED, "a", id="one turn too many"),
    pytest.param(CYCLE, 64, False, CHAIN_CYCLE_DETECTED, "c", id="cycle"),
    pytest.param([("c", "c", "completed")], 64, False, CHAIN_CYCLE_DETECTED, "c", id="its own parent"),
    pytest.param(GAP, 64, False, CHAIN_NOT_FOUND, "a", id="missing ancestor"),
    pytest.param([], 64, False, CHAIN_NOT_FOUND, "c", id="missing"),
    pytest.param(BROKEN, 64, False, CHAIN_UNAVAILABLE, "a", id="incomplete ancestor"),
    pytest.param([("c", None, "failed")], 64, True, CHAIN_UNAVAILABLE, "c", id="failed is never continued"),
    pytest.param([("c", None, "in_progress")], 64, True, CHAIN_UNAVAILABLE, "c", id="unfinished is never continued"),
    pytest.param(CYCLE, 3, False, CHAIN_DEPTH_EXCEEDED, "c", id="depth is checked before cycle"),
    pytest.param([("c", "c", "failed")], 64, False, CHAIN_UNAVAILABLE, "c", id="status is checked at the first visit"),
    pytest.param(GAP, 2, False, CHAIN_DEPTH_EXCEEDED, "a", id="depth is checked before missing"),
    pytest.param(BROKEN, 2, False, CHAIN_DEPTH_EXCEEDED, "a", id="depth is checked before status"),
    pytest.param(LINE, 0, False, CHAIN_DEPTH_EXCEEDED, "c", id="no depth at all"),
]


@pytest.mark.parametrize(("turns", "max_depth", "include_incomplete", "code", "where"), GUARDS)
def test_a_guard_stops_the_walk(
    turns: list[tuple[str, str | None, str]], max_depth: int, include_incomplete: bool, code: str, where: str
) -> None:
    with pytest.raises(SessionError) as caught:
        resolve_response_session_chain("c", stored(*turns).get, max_depth, include_incomplete)
    assert caught.value.code == code
    assert caught.value.param == "previous_response_id"
    assert caught.value.context == {"responseId": where, "previousResponseId": "c"}


def test_64_turns_are_the_default_limit() -> None:
    line = [(f"r{number}", f"r{number - 1}" if number else None, "completed") for number in range(65)]
    turns = stored(*line)
    assert len(resolve_response_session_chain("r63", turns.get).turns) == 64
    with pytest.raises(SessionError):
        resolve_response_session_chain("r64", turns.get)


def test_each_turn_is_asked_for_once_newest_first() -> None:
    turns, asked = stored(*LINE), []

    def get(response_id: str) -> StoredResponseSession | None:
        asked.append(response_id)
        return turns.get(response_id)

    chain = resolve_response_session_chain("c", get)
    assert asked == ["c", "b", "a"]
    assert [turn.id for turn in chain.turns] == ["a", "b", "c"]


def test_an_incomplete_turn_is_continued_on_demand() -> None:
    chain = resolve_response_session_chain("c", stored(*BROKEN).get, include_incomplete=True)
    assert [turn.status for turn in chain.turns] == ["incomplete", "completed", "completed"]


ITEM = {"type": "function_call_output", "call_id": "call_1", "output": "42"}
REQUESTS = [
    pytest.param({"input": "hi"}, [user("hi")], id="a string is a user message"),
    pytest.param({"input": ""}, [user("")], id="an empty string too"),
    pytest.param({"input": [ITEM]}, [ITEM], id="a list stands as it is"),
    pytest.param({"input": []}, [], id="an empty list is nothing"),
    pytest.param({}, [], id="none is nothing"),
    pytest.param({"instructions": "Be brief."}, [system("Be brief.")], id="instructions are a system message"),
    pytest.param({"instructions": "", "input": "hi"}, [user("hi")], id="empty instructions are nothing"),
    pytest.param({"instructions": "A", "input": [ITEM]}, [system("A"), ITEM], id="instructions stand before input"),
]


@pytest.mark.parametrize(("request_fields", "items"), REQUESTS)
def test_a_request_becomes_items(request_fields: dict[str, Any], items: list[dict[str, Any]]) -> None:
    assert request_history_items(request_fields) == items


def turn(name: str, instructions: str | None) -> StoredResponseSession:
    return session(name, request={"input": name, "instructions": instructions}, output=[message(f"re {name}")])


def test_a_resolved_chain_holds_every_turns_instructions() -> None:
    first = session("a", request={"input": "a", "instructions": "A"}, output=[message("re a")])
    second = session("b", "a", request={"input": "b", "instructions": "A"}, output=[message("re b")])
    chain = resolve_response_session_chain("b", {"a": first, "b": second}.get)
    assert chain.input_items == [
        system("A"), user("a"), message("re a"),
        system("A"), user("b"), message("re b"),
    ]  # fmt: skip


RULES = [
    # instructions of the turns -> which of them stand in the history, what is in effect at the end
    pytest.param("replay", ["A", "A", "A"], ["A", None, None], "A", id="the same are said once"),
    pytest.param("replay", ["A", "B", "A"], ["A", "B", "A"], "A", id="a change is said"),
    pytest.param("replay", ["A", None, "A"], ["A", None, None], "A", id="they last over turns without"),
    pytest.param("replay", [None, "A", None], [None, "A", None], "A", id="they stand at the head of their turn"),
    pytest.param("replay", ["", None, ""], [None, None, None], None, id="none at all"),
    pytest.param("current", ["A", "B", "A"], [None, None, None], None, id="stored ones do not count"),
]


@pytest.mark.parametrize(("rule", "given_instructions", "said", "in_effect"), RULES)
def test_instructions_follow_the_rule(
    rule: Any, given_instructions: list[str | None], said: list[str | None], in_effect: str | None
) -> None:
    history = flatten_turns([turn(name, text) for name, text in zip("abc", given_instructions, strict=True)], rule)
    expected = []
    for name, text in zip("abc", said, strict=True):
        expected += [system(text)] if text else []
        expected += [user(name), message(f"re {name}")]
    assert history.items == expected
    assert history.instructions == in_effect


items_lists = st.lists(st.dictionaries(st.text(max_size=5), st.integers(), max_size=3), max_size=4)
turn_parts = st.tuples(
    st.one_of(st.none(), st.text(max_size=3)),  # instructions
    st.one_of(st.none(), st.text(max_size=5), items_lists),  # input
    items_lists,  # output
)


@given(st.lists(turn_parts, max_size=6))
def test_flattening_loses_repeats_and_reorders_nothing_but_instructions(parts: list[Any]) -> None:
    turns = [
        session(f"r{number}", request={"instructions": instructions, "input": given_input}, output=output)
        for number, (instructions, given_input, output) in enumerate(parts)
    ]
    without = [item for one in turns for item in (*input_items(one.request), *one.response["output"])]
    assert flatten_turns(turns, "current").items == without

    replayed = flatten_turns(turns, "replay")
    texts = [text for text, _, _ in parts if text]
    changes = [text for at, text in enumerate(texts) if at == 0 or texts[at - 1] != text]
    own = {id(item) for one in turns for item in one.response["output"]}
    for one in turns:
        own |= {id(item) for item in one.request.get("input") or () if isinstance(item, dict)}
    added = [item for item in replayed.items if id(item) not in own]
    assert [item for item in added if item["role"] == "system"] == [system(text) for text in changes]
    assert [item for item in replayed.items if item not in added or item["role"] == "user"] == without
    assert replayed.instructions == (texts[-1] if texts else None)


# -------------------------------------------------------------------------------------------------------- compactions

COMPACTION = {"id": "cmp_1", "type": "compaction", "encrypted_content": "sealed"}


def compacted(name: str, previous: str | None, standing: str | None = None, **request: Any) -> StoredResponseSession:
    body = {"model": "m", "input": name, **request}
    return make_session(body, response(name, previous, output=[COMPACTION, message(f"re {name}")]), OWNER, standing)


def test_the_walk_ends_at_a_turn_that_compacted_what_was_before() -> None:
    turns = {"c": compacted("c", "b"), "d": session("d", "c"), "e": session("e", "d")}
    chain = resolve_response_session_chain("e", turns.get, max_depth=3)
    assert [one.id for one in chain.turns] == ["c", "d", "e"]


def test_a_compaction_whose_response_failed_is_not_gone_on_from() -> None:
    failed = make_session({"model": "m"}, response("c", None, output=[COMPACTION], status="failed"), OWNER)
    with pytest.raises(SessionError) as caught:
        resolve_response_session_chain("c", {"c": failed}.get)
    assert caught.value.code == CHAIN_UNAVAILABLE


@pytest.mark.parametrize(
    ("rule", "request_fields", "standing", "said"),
    [
        ("replay", {}, None, None),
        ("replay", {}, "A", "A"),
        ("replay", {"instructions": "B"}, "A", "B"),
        ("current", {"instructions": "B"}, "A", None),
    ],
)
def test_history_begins_with_the_compaction(
    rule: Any, request_fields: Any, standing: str | None, said: str | None
) -> None:
    turns = [turn("a", "A"), compacted("b", "a", standing, **request_fields), turn("c", None)]
    history = flatten_turns(turns, rule)
    told = [system(said)] if said else []
    assert history.items == [*told, COMPACTION, message("re b"), user("c"), message("re c")]
    assert history.instructions == said


def test_standing_instructions_are_stored_and_not_a_clients_to_set() -> None:
    stored_turn = decode(encode(compacted("b", "a", "A")))
    assert stored_turn.request["standing_instructions"] == "A"
    assert "standing_instructions" not in compacted("b", "a", None, standing_instructions=["x"]).request
