from __future__ import annotations

import pytest

from bridge.spec import Usage
from bridge.stream.deltas import FinishDelta, ReasoningDelta, TextDelta, UsageDelta
from providers.xiaomi.spec import XIAOMI
from tests.providers.wire import body_sent, deltas_of

HISTORY = [
    {"type": "message", "role": "user", "content": "date?"},
    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "Mon"},
]


def test_the_limit_has_the_newer_name() -> None:
    sent = body_sent(XIAOMI, {"max_output_tokens": 77})

    assert sent["max_completion_tokens"] == 77
    assert "max_tokens" not in sent


@pytest.mark.parametrize(
    ("effort", "switch"), [(None, None), ("none", "disabled"), ("minimal", "disabled"), ("high", "enabled")]
)
def test_effort_is_a_switch(effort: str | None, switch: str | None) -> None:
    sent = body_sent(XIAOMI, {"reasoning": {"effort": effort}} if effort else {})

    assert sent.get("thinking") == (switch and {"type": switch})
    assert "reasoning_effort" not in sent


def test_sampling_is_left_out_while_it_thinks() -> None:
    assert "temperature" not in body_sent(XIAOMI, {"temperature": 0.3})
    assert body_sent(XIAOMI, {"temperature": 0.3}, "mimo-v2-flash")["temperature"] == 0.3


def test_a_history_with_calls_brings_reasoning_even_when_it_is_lost() -> None:
    assert body_sent(XIAOMI, {"input": HISTORY})["messages"][1]["reasoning_content"] == ""


@pytest.mark.parametrize(
    ("model", "sees"), [("mimo-v2.5-pro", False), ("mimo-v2.5", True), ("mimo-v2-omni", True), ("mimo-v2-flash", False)]
)
def test_some_models_see(model: str, sees: bool) -> None:
    assert XIAOMI.capabilities_for(model).input_images is sees


def test_a_stream_is_read() -> None:
    stream = (
        'data: {"choices":[{"index":0,"delta":{"reasoning_content":"We","content":null},"finish_reason":null}]}\n\n'
        'data: {"choices":[{"index":0,"delta":{"content":"Hi","reasoning_content":null},"finish_reason":null}]}\n\n'
        'data: {"choices":[{"index":0,"delta":{"content":""},"finish_reason":"repetition_truncation"}]}\n\n'
        'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12,'
        '"completion_tokens_details":{"reasoning_tokens":1},"prompt_tokens_details":{"cached_tokens":5}}}\n\n'
        "data: [DONE]\n\n"
    )

    assert deltas_of(XIAOMI, stream) == [
        ReasoningDelta("We"),
        TextDelta("Hi"),
        FinishDelta("repetition_truncation"),
        UsageDelta(Usage(input_tokens=9, output_tokens=3, cached_tokens=5, reasoning_tokens=1)),
    ]


def test_the_search_tool_keeps_its_settings_beside_the_type():
    place = {"type": "approximate", "country": "China", "city": None}
    patched = XIAOMI.patch_request({"messages": [], "tools": [{"type": "web_search", "user_location": place}]})
    location = {"type": "approximate", "country": "China"}
    assert patched["tools"] == [{"type": "web_search", "force_search": False, "limit": 3, "user_location": location}]


def test_citations_beside_the_type_are_read():
    annotations = [{"type": "url_citation", "url": "https://a.example", "title": "A", "site_name": "a"}]
    (delta,) = XIAOMI.read_deltas({"choices": [{"index": 0, "delta": {"annotations": annotations}}]})
    assert delta.annotation == {
        "type": "url_citation",
        "url": "https://a.example",
        "title": "A",
        "start_index": 0,
        "end_index": 0,
    }
