"""Which calls came back without their reasoning, and under which name it was kept."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.plan.diagnostics import Diagnostics
from bridge.request.build import build_chat_request, plan_request
from bridge.request.entries import Thought
from bridge.request.recollection import call_name, calls_without_reasoning, reasoning_by_call
from bridge.spec import Capabilities
from tests.support.legality import check_chat_request

ENVELOPES = {"ours": {"text": "sealed", "details": [{"type": "x"}]}}
unseal = ENVELOPES.get

USER = {"type": "message", "role": "user", "content": "go"}
EASY_USER = {"role": "user", "content": "go"}
SAID = {"type": "message", "role": "assistant", "content": "wait"}
THOUGHT = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "why"}]}
EMPTY = {"type": "reasoning", "summary": []}
FOREIGN = {**EMPTY, "encrypted_content": "theirs"}
SEALED = {**EMPTY, "encrypted_content": "ours"}


def call(number: Any = 1, **fields: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": f"call_{number}", "name": "run", "arguments": "{}", **fields}


def output(number: Any = 1) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": f"call_{number}", "output": "x"}


HISTORIES = [
    ([USER, call(), output()], [1]),
    ([USER, THOUGHT, call(), output()], []),
    ([USER, call(), THOUGHT, output()], []),
    ([USER, SEALED, call(), output()], []),
    ([USER, EMPTY, call(), output()], [1]),
    ([USER, FOREIGN, call(), output()], [1]),
    ([USER, THOUGHT, call(1), output(1), call(2), output(2)], [2]),
    ([USER, THOUGHT, call(1), call(2), output(1), output(2)], []),
    ([USER, call(1), SAID, call(2), output(1), output(2)], [1, 2]),
    ([USER, THOUGHT, SAID, EASY_USER, call(1)], [1]),
    ([USER, SAID], []),
    ([], []),
]


@pytest.mark.parametrize(("items", "without"), HISTORIES)
def test_calls_without_reasoning_are_found(items: list[dict[str, Any]], without: list[int]) -> None:
    assert [one["call_id"] for one in calls_without_reasoning(items, unseal)] == [f"call_{n}" for n in without]


ANSWERS = [
    ([THOUGHT, call(1), call(2)], ("why", [])),
    ([SEALED, call(1)], ("sealed", [{"type": "x"}])),
    ([THOUGHT, SAID, THOUGHT, call(1)], ("why\n\nwhy", [])),
    ([{**EMPTY, "reasoning_details": [{"a": 1}]}, call(1)], ("", [{"a": 1}])),
    ([THOUGHT, SAID], None),
    ([SAID, call(1)], None),
    ([EMPTY, call(1)], None),
]


@pytest.mark.parametrize(("answer", "kept"), ANSWERS)
def test_an_answer_that_thought_and_called_is_worth_remembering(answer: list[dict[str, Any]], kept: Any) -> None:
    found = reasoning_by_call(answer, unseal)
    if kept is None:
        assert found is None
    else:
        thought, calls = found
        assert (thought.text, thought.details) == kept
        assert calls == [item for item in answer if item["type"] == "function_call"]


SAME = [
    (call(arguments='{"b":1,"a":[2]}'), call(arguments='{ "a": [2], "b": 1 }', id="fc_1", status="completed")),
    (call(arguments='{"a":1,"b":null}'), call(arguments='{"a":1}')),
    (call(arguments="no json"), call(arguments="no json")),
    (
        {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}},
        {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"], "timeout_ms": None}},
    ),
]
OTHER = [
    (call(1), call(2)),
    (call(arguments='{"a":1}'), call(arguments='{"a":2}')),
    (call(name="run"), call(name="stop")),
    (call(), call(namespace="x")),
    ({**call(), "type": "custom_tool_call", "input": "1.0"}, {**call(), "type": "custom_tool_call", "input": "1"}),
]


@pytest.mark.parametrize(("one", "two"), SAME)
def test_a_call_written_anew_keeps_its_name(one: dict[str, Any], two: dict[str, Any]) -> None:
    assert call_name(one) == call_name(two)


@pytest.mark.parametrize(("one", "two"), OTHER)
def test_other_calls_have_other_names(one: dict[str, Any], two: dict[str, Any]) -> None:
    assert call_name(one) != call_name(two)


@pytest.mark.parametrize("depth", [100, 500, 900, 5000])
def test_a_call_nested_deeply_has_a_name_as_well(depth: int) -> None:
    assert call_name(call(arguments="[" * depth + "]" * depth))
    nested: Any = {}
    for _ in range(depth):
        nested = {"a": nested}
    assert call_name({"type": "shell_call", "call_id": "c", "action": nested})


def chat(items: list[dict[str, Any]], recalled: dict[str, Thought], caps: Capabilities) -> tuple[Any, Diagnostics]:
    notes = Diagnostics()
    request = {"model": "m", "input": items}
    plan = plan_request(request, items, caps, notes)
    built = build_chat_request(
        request,
        items,
        plan,
        model="m",
        first_input=0,
        unseal=unseal,
        recalled=recalled,  # type: ignore[arg-type]
    )
    check_chat_request(built)
    return built["messages"], notes


DEEPSEEK = Capabilities(reasoning_replay="with_tools", reasoning_lost="empty")


def test_what_is_remembered_is_filled_in_where_nothing_is() -> None:
    items = [USER, call(1), call(2), output(1), output(2), THOUGHT, call(3), output(3), call(4), output(4)]
    recalled = {name: Thought(f"kept {name}") for name in ("call_2", "call_3", "call_9")}
    messages, notes = chat(items, recalled, DEEPSEEK)
    reasoning = [message["reasoning_content"] for message in messages if message["role"] == "assistant"]
    assert reasoning == ["kept call_2", "why", ""]
    assert [(note.action, note.subject) for note in notes.entries] == [("repaired", "input[2]")]


def test_blocks_go_back_as_blocks() -> None:
    caps = Capabilities(reasoning_replay="always", reasoning_field="reasoning_details")
    messages, _ = chat([USER, call(1), output(1)], {"call_1": Thought("", [{"signature": "s"}])}, caps)
    assert messages[1]["reasoning_details"] == [{"signature": "s"}]


def test_a_renumbered_call_is_still_known() -> None:
    caps = Capabilities(reasoning_replay="always", tool_id_format="alnum9")
    messages, _ = chat([USER, call(1), output(1)], {"call_1": Thought("kept")}, caps)
    assert messages[1]["reasoning_content"] == "kept"
