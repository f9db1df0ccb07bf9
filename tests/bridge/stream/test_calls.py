"""Tool calls as upstreams stream them, and the items that become of them."""

from __future__ import annotations

import pytest

from bridge.stream.deltas import EndDelta, FinishDelta, TextDelta, ToolCallDelta
from tests.support.invariants import check_stream
from tests.support.turns import events_of, turn_for

TOOLS = [
    {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {}}},
    {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}},
    {"type": "custom", "name": "exec"},
    {"type": "shell"},
    {"type": "local_shell"},
    {"type": "apply_patch"},
    {"type": "tool_search", "execution": "client", "description": "find", "parameters": {"type": "object"}},
    {
        "type": "namespace",
        "name": "mcp__files",
        "description": "files",
        "tools": [{"type": "function", "name": "read"}],
    },
]


def answer(*deltas, finish="tool_calls", **request):
    ended = [*deltas, FinishDelta(finish), EndDelta()]
    events = events_of(ended, turn_for({"tools": TOOLS, **request}))
    return check_stream(events), events


def calls(response):
    return [(item.get("call_id"), item.get("name"), item.get("arguments")) for item in response["output"]]


SHAPES = [
    ("id and name only at first", [(0, "a", "run", ""), (0, "", "", '{"q":'), (0, None, None, '"1"}')], [("a", '{"q":"1"}')]),
    ("id and name in every fragment", [(0, "a", "run", '{"q":'), (0, "a", "run", '"1"}')], [("a", '{"q":"1"}')]),
    ("name in every fragment, id at first", [(0, "a", "run", '{"q":'), (0, None, "run", '"1"}')], [("a", '{"q":"1"}')]),
    ("no index", [(None, "a", "run", '{"q":"a"}'), (None, "b", "run", '{"q":"b"}')], [("a", '{"q":"a"}'), ("b", '{"q":"b"}')]),
    ("no index, continued", [(None, "a", "run", '{"q":'), (None, None, None, '"a"}')], [("a", '{"q":"a"}')]),
    ("index always 0", [(0, "a", "run", '{"q":"a"}'), (0, "b", "run", '{"q":"b"}')], [("a", '{"q":"a"}'), ("b", '{"q":"b"}')]),
    ("interleaved", [(0, "a", "run", '{"q"'), (1, "b", "run", '{"q"'), (0, None, None, ':"a"}'), (1, None, None, ':"b"}')],
     [("a", '{"q":"a"}'), ("b", '{"q":"b"}')]),
    ("interleaved by id alone", [(None, "a", "run", '{"q"'), (None, "b", "run", '{"q"'), (None, "a", None, ':"a"}'), (None, "b", None, ':"b"}')],
     [("a", '{"q":"a"}'), ("b", '{"q":"b"}')]),
    ("three at once, the middle one first done", [(0, "a", "run", "{"), (1, "b", "run", "{}"), (2, "c", "run", "{"), (0, "", "", "}"), (2, "", "", "}")],
     [("a", "{}"), ("b", "{}"), ("c", "{}")]),
    ("no arguments at all", [(0, "a", "run", "")], [("a", "{}")]),
    ("a late id", [(0, None, "run", ""), (0, "a", None, '{"q":1}')], [("a", '{"q":1}')]),
    ("a late name", [(0, "a", None, '{"q"'), (0, None, "run", ":1}")], [("a", '{"q":1}')]),
    ("index from 1", [(1, "a", "run", "{}"), (2, "b", "run", "{}")], [("a", "{}"), ("b", "{}")]),
    ("blanks behind a whole call", [(0, "a", "run", "{}"), (1, "b", "run", "{}"), (0, None, None, " ")], [("a", "{}"), ("b", "{}")]),
]  # fmt: skip


@pytest.mark.parametrize(("fragments", "expected"), [row[1:] for row in SHAPES], ids=[row[0] for row in SHAPES])
def test_fragments_find_their_call(fragments, expected):
    response, _ = answer(*(ToolCallDelta(*fragment) for fragment in fragments))
    assert [(call_id, arguments) for call_id, _, arguments in calls(response)] == expected


def test_calls_without_an_id_get_one_each():
    response, _ = answer(ToolCallDelta(0, "", "run", "{}"), ToolCallDelta(0, "", "look", "{}"))
    (first, name, _), (second, other, _) = calls(response)
    assert (name, other) == ("run", "look") and first and second and first != second


def test_two_calls_that_share_an_id_are_told_apart():
    response, _ = answer(ToolCallDelta(0, "same", "run", "{}"), ToolCallDelta(1, "same", "run", "{}"))
    ids = [call_id for call_id, _, _ in calls(response)]
    assert len(ids) == 2 and ids[0] == "same" and ids[1] != "same"


def test_a_call_without_a_name_fails_the_response():
    response, _ = answer(ToolCallDelta(0, "a", None, "{}"))
    assert response["status"] == "failed" and "without a name" in response["error"]["message"]


def test_text_after_a_call_is_a_new_message():
    response, _ = answer(TextDelta("a"), ToolCallDelta(0, "c", "run", "{}"), TextDelta("b"), finish="stop")
    assert [item["type"] for item in response["output"]] == ["message", "function_call", "message"]


def test_text_within_a_call_waits_for_its_end():
    fragments = [
        ToolCallDelta(0, "c", "run", '{"q"'),
        TextDelta("x"),
        ToolCallDelta(0, None, None, ":1}"),
        TextDelta("y"),
    ]
    response, _ = answer(*fragments, finish="stop")
    assert [item["type"] for item in response["output"]] == ["function_call", "message"]
    assert response["output"][1]["content"][0]["text"] == "xy"


