"""The machine as a whole: any list of deltas gives a legal stream."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.spec import Usage
from bridge.stream.deltas import (
    AnnotationDelta,
    EndDelta,
    FinishDelta,
    ReasoningDelta,
    RefusalDelta,
    SearchDelta,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from bridge.stream.machine import CONTENT, TRANSITIONS, Phase
from tests.support.invariants import check_stream
from tests.support.turns import events_of, turn_for

TOOLS = [
    {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {}}},
    {"type": "custom", "name": "exec"},
    {"type": "shell"},
    {"type": "apply_patch"},
    {
        "type": "namespace",
        "name": "mcp__files",
        "description": "files",
        "tools": [{"type": "function", "name": "read"}],
    },
]
NAMES = ["run", "exec", "shell", "apply_patch", "mcp__files__read", "unknown_tool", ""]
ARGUMENTS = [
    '{"a":1}',
    '{"a',
    '":1}',
    "{",
    "}",
    '"',
    "\\",
    '{"input":"x\\ny"}',
    '{"commands":["ls"]}',
    "plain",
    " ",
    "",
]

CITATION = {"type": "url_citation", "url": "https://a.example", "title": "A", "start_index": 0, "end_index": 1}
DELTAS = st.one_of(
    st.builds(TextDelta, st.text(min_size=1, max_size=5)),
    st.builds(RefusalDelta, st.text(min_size=1, max_size=5)),
    st.builds(ReasoningDelta, st.text(min_size=1, max_size=5)),
    st.just(AnnotationDelta(CITATION)),
    st.just(SearchDelta("q", ("https://a.example",))),
    st.builds(
        ToolCallDelta,
        index=st.sampled_from([None, 0, 0, 1, 2]),
        id=st.sampled_from([None, "", "call_a", "call_b", "call_c"]),
        name=st.sampled_from([None, *NAMES]),
        arguments=st.sampled_from(ARGUMENTS),
    ),
    st.just(UsageDelta(Usage(input_tokens=3, output_tokens=4))),
)
ENDS = st.sampled_from(
    [[], [EndDelta()], *[[FinishDelta(reason), EndDelta()] for reason in ("stop", "tool_calls", "length", "weird")]]
)
REQUESTS = st.sampled_from(
    [{}, {"parallel_tool_calls": False}, {"tool_choice": "none"},
     {"tool_choice": {"type": "allowed_tools", "tools": [{"type": "function", "name": "run"}]}}]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(DELTAS, max_size=12), ENDS, REQUESTS)
def test_any_list_of_deltas_gives_a_legal_stream(deltas, end, request):
    check_stream(events_of([*deltas, *end], turn_for({"tools": TOOLS, **request})))


@settings(max_examples=100, deadline=None)
@given(st.lists(DELTAS, max_size=12), ENDS)
def test_raw_reasoning_and_sealed_reasoning_give_legal_streams_too(deltas, end):
    turn = turn_for({"tools": TOOLS}, raw=True, seal=lambda payload: f"sealed:{payload['text']}")
    check_stream(events_of([*deltas, *end], turn))


def test_every_delta_is_either_possible_or_an_error_in_every_phase():
    finishing = {delta for phase, delta in TRANSITIONS if phase is Phase.FINISHING}
    assert finishing.isdisjoint(CONTENT)
    assert {delta for phase, delta in TRANSITIONS if phase is Phase.IN_PROGRESS} == finishing | set(CONTENT)


def test_the_life_cycle_of_a_plain_answer():
    events = events_of([TextDelta("Hel"), TextDelta("lo"), FinishDelta("stop"), EndDelta()])
    assert [event["type"] for event in events] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert check_stream(events)["output"][0]["content"][0]["text"] == "Hello"


def test_late_usage_reaches_the_terminal_event():
    usage = UsageDelta(Usage(input_tokens=7, output_tokens=2, cached_tokens=5))
    response = check_stream(events_of([TextDelta("x"), FinishDelta("stop"), usage, EndDelta()]))
    assert response["usage"] == {
        "input_tokens": 7,
        "input_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 0},
        "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 9,
    }


def test_usage_that_nobody_reported_is_null():
    assert check_stream(events_of([TextDelta("x"), FinishDelta("stop")]))["usage"] is None


@pytest.mark.parametrize(
    "late",
    [TextDelta("x"), RefusalDelta("x"), ReasoningDelta("x"), ToolCallDelta(0, "c", "run", "{}")],
    ids=lambda delta: type(delta).__name__,
)
def test_content_after_the_finish_reason_fails_the_response(late):
    response = check_stream(events_of([TextDelta("a"), FinishDelta("stop"), late]))
    assert response["status"] == "failed"
    assert "after its finish reason" in response["error"]["message"]


ENDINGS = [
    ("stop", "completed", None),
    ("tool_calls", "completed", None),
    ("function_call", "completed", None),
    ("eos", "completed", None),
    ("STOP", "completed", None),
    ("length", "incomplete", "max_output_tokens"),
    ("model_context_window_exceeded", "incomplete", "max_output_tokens"),
    ("content_filter", "incomplete", "content_filter"),
    ("sensitive", "incomplete", "content_filter"),
    ("network_error", "failed", None),
    ("none", "failed", None),
    ("unknown", "failed", None),
    ("insufficient_system_resource", "failed", None),
]


@pytest.mark.parametrize(("finish", "status", "reason"), ENDINGS, ids=[row[0] for row in ENDINGS])
def test_finish_reasons(finish, status, reason):
    response = check_stream(events_of([TextDelta("x"), FinishDelta(finish), EndDelta()]))
    assert response["status"] == status
    assert (response["incomplete_details"] or {}).get("reason") == reason
    if status == "incomplete":
        assert response["output"][-1]["status"] == "incomplete"


def test_done_without_a_finish_reason_completes_a_whole_answer():
    assert check_stream(events_of([TextDelta("whole"), EndDelta()]))["status"] == "completed"


@pytest.mark.parametrize(
    "deltas",
    [[], [EndDelta()], [TextDelta("half")], [ToolCallDelta(0, "c", "run", '{"a":')],
     [ToolCallDelta(0, "c", "run", '{"a":'), EndDelta()]],
    ids=["nothing", "done-only", "text-cut", "arguments-cut", "arguments-cut-but-done"],
)  # fmt: skip
def test_an_upstream_that_broke_off_fails_the_response(deltas):
    response = check_stream(events_of(deltas, turn_for({"tools": TOOLS})))
    assert response["status"] == "failed"
    assert response["output"] == []  # what was cut is never given out as done


def test_the_first_of_two_finish_reasons_counts():
    response = check_stream(events_of([TextDelta("x"), FinishDelta("length"), FinishDelta("stop"), EndDelta()]))
    assert response["status"] == "incomplete"
