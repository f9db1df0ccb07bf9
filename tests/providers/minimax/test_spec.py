"""MiniMax's differences: what a plan makes of them, what goes up, what comes down."""

from __future__ import annotations

from typing import Any

import pytest

from bridge import errors as codes
from bridge.errors import ProviderError
from bridge.spec import Usage
from bridge.stream.deltas import EndDelta, FinishDelta, ReasoningDelta, ReasoningDetailsDelta, TextDelta, UsageDelta
from providers.minimax.spec import MINIMAX
from tests.providers.wire import body_sent, deltas_of, deltas_of_body

SWITCHES: dict[tuple[str, str | None], dict[str, Any] | None] = {
    ("MiniMax-M3", None): None,
    ("MiniMax-M3", "none"): {"type": "disabled"},
    ("MiniMax-M3", "low"): {"type": "adaptive"},
    ("MiniMax-M2.7", "high"): None,
}


@pytest.mark.parametrize(("asked", "switch"), SWITCHES.items(), ids=str)
def test_effort_becomes_the_switch_of_m3(asked: tuple[str, str | None], switch: dict[str, Any] | None) -> None:
    model, effort = asked
    sent = body_sent(MINIMAX, {"reasoning": {"effort": effort}} if effort else {}, model)

    assert sent.get("thinking") == switch
    assert "reasoning_effort" not in sent


def test_reasoning_is_asked_for_outside_the_text() -> None:
    assert body_sent(MINIMAX, {})["reasoning_split"] is True


def test_temperature_of_older_models_is_narrower() -> None:
    assert body_sent(MINIMAX, {"temperature": 1.5})["temperature"] == 1.5
    assert body_sent(MINIMAX, {"temperature": 1.5}, "MiniMax-M2.5")["temperature"] == 1.0


def test_details_go_up_as_they_came() -> None:
    details = [{"type": "reasoning.text", "id": "r1", "format": "MiniMax-response-v1", "index": 0, "text": "T"}]
    history = [
        {"type": "message", "role": "user", "content": "date?"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "reasoning_details": details},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Mon"}]},
        {"type": "message", "role": "user", "content": "sure?"},
    ]

    assert body_sent(MINIMAX, {"input": history})["messages"][1]["reasoning_details"] == details


DETAIL = {"type": "reasoning.text", "id": "r1", "format": "MiniMax-response-v1", "index": 0, "text": "We"}


def test_a_stream_is_read_and_its_whole_message_at_the_end_is_not_repeated() -> None:
    stream = """data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"We","reasoning_details":[{"type":"reasoning.text","id":"r1","format":"MiniMax-response-v1","index":0,"text":"We"}]}}],"usage":null,"input_sensitive":false,"output_sensitive":false}

data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"}}],"usage":null}

data: {"id":"1","choices":[{"finish_reason":"stop","index":0,"message":{"content":"Hi","role":"assistant"}}],"object":"chat.completion","usage":{"total_tokens":12,"prompt_tokens":9,"completion_tokens":3},"base_resp":{"status_code":0,"status_msg":""}}

"""  # noqa: E501
    assert deltas_of(MINIMAX, stream) == [
        ReasoningDelta("We"),
        ReasoningDetailsDelta((DETAIL,)),
        TextDelta("Hi"),
        UsageDelta(Usage(input_tokens=9, output_tokens=3)),
        FinishDelta("stop"),
    ]


def test_a_filtered_answer_is_known_by_its_flag() -> None:
    stream = (
        'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}],"output_sensitive":true}\n\n'
    )

    assert deltas_of(MINIMAX, stream) == [TextDelta("a"), FinishDelta("content_filter")]


def test_a_filtered_whole_answer_is_known_by_its_flag() -> None:
    body = {"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}], "output_sensitive": True}

    assert deltas_of_body(MINIMAX, body) == [TextDelta("a"), FinishDelta("content_filter"), EndDelta()]


FAILURES: dict[int, str] = {
    1000: codes.UPSTREAM_SERVER_ERROR,
    1001: codes.UPSTREAM_TIMEOUT,
    1002: codes.UPSTREAM_RATE_LIMIT,
    1004: codes.UPSTREAM_AUTHENTICATION,
    1008: codes.UPSTREAM_QUOTA,
    1026: codes.UPSTREAM_CONTENT_FILTER,
    1027: codes.UPSTREAM_CONTENT_FILTER,
    1039: codes.UPSTREAM_CONTEXT_LENGTH,
    2013: codes.UPSTREAM_BAD_REQUEST,
    9999: codes.UPSTREAM_ERROR,
}


@pytest.mark.parametrize(("number", "code"), FAILURES.items(), ids=str)
def test_a_failure_inside_a_200_is_one_whole_or_streamed(number: int, code: str) -> None:
    body = {"id": "x", "choices": None, "base_resp": {"status_code": number, "status_msg": "told by MiniMax"}}
    stream = f'data: {{"choices":[],"base_resp":{{"status_code":{number},"status_msg":"told by MiniMax"}}}}\n\n'

    for read in (lambda: deltas_of_body(MINIMAX, body), lambda: deltas_of(MINIMAX, stream)):
        with pytest.raises(ProviderError) as caught:
            read()
        assert caught.value.code == code
        assert "told by MiniMax" in caught.value.message


def test_an_error_in_the_usual_shape_is_read_too() -> None:
    with pytest.raises(ProviderError) as caught:
        deltas_of_body(MINIMAX, {"error": {"message": "no", "type": "authentication_error"}})
    assert caught.value.code == codes.UPSTREAM_AUTHENTICATION


def test_a_whole_answer_that_succeeded_is_read() -> None:
    body = {
        "choices": [{"finish_reason": "stop", "index": 0, "message": {"content": "Hi", "reasoning_content": "We"}}],
        "base_resp": {"status_code": 0, "status_msg": ""},
    }

    assert deltas_of_body(MINIMAX, body)[:2] == [ReasoningDelta("We"), TextDelta("Hi")]
