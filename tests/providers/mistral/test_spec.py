from __future__ import annotations

import re

import pytest

from bridge import errors as codes
from bridge.spec import Usage
from bridge.stream.deltas import FinishDelta, ReasoningDelta, TextDelta, ToolCallDelta, UsageDelta
from providers.faults import status_error
from providers.mistral.spec import MISTRAL
from tests.providers.wire import body_sent, deltas_of, deltas_of_body

TOOLS = [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}]
HISTORY = [
    {"type": "message", "role": "user", "content": "a"},
    {"type": "message", "role": "user", "content": "b"},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "secret thought"}]},
    {"type": "function_call", "call_id": "call_F5k9261v7RiX", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "call_F5k9261v7RiX", "output": "x"},
    {"type": "message", "role": "user", "content": "c"},
]


def test_ids_are_nine_letters_and_digits() -> None:
    messages = body_sent(MISTRAL, {"input": HISTORY, "tools": TOOLS})["messages"]
    call = next(message for message in messages if message.get("tool_calls"))

    assert re.fullmatch(r"[A-Za-z0-9]{9}", call["tool_calls"][0]["id"])
    assert next(m for m in messages if m["role"] == "tool")["tool_call_id"] == call["tool_calls"][0]["id"]


def test_turns_are_in_the_order_that_is_demanded() -> None:
    roles = [message["role"] for message in body_sent(MISTRAL, {"input": HISTORY, "tools": TOOLS})["messages"]]

    assert roles == ["user", "assistant", "tool", "assistant", "user"]


def test_reasoning_never_goes_up() -> None:
    assert "secret thought" not in repr(body_sent(MISTRAL, {"input": HISTORY, "tools": TOOLS}))


def test_required_has_another_word() -> None:
    assert body_sent(MISTRAL, {"tools": TOOLS, "tool_choice": "required"})["tool_choice"] == "any"


def test_unknown_fields_are_not_sent() -> None:
    assert "stream_options" not in body_sent(MISTRAL, {"stream": True})


def test_a_stream_is_read() -> None:
    stream = (
        'data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}\n\n'
        'data: {"id":"1","choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text",'
        '"text":"We"}]}]},"finish_reason":null}]}\n\n'
        'data: {"id":"1","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}\n\n'
        'data: {"id":"1","choices":[{"index":0,"delta":{"content":"","tool_calls":[{"id":"D681PevKs","function":'
        '{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}],'
        '"usage":{"prompt_tokens":9,"total_tokens":12,"completion_tokens":3}}\n\n'
        "data: [DONE]\n\n"
    )

    assert deltas_of(MISTRAL, stream) == [
        ReasoningDelta("We"),
        TextDelta("Hi"),
        ToolCallDelta(None, "D681PevKs", "f", "{}"),
        UsageDelta(Usage(input_tokens=9, output_tokens=3)),
        FinishDelta("tool_calls"),
    ]


def test_a_whole_answer_of_parts_is_read() -> None:
    content = [{"type": "thinking", "thinking": [{"type": "text", "text": "We"}]}, {"type": "text", "text": "Hi"}]
    body = {"choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}]}

    assert deltas_of_body(MISTRAL, body)[:2] == [ReasoningDelta("We"), TextDelta("Hi")]


REFUSALS: dict[str, tuple[int, str, str]] = {
    "order": (
        400,
        '{"object":"error","message":"Unexpected role user after tool","type":"invalid_request_error","code":"3230"}',
        codes.UPSTREAM_BAD_REQUEST,
    ),
    "field": (
        422,
        '{"detail":[{"type":"extra_forbidden","loc":["body","foo"],"msg":"Extra inputs are not permitted"}]}',
        codes.UPSTREAM_BAD_REQUEST,
    ),
    "model": (
        400,
        '{"object":"error","message":"Invalid model: x","type":"invalid_model","code":"1500"}',
        codes.UPSTREAM_MODEL_NOT_FOUND,
    ),
    "key": (401, '{"detail":"Unauthorized"}', codes.UPSTREAM_AUTHENTICATION),
}


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
def test_refusals_get_their_codes(refusal: tuple[int, str, str]) -> None:
    status, body, code = refusal

    assert status_error("mistral", status, body.encode(), {}, MISTRAL.read_error).code == code
