from __future__ import annotations

import orjson
import pytest

from bridge import errors as codes
from bridge.spec import Usage
from bridge.stream.deltas import FinishDelta, ReasoningDelta, ToolCallDelta, UsageDelta
from providers.faults import status_error
from providers.moonshot.spec import MOONSHOT
from tests.providers.wire import body_sent, deltas_of

TOOLS = [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}]


@pytest.mark.parametrize("effort", ["none", "low", "medium", "xhigh"])
def test_there_is_one_control_of_thinking_and_never_two(effort: str) -> None:
    sent = body_sent(MOONSHOT, {"reasoning": {"effort": effort}})

    assert sent["thinking"] == {"type": "disabled" if effort == "none" else "enabled"}
    assert "reasoning_effort" not in sent


def test_pinned_parameters_are_not_sent() -> None:
    sent = body_sent(MOONSHOT, {"temperature": 0.3, "top_p": 0.5, "max_output_tokens": 77})

    assert not {"temperature", "top_p", "max_tokens"} & set(sent)
    assert sent["max_completion_tokens"] == 77


def test_a_choice_is_forced_only_while_it_does_not_think() -> None:
    asked = {"tools": TOOLS, "tool_choice": "required"}

    assert "tool_choice" not in body_sent(MOONSHOT, asked)
    assert body_sent(MOONSHOT, {**asked, "reasoning": {"effort": "none"}})["tool_choice"] == "required"


def test_ids_of_calls_survive() -> None:
    history = [
        {"type": "message", "role": "user", "content": "go"},
        {"type": "function_call", "call_id": "functions.f:0", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "functions.f:0", "output": "x"},
    ]
    sent = body_sent(MOONSHOT, {"input": history, "tools": TOOLS})

    assert sent["messages"][1]["tool_calls"][0]["id"] == "functions.f:0"
    assert sent["messages"][2]["tool_call_id"] == "functions.f:0"


def test_a_stream_is_read() -> None:
    stream = (
        'data: {"choices":[{"index":0,"delta":{"reasoning_content":"We"},"finish_reason":null}]}\n\n'
        'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"functions.f:0","type":"function",'
        '"function":{"name":"f","arguments":"{}"}}]},"finish_reason":null}]}\n\n'
        'data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls",'
        '"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12,"cached_tokens":7}}]}\n\n'
        "data: [DONE]\n\n"
    )

    assert deltas_of(MOONSHOT, stream) == [
        ReasoningDelta("We"),
        ToolCallDelta(0, "functions.f:0", "f", "{}"),
        UsageDelta(Usage(input_tokens=9, output_tokens=3, cached_tokens=7)),
        FinishDelta("tool_calls"),
    ]


REFUSALS = {
    ("rate_limit_reached_error", 429): codes.UPSTREAM_RATE_LIMIT,
    ("exceeded_current_quota_error", 429): codes.UPSTREAM_QUOTA,
    ("engine_overloaded_error", 429): codes.UPSTREAM_OVERLOADED,
    ("invalid_authentication_error", 401): codes.UPSTREAM_AUTHENTICATION,
    ("content_filter", 400): codes.UPSTREAM_CONTENT_FILTER,
    ("invalid_request_error", 400): codes.UPSTREAM_BAD_REQUEST,
}


@pytest.mark.parametrize(("said", "code"), REFUSALS.items(), ids=str)
def test_refusals_get_their_codes(said: tuple[str, int], code: str) -> None:
    kind, status = said
    body = orjson.dumps({"error": {"message": "no", "type": kind}})

    assert status_error("moonshot", status, body, {}, MOONSHOT.read_error).code == code
