from __future__ import annotations

from typing import Any

import pytest

from bridge import errors as codes
from bridge.spec import Usage
from bridge.stream.deltas import FinishDelta, ReasoningDelta, TextDelta, UsageDelta
from providers.faults import status_error
from providers.qwen.spec import QWEN
from tests.providers.wire import body_sent, deltas_of


@pytest.mark.parametrize(("effort", "switch"), [(None, None), ("none", False), ("minimal", False), ("high", True)])
def test_effort_is_a_plain_boolean(effort: str | None, switch: bool | None) -> None:
    sent = body_sent(QWEN, {"reasoning": {"effort": effort}} if effort else {})

    assert sent.get("enable_thinking") is switch
    assert "thinking" not in sent


def test_json_mode_has_the_word_json_and_no_thinking() -> None:
    sent = body_sent(QWEN, {"text": {"format": {"type": "json_object"}}, "reasoning": {"effort": "high"}})

    assert sent["enable_thinking"] is False
    assert any("JSON" in message["content"] for message in sent["messages"])


def test_instructions_stand_first_in_one_message() -> None:
    said = [("system", "a"), ("user", "b"), ("developer", "c")]
    sent = body_sent(QWEN, {"input": [{"type": "message", "role": role, "content": text} for role, text in said]})

    assert [message["role"] for message in sent["messages"]] == ["system", "user"]
    assert sent["messages"][0]["content"] == "a\n\nc"


@pytest.mark.parametrize(
    ("model", "only"),
    [
        ("qwen3-235b-a22b", True),
        ("qwen3-235b-a22b-thinking-2507", True),
        ("qwen3-235b-a22b-instruct-2507", False),
        ("qwen3.7-max", False),
        ("qwen3-coder-plus", False),
    ],
)
def test_open_weights_that_think_are_asked_for_a_stream(model: str, only: bool) -> None:
    assert QWEN.capabilities_for(model).stream_only is only
    assert body_sent(QWEN, {}, model)["stream"] is only


def test_usage_is_asked_for() -> None:
    assert body_sent(QWEN, {"stream": True})["stream_options"] == {"include_usage": True}


def test_a_stream_is_read() -> None:
    stream = (
        'data: {"choices":[{"delta":{"content":null,"reasoning_content":"We"},"finish_reason":null,"index":0,'
        '"logprobs":null}],"usage":null}\n\n'
        'data: {"choices":[{"delta":{"content":"Hi","reasoning_content":null},"finish_reason":null,"index":0}]}\n\n'
        'data: {"choices":[{"delta":{"content":""},"finish_reason":"stop","index":0}],"usage":null}\n\n'
        'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}\n\n'
        "data: [DONE]\n\n"
    )

    assert deltas_of(QWEN, stream) == [
        ReasoningDelta("We"),
        TextDelta("Hi"),
        FinishDelta("stop"),
        UsageDelta(Usage(input_tokens=9, output_tokens=3)),
    ]


REFUSALS: dict[str, tuple[int, str, str]] = {
    "filter": (
        400,
        '{"error":{"code":"data_inspection_failed","message":"bad","type":"x"},"request_id":"r"}',
        codes.UPSTREAM_CONTENT_FILTER,
    ),
    "arrears": (400, '{"error":{"code":"Arrearage","message":"Access denied"}}', codes.UPSTREAM_QUOTA),
    "throttled": (429, '{"error":{"code":"limit_requests","message":"slow"}}', codes.UPSTREAM_RATE_LIMIT),
    "key": (401, '{"error":{"code":"invalid_api_key","message":"no"},"request_id":"r"}', codes.UPSTREAM_AUTHENTICATION),
    "model": (404, '{"error":{"code":"model_not_found","message":"no"}}', codes.UPSTREAM_MODEL_NOT_FOUND),
    "stream only": (
        400,
        '{"error":{"code":"invalid_parameter_error","message":"This model only support stream mode"}}',
        codes.UPSTREAM_BAD_REQUEST,
    ),
}


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
def test_refusals_get_their_codes(refusal: tuple[int, str, Any]) -> None:
    status, body, code = refusal

    assert status_error("qwen", status, body.encode(), {}, QWEN.read_error).code == code
