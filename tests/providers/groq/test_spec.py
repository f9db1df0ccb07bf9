from __future__ import annotations

from typing import Any

import pytest

from bridge import errors as codes
from bridge.spec import Usage
from bridge.stream.deltas import FinishDelta, ReasoningDelta, TextDelta, UsageDelta
from providers.faults import status_error
from providers.groq.spec import GROQ
from providers.transport import is_transient
from tests.providers.wire import body_sent, deltas_of

EFFORTS: dict[tuple[str, str], dict[str, Any]] = {
    ("openai/gpt-oss-120b", "xhigh"): {"reasoning_effort": "high"},
    ("openai/gpt-oss-120b", "low"): {"reasoning_effort": "low"},
    ("qwen/qwen3-32b", "high"): {"reasoning_effort": "default", "reasoning_format": "parsed"},
    ("qwen/qwen3-32b", "none"): {"reasoning_effort": "none", "reasoning_format": "parsed"},
    ("moonshotai/kimi-k2-instruct", "high"): {},
}


@pytest.mark.parametrize(("asked", "fields"), EFFORTS.items(), ids=str)
def test_parameters_of_reasoning_go_only_to_models_that_have_them(asked: Any, fields: dict[str, Any]) -> None:
    model, effort = asked
    sent = body_sent(GROQ, {"reasoning": {"effort": effort}}, model)

    assert {name: value for name, value in sent.items() if name.startswith("reasoning")} == fields


def test_no_message_carries_reasoning() -> None:
    history = [
        {"type": "message", "role": "user", "content": "a"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "T"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "b"}]},
        {"type": "message", "role": "user", "content": "c"},
    ]

    for message in body_sent(GROQ, {"input": history})["messages"]:
        assert not {"reasoning", "reasoning_content", "reasoning_details"} & set(message)


def test_a_schema_is_native_on_some_models_only() -> None:
    form = {"text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}}}

    assert body_sent(GROQ, form)["response_format"]["type"] == "json_schema"
    assert body_sent(GROQ, form, "qwen/qwen3-32b")["response_format"]["type"] == "json_object"


def test_a_stream_is_read() -> None:
    stream = (
        'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],'
        '"x_groq":{"id":"req_1"}}\n\n'
        'data: {"choices":[{"index":0,"delta":{"reasoning":"We"},"logprobs":null,"finish_reason":null}]}\n\n'
        'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"logprobs":null,"finish_reason":null}]}\n\n'
        'data: {"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"x_groq":{"id":"req_1",'
        '"usage":{"queue_time":0.1,"prompt_tokens":9,"prompt_time":0.01,"completion_tokens":3,"total_tokens":12}}}\n\n'
        "data: [DONE]\n\n"
    )

    assert deltas_of(GROQ, stream) == [
        ReasoningDelta("We"),
        TextDelta("Hi"),
        UsageDelta(Usage(input_tokens=9, output_tokens=3)),
        FinishDelta("stop"),
    ]


def test_a_call_that_the_model_botched_is_worth_another_try() -> None:
    body = (
        b'{"error":{"message":"Failed to call a function. Please adjust your prompt.","type":"invalid_request_error",'
        b'"code":"tool_use_failed","failed_generation":"<function=f>"}}'
    )
    error = status_error("groq", 400, body, {}, GROQ.read_error)

    assert error.code == codes.UPSTREAM_SERVER_ERROR
    assert is_transient(error)
