"""DeepSeek's differences: what a plan makes of them, what goes up, what comes down."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.spec import Usage
from bridge.stream.deltas import FinishDelta, ReasoningDelta, TextDelta, ToolCallDelta, UsageDelta
from providers.deepseek.spec import DEEPSEEK
from providers.faults import status_error
from tests.providers.wire import body_sent, deltas_of

CAPS = DEEPSEEK.capabilities_for("deepseek-v4-pro")

EFFORTS: dict[str | None, dict[str, Any]] = {
    None: {},
    "none": {"thinking": {"type": "disabled"}},
    "minimal": {"thinking": {"type": "enabled"}, "reasoning_effort": "low"},
    "low": {"thinking": {"type": "enabled"}, "reasoning_effort": "low"},
    "medium": {"thinking": {"type": "enabled"}, "reasoning_effort": "high"},
    "high": {"thinking": {"type": "enabled"}, "reasoning_effort": "high"},
    "xhigh": {"thinking": {"type": "enabled"}, "reasoning_effort": "high"},
    "max": {"thinking": {"type": "enabled"}, "reasoning_effort": "max"},
    "ultra": {"thinking": {"type": "enabled"}, "reasoning_effort": "max"},
}


@pytest.mark.parametrize(("effort", "fields"), EFFORTS.items(), ids=str)
def test_effort_becomes_the_switch_and_a_level_that_exists(effort: str | None, fields: dict[str, Any]) -> None:
    sent = body_sent(DEEPSEEK, {"reasoning": {"effort": effort}} if effort else {})

    assert {name: sent[name] for name in ("thinking", "reasoning_effort") if name in sent} == fields


def test_parameters_without_effect_are_not_sent_while_it_thinks() -> None:
    asked = {"temperature": 0.2, "presence_penalty": 0.5, "top_p": 0.9, "max_output_tokens": 77}

    thinking = body_sent(DEEPSEEK, asked)
    silent = body_sent(DEEPSEEK, {**asked, "reasoning": {"effort": "none"}})
    assert "temperature" not in thinking
    assert "presence_penalty" not in thinking
    assert thinking["max_tokens"] == 77
    assert (silent["temperature"], silent["presence_penalty"]) == (0.2, 0.5)


def test_a_schema_becomes_json_mode_with_the_word_json_in_the_prompt() -> None:
    form = {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": True}
    sent = body_sent(DEEPSEEK, {"text": {"format": form}})

    assert sent["response_format"] == {"type": "json_object"}
    assert any("JSON" in message["content"] for message in sent["messages"])


TOOLS = [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}]
HISTORY = [
    {"type": "message", "role": "developer", "content": "Be brief."},
    {"type": "message", "role": "user", "content": "date?"},
    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "Mon"},
]


def test_lost_reasoning_of_a_call_goes_up_as_the_empty_string() -> None:
    sent = body_sent(DEEPSEEK, {"input": HISTORY, "tools": TOOLS})

    assert next(m for m in sent["messages"] if m["role"] == "assistant")["reasoning_content"] == ""


def test_known_reasoning_goes_up_word_for_word() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "need the date"}]}
    sent = body_sent(DEEPSEEK, {"input": [*HISTORY[:2], thought, *HISTORY[2:]], "tools": TOOLS})

    assert next(m for m in sent["messages"] if m["role"] == "assistant")["reasoning_content"] == "need the date"


def test_a_developer_is_a_system_here() -> None:
    assert body_sent(DEEPSEEK, {"input": HISTORY, "tools": TOOLS})["messages"][0]["role"] == "system"


def test_only_the_flash_models_see_pictures() -> None:
    assert DEEPSEEK.capabilities_for("deepseek-flash").input_images
    assert not CAPS.input_images


STREAM = """
: keep-alive

data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning_content":""},"finish_reason":null}],"usage":null}

data: {"id":"1","choices":[{"index":0,"delta":{"content":null,"reasoning_content":"We"},"logprobs":null,"finish_reason":null}],"usage":null}

: keep-alive

data: {"id":"1","choices":[{"index":0,"delta":{"content":"Hi","reasoning_content":null},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_0","type":"function","function":{"name":"f","arguments":""}}]},"finish_reason":null}],"usage":null}

data: {"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]},"finish_reason":null}],"usage":null}

data: {"id":"1","choices":[{"index":0,"delta":{"content":"","reasoning_content":null},"finish_reason":"insufficient_system_resource"}],"usage":{"prompt_tokens":20,"completion_tokens":9,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":16},"completion_tokens_details":{"reasoning_tokens":4},"prompt_cache_hit_tokens":16,"prompt_cache_miss_tokens":4}}

data: [DONE]

"""  # noqa: E501


def test_a_stream_is_read() -> None:
    assert deltas_of(DEEPSEEK, STREAM) == [
        ReasoningDelta("We"),
        TextDelta("Hi"),
        ToolCallDelta(0, "call_0", "f", ""),
        ToolCallDelta(0, None, "f", "{}"),
        UsageDelta(Usage(input_tokens=20, output_tokens=9, cached_tokens=16, reasoning_tokens=4)),
        FinishDelta("insufficient_system_resource"),
    ]


REFUSALS = {
    402: ('{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null}}', "insufficient_quota"),
    400: ('{"error":{"message":"Model Not Exist","type":"invalid_request_error"}}', "model_not_found"),
    401: ('{"error":{"message":"Authentication Fails","type":"authentication_error"}}', "authentication"),
    422: ('{"error":{"message":"missing field","type":"invalid_request_error"}}', "bad_request"),
    503: ('{"error":{"message":"Service is too busy"}}', "overloaded"),
}


@pytest.mark.parametrize("status", REFUSALS)
def test_refusals_get_their_codes(status: int) -> None:
    text, word = REFUSALS[status]

    assert status_error("deepseek", status, text.encode(), {}, DEEPSEEK.read_error).code.endswith(word)