CUTS = [("length", "length"), ("length hidden behind tool_calls", "tool_calls"), ("length hidden behind stop", "stop")]


@pytest.mark.parametrize("finish", [row[1] for row in CUTS], ids=[row[0] for row in CUTS])
def test_a_call_that_the_length_cut_is_incomplete(finish):
    response, _ = answer(ToolCallDelta(0, "c", "run", '{"q":"ab'), finish=finish)
    assert response["status"] == "incomplete"
    assert response["output"][-1]["status"] == "incomplete"


RESTORED = [
    ("shell", '{"commands":["ls"],"timeout_ms":5}', "shell_call",
     {"action": {"commands": ["ls"], "timeout_ms": 5, "max_output_length": None}}),
    ("shell", '{"command":"ls"}', "shell_call", {"action": {"commands": ["ls"], "timeout_ms": None, "max_output_length": None}}),
    ("local_shell", '{"command":["ls","-l"]}', "local_shell_call",
     {"action": {"type": "exec", "command": ["ls", "-l"], "env": {}, "timeout_ms": None, "working_directory": None, "user": None}}),
    ("apply_patch", '{"type":"update_file","path":"a","diff":"@@"}', "apply_patch_call",
     {"operation": {"type": "update_file", "path": "a", "diff": "@@"}}),
    ("apply_patch", '{"operation":{"type":"delete_file","path":"a"}}', "apply_patch_call",
     {"operation": {"type": "delete_file", "path": "a"}}),
    ("tool_search", '{"query":"mail"}', "tool_search_call", {"execution": "client", "arguments": {"query": "mail"}}),
    ("mcp__files__read", '{"path":"a"}', "function_call",
     {"name": "read", "namespace": "mcp__files", "arguments": '{"path":"a"}'}),
    ("exec", '{"input":"a\\nb"}', "custom_tool_call", {"name": "exec", "input": "a\nb"}),
    ("nobody_declared", '{"a":1}', "function_call", {"name": "nobody_declared", "arguments": '{"a":1}'}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "kind", "fields"), RESTORED)
def test_calls_come_back_as_the_tool_that_was_declared(name, arguments, kind, fields):
    response, events = answer(ToolCallDelta(0, "c", name, arguments[:3]), ToolCallDelta(0, None, None, arguments[3:]))
    item = response["output"][0]
    assert item["type"] == kind and item["call_id"] == "c"
    assert {key: item[key] for key in fields} == fields
    added = next(event["item"] for event in events if event["type"] == "response.output_item.added")
    assert added["type"] == kind


UNRESTORABLE = [("shell", '{"x":1}'), ("shell", "not json"), ("apply_patch", '{"type":"rename","path":"a"}')]


@pytest.mark.parametrize(("name", "arguments"), UNRESTORABLE)
def test_what_cannot_be_restored_stays_a_function_call(name, arguments):
    response, _ = answer(ToolCallDelta(0, "c", name, arguments))
    assert calls(response) == [("c", name, arguments)]
    assert response["status"] == "completed"


def test_a_custom_call_streams_its_input_and_no_arguments():
    pieces = ['{"inp', 'ut":"a\\', "n\\u4e", '2d"}']
    _, events = answer(*(ToolCallDelta(0, "c", "exec", piece) for piece in pieces))
    kinds = [event["type"] for event in events]
    assert "response.function_call_arguments.delta" not in kinds
    deltas = [event["delta"] for event in events if event["type"] == "response.custom_tool_call_input.delta"]
    assert "".join(deltas) == "a\n中" and len(deltas) > 1


def test_calls_outside_allowed_tools_are_dropped():
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "look"}]}
    response, _ = answer(ToolCallDelta(0, "a", "run", "{}"), ToolCallDelta(1, "b", "look", "{}"), tool_choice=choice)
    assert [name for _, name, _ in calls(response)] == ["look"]


def test_no_call_passes_tool_choice_none():
    response, _ = answer(TextDelta("x"), ToolCallDelta(0, "a", "run", "{}"), tool_choice="none")
    assert [item["type"] for item in response["output"]] == ["message"]


def test_parallel_tool_calls_false_lets_one_call_through():
    deltas = [ToolCallDelta(0, "a", "run", "{}"), ToolCallDelta(1, "b", "look", "{}")]
    response, _ = answer(*deltas, parallel_tool_calls=False)
    assert [name for _, name, _ in calls(response)] == ["run"]


def test_work_per_fragment_does_not_grow_with_the_call():
    """A waiting call must not be scanned anew at every fragment: characters looked at are counted, not seconds."""
    from bridge.stream import json_scan

    looked_at = 0
    original = json_scan.JsonScan._scan

    def counting(self, text):
        nonlocal looked_at
        looked_at += len(text)
        original(self, text)

    json_scan.JsonScan._scan = counting
    try:
        fragments = [ToolCallDelta(0, "a", "run", '{"q":"'), ToolCallDelta(1, "b", "run", '{"q":"')]
        for _ in range(500):
            fragments += [ToolCallDelta(0, None, None, "x" * 10), ToolCallDelta(1, None, None, "y" * 10)]
        answer(*fragments, ToolCallDelta(0, None, None, '"}'), ToolCallDelta(1, None, None, '"}'))
    finally:
        json_scan.JsonScan._scan = original
    assert looked_at <= 2 * 500 * 10 * 2 + 100
