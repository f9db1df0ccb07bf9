from __future__ import annotations

from typing import Any

import pytest

from bridge import errors as codes
from bridge.errors import ProviderError
from bridge.stream.deltas import ReasoningDelta, ReasoningDetailsDelta, TextDelta
from providers.faults import status_error
from providers.openrouter.spec import OPENROUTER
from tests.providers.wire import body_sent, deltas_of, deltas_of_body


@pytest.mark.parametrize(
    ("effort", "level"), [("none", "none"), ("minimal", "minimal"), ("high", "high"), ("max", "xhigh")]
)
def test_effort_stands_in_an_object(effort: str, level: str) -> None:
    sent = body_sent(OPENROUTER, {"reasoning": {"effort": effort}})

    assert sent["reasoning"] == {"effort": level}
    assert "reasoning_effort" not in sent


def test_nothing_is_said_about_reasoning_unasked() -> None:
    assert "reasoning" not in body_sent(OPENROUTER, {})


def test_details_go_up_unmodified_and_in_order() -> None:
    details = [
        {"type": "reasoning.text", "index": 0, "text": "ab", "signature": "s", "format": "anthropic-claude-v1"},
        {"type": "reasoning.encrypted", "index": 1, "data": "Zz", "id": "e1"},
    ]
    history = [
        {"type": "message", "role": "user", "content": "a"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "reasoning_details": details},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "b"}]},
        {"type": "message", "role": "user", "content": "c"},
    ]

    assert body_sent(OPENROUTER, {"input": history})["messages"][1]["reasoning_details"] == details


def test_a_stream_is_read_and_mirrored_reasoning_shown_once() -> None:
    detail = {"type": "reasoning.text", "index": 0, "text": "We"}
    stream = (
        ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n"
        'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"We","reasoning_details":'
        '[{"type":"reasoning.text","index":0,"text":"We"}]},"finish_reason":null,"native_finish_reason":null}]}\n\n'
        'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":null}]}\n\n'
        "data: [DONE]\n\n"
    )

    assert deltas_of(OPENROUTER, stream) == [ReasoningDelta("We"), ReasoningDetailsDelta((detail,)), TextDelta("Hi")]


STREAMED: dict[str, tuple[str, str, str]] = {
    "at the top": (
        '{"error":{"code":502,"message":"worker limit reached"},"choices":[]}',
        codes.UPSTREAM_SERVER_ERROR,
        "worker limit reached",
    ),
    "beside a finish reason": (
        '{"error":{"code":429,"message":"slow"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}',
        codes.UPSTREAM_RATE_LIMIT,
        "slow",
    ),
    "in the choice": (
        '{"choices":[{"index":0,"delta":{},"finish_reason":"error","error":{"code":502,"message":"gone"}}]}',
        codes.UPSTREAM_SERVER_ERROR,
        "gone",
    ),
}


@pytest.mark.parametrize(("chunk", "code", "words"), STREAMED.values(), ids=STREAMED)
def test_an_error_in_a_stream_is_one(chunk: str, code: str, words: str) -> None:
    with pytest.raises(ProviderError) as caught:
        deltas_of(OPENROUTER, f"data: {chunk}\n\n")
    assert caught.value.code == code
    assert words in caught.value.message


WRAPPED: dict[str, Any] = {
    "JSON in a string": '{"error":{"message":"maximum context length is 8192 tokens","type":"invalid_request_error"}}',
    "a sentence": "maximum context length is 8192 tokens",
    "an object": {"error": {"message": "maximum context length is 8192 tokens"}},
}


@pytest.mark.parametrize("raw", WRAPPED.values(), ids=WRAPPED)
def test_the_sentence_of_the_provider_behind_it_is_told(raw: Any) -> None:
    error = {"code": 400, "message": "Provider returned error", "metadata": {"raw": raw, "provider_name": "Acme"}}
    with pytest.raises(ProviderError) as caught:
        deltas_of_body(OPENROUTER, {"error": error})
    assert caught.value.code == codes.UPSTREAM_CONTEXT_LENGTH
    assert "8192" in caught.value.message


REFUSALS: dict[str, tuple[int, bytes, str]] = {
    "credit": (402, b'{"error":{"code":402,"message":"Insufficient credits"}}', codes.UPSTREAM_QUOTA),
    "a moderated input": (
        403,
        b'{"error":{"code":403,"message":"Your chosen model requires moderation and your input was flagged for x"}}',
        codes.UPSTREAM_CONTENT_FILTER,
    ),
    "a page": (502, b"<html><title>Bad gateway</title></html>", codes.UPSTREAM_SERVER_ERROR),
}


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
def test_refusals_get_their_codes(refusal: tuple[int, bytes, str]) -> None:
    status, body, code = refusal

    assert status_error("openrouter", status, body, {}, OPENROUTER.read_error).code == code
