"""Work per delta and per history item does not grow: lines that run are counted, never seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from bridge.plan.diagnostics import Diagnostics
from bridge.request.build import build_chat_request, plan_request
from bridge.spec import Capabilities
from bridge.stream.deltas import EndDelta, FinishDelta, ReasoningDelta, RefusalDelta, TextDelta, ToolCallDelta
from bridge.stream.machine import respond
from tests.support.turns import turn_for

TOOLS = [
    {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {}}},
    {"type": "custom", "name": "exec"},
    {"type": "shell"},
]


def lines_run(work: Callable[[], Any]) -> int:
    run = 0

    def count(frame, event, argument):
        nonlocal run
        run += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return run


def call(name, first, piece, last):
    head = [ToolCallDelta(0, "c", name, first)]
    return lambda n: [*head, *[ToolCallDelta(0, None, None, piece)] * n, ToolCallDelta(0, None, None, last)]


def interleaved(n):
    pieces = [ToolCallDelta(0, None, None, "x"), ToolCallDelta(1, None, None, "y")] * (n // 2)
    return [ToolCallDelta(0, "a", "run", '{"q":"'), ToolCallDelta(1, "b", "run", '{"q":"'), *pieces,
            ToolCallDelta(0, None, None, '"}'), ToolCallDelta(1, None, None, '"}')]  # fmt: skip


STREAMS = {
    "text": lambda n: [TextDelta("word ")] * n,
    "refusal": lambda n: [RefusalDelta("word ")] * n,
    "reasoning": lambda n: [ReasoningDelta("word ")] * n,
    "arguments": call("run", '{"q":"', "x", '"}'),
    "a custom input": call("exec", '{"input":"', "x\\n", '"}'),
    "a shell call": call("shell", '{"commands":["', "x", '"]}'),
    "interleaved calls": interleaved,
    "many items": lambda n: [TextDelta("a"), ReasoningDelta("b")] * (n // 2),
}


@pytest.mark.parametrize("deltas", STREAMS.values(), ids=STREAMS)
def test_work_per_delta_is_constant(deltas):
    def made(n):
        stream = [*deltas(n), FinishDelta("stop"), EndDelta()]
        turn = turn_for({"tools": TOOLS})
        return lines_run(lambda: sum(1 for _ in respond(stream, turn)))

    made(10)  # what happens once happens here
    small, middle, large = made(200), made(400), made(800)
    assert large - middle == pytest.approx(2 * (middle - small), rel=0.02, abs=8)


def conversation(n):
    turn = [
        {"role": "user", "content": "go"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "x"}]},
    ]
    calls = [
        [
            {"type": "function_call", "call_id": f"c{number}", "name": "run", "arguments": '{"q":1}'},
            {"type": "function_call_output", "call_id": f"c{number}", "output": "y"},
        ]
        for number in range(n // 5)
    ]
    return [item for pair in calls for item in (*turn, *pair)]


def same_ids(n):
    return [{**item, "call_id": "same"} if "call_id" in item else item for item in conversation(n)]


def outputs_last(n):
    """All calls in one message, then all outputs, under one id."""
    calls = [{"type": "function_call", "call_id": "c", "name": "run", "arguments": "{}"}] * (n // 2)
    return [*calls, *[{"type": "function_call_output", "call_id": "c", "output": "y"}] * (n // 2)]


@pytest.mark.parametrize("items", [conversation, same_ids, outputs_last])
def test_work_per_history_item_is_constant(items):
    def made(n):
        history = items(n)
        caps = Capabilities(reasoning_replay="always", strict_turns=True)

        def build():
            plan = plan_request({"model": "m", "tools": TOOLS}, history, caps, Diagnostics())
            build_chat_request({}, history, plan, model="m", first_input=0, unseal=lambda envelope: None)

        return lines_run(build)

    made(10)
    small, middle, large = made(200), made(400), made(800)
    assert large - middle == pytest.approx(2 * (middle - small), rel=0.03)
