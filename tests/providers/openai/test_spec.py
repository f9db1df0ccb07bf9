from __future__ import annotations

import pytest

from providers.openai.spec import OPENAI
from tests.providers.wire import body_sent

TOOL = {"type": "function", "name": "f", "strict": True, "parameters": {"type": "object", "properties": {}}}


def test_reasoning_models_get_effort_and_no_sampling() -> None:
    sent = body_sent(OPENAI, {"temperature": 0.3, "max_output_tokens": 77, "reasoning": {"effort": "max"}}, "gpt-5.5")

    assert "temperature" not in sent
    assert sent["max_completion_tokens"] == 77
    assert sent["reasoning_effort"] == "xhigh"


def test_a_reasoning_model_that_does_not_think_takes_sampling() -> None:
    assert body_sent(OPENAI, {"temperature": 0.3, "reasoning": {"effort": "none"}}, "gpt-5.5")["temperature"] == 0.3


def test_other_models_get_sampling_and_no_effort() -> None:
    sent = body_sent(OPENAI, {"temperature": 0.3, "reasoning": {"effort": "high"}}, "gpt-4.1")

    assert sent["temperature"] == 0.3
    assert "reasoning_effort" not in sent


def test_hints_that_openai_knows_are_passed_on() -> None:
    hints = {"prompt_cache_key": "k", "service_tier": "flex", "safety_identifier": "s"}
    sent = body_sent(OPENAI, {**hints, "text": {"verbosity": "low"}})

    assert {name: sent[name] for name in hints} == hints
    assert sent["verbosity"] == "low"


def test_what_only_the_responses_api_knows_is_not_sent() -> None:
    only_there = {"store": False, "include": [], "metadata": {"a": "b"}, "truncation": "auto", "client_metadata": {}}

    assert not set(only_there) & set(body_sent(OPENAI, only_there))


def test_strict_tools_and_developers_stay_what_they_are() -> None:
    sent = body_sent(OPENAI, {"tools": [TOOL], "input": [{"type": "message", "role": "developer", "content": "x"}]})

    assert sent["tools"][0]["function"]["strict"] is True
    assert sent["messages"][0]["role"] == "developer"


@pytest.mark.parametrize("model", ["o3", "o4-mini"])
def test_the_o_series_has_three_levels(model: str) -> None:
    assert body_sent(OPENAI, {"reasoning": {"effort": "xhigh"}}, model)["reasoning_effort"] == "high"
