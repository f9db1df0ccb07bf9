from __future__ import annotations

from typing import Any

import pytest

from bridge.spec import Usage
from bridge.stream.deltas import FinishDelta, ReasoningDelta, TextDelta, UsageDelta
from providers.together.spec import TOGETHER
from tests.providers.wire import body_sent, deltas_of

EFFORTS: dict[tuple[str, str], dict[str, Any]] = {
    ("openai/gpt-oss-120b", "none"): {"reasoning_effort": "low"},
    ("openai/gpt-oss-120b", "max"): {"reasoning_effort": "high"},
    ("deepseek-ai/DeepSeek-V4", "none"): {"reasoning": {"enabled": False}},
    ("deepseek-ai/DeepSeek-V4", "high"): {"reasoning": {"enabled": True}},
    ("meta-llama/Llama-4-Scout", "high"): {},
}


@pytest.mark.parametrize(("asked", "fields"), EFFORTS.items(), ids=str)
def test_effort_becomes_what_the_class_of_model_knows(asked: Any, fields: dict[str, Any]) -> None:
    model, effort = asked
    sent = body_sent(TOGETHER, {"reasoning": {"effort": effort}}, model)

    assert {name: sent[name] for name in ("reasoning", "reasoning_effort", "thinking") if name in sent} == fields


def test_a_stream_is_read() -> None:
    stream = (
        'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"We"},'
        '"text":"","logprobs":null,"finish_reason":null}],"usage":null}\n\n'
        'data: {"choices":[{"index":0,"text":"Hi","logprobs":null,"finish_reason":null,"delta":{"token_id":5,'
        '"role":"assistant","content":"Hi","tool_calls":null}}],"usage":null}\n\n'
        'data: {"choices":[{"index":0,"text":"","finish_reason":"eos","delta":{"role":"assistant","content":""}}],'
        '"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}\n\n'
        "data: [DONE]\n\n"
    )

    assert deltas_of(TOGETHER, stream) == [
        ReasoningDelta("We"),
        TextDelta("Hi"),
        UsageDelta(Usage(input_tokens=9, output_tokens=3)),
        FinishDelta("eos"),
    ]
