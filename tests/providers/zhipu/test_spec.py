"""Zhipu's differences: what a plan makes of them, what goes up, what comes down."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from bridge import errors as codes
from bridge.spec import Usage
from bridge.stream.deltas import FinishDelta, ReasoningDelta, SearchDelta, TextDelta, ToolCallDelta, UsageDelta
from providers.faults import status_error
from providers.zhipu.spec import ZHIPU
from tests.providers.wire import body_sent, deltas_of

TOOLS = [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}]

EFFORTS: dict[tuple[str, str | None], dict[str, Any]] = {
    ("glm-5.3", None): {},
    ("glm-5.3", "none"): {"thinking": {"type": "disabled"}},
    ("glm-5.3", "minimal"): {"thinking": {"type": "disabled"}},
    ("glm-5.3", "low"): {"thinking": {"type": "enabled"}, "reasoning_effort": "high"},
    ("glm-5.3", "xhigh"): {"thinking": {"type": "enabled"}, "reasoning_effort": "max"},
    ("glm-4.7", "minimal"): {"thinking": {"type": "disabled"}},
    ("glm-4.7", "high"): {"thinking": {"type": "enabled"}},
    ("glm-5.1", "max"): {"thinking": {"type": "enabled"}},
}


@pytest.mark.parametrize(("asked", "fields"), EFFORTS.items(), ids=str)
def test_effort_becomes_what_the_model_knows(asked: tuple[str, str | None], fields: dict[str, Any]) -> None:
    model, effort = asked
    sent = body_sent(ZHIPU, {"reasoning": {"effort": effort}} if effort else {}, model)

    assert {name: sent[name] for name in ("thinking", "reasoning_effort") if name in sent} == fields


def test_streamed_calls_are_asked_for_in_pieces() -> None:
    assert body_sent(ZHIPU, {"tools": TOOLS, "stream": True})["tool_stream"] is True
    assert "tool_stream" not in body_sent(ZHIPU, {"tools": TOOLS})
    assert "tool_stream" not in body_sent(ZHIPU, {"stream": True})


def test_values_are_brought_into_the_ranges() -> None:
    sent = body_sent(ZHIPU, {"temperature": 0, "top_p": 0, "max_output_tokens": 200_000})

    assert (sent["temperature"], sent["top_p"], sent["max_tokens"]) == (0.01, 0.01, 131_072)


def test_a_forced_choice_is_not_sent() -> None:
    sent = body_sent(ZHIPU, {"tools": TOOLS, "tool_choice": "required"})

    assert sent.get("tool_choice") in (None, "auto")


def test_a_stream_is_read() -> None:
    stream = """data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"Let"}}]}

data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"}}]}

data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"id":"call_1","index":0,"type":"function","function":{"name":"f","arguments":""}}]}}]}

data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}

data: {"id":"1","choices":[{"index":0,"finish_reason":"sensitive","delta":{"role":"assistant","content":""}}],"usage":{"prompt_tokens":8,"completion_tokens":5,"total_tokens":13,"prompt_tokens_details":{"cached_tokens":4}}}

data: [DONE]

"""  # noqa: E501
    assert deltas_of(ZHIPU, stream) == [
        ReasoningDelta("Let"),
        TextDelta("Hi"),
        ToolCallDelta(0, "call_1", "f", ""),
        ToolCallDelta(0, None, None, "{}"),
        UsageDelta(Usage(input_tokens=8, output_tokens=5, cached_tokens=4)),
        FinishDelta("sensitive"),
    ]


REFUSALS: dict[str, tuple[int, str]] = {
    "1002": (401, codes.UPSTREAM_AUTHENTICATION),
    "1113": (429, codes.UPSTREAM_QUOTA),
    "1210": (400, codes.UPSTREAM_BAD_REQUEST),
    "1211": (400, codes.UPSTREAM_MODEL_NOT_FOUND),
    "1214": (400, codes.UPSTREAM_BAD_REQUEST),
    "1234": (500, codes.UPSTREAM_SERVER_ERROR),
    "1261": (400, codes.UPSTREAM_CONTEXT_LENGTH),
    "1301": (400, codes.UPSTREAM_CONTENT_FILTER),
    "1302": (429, codes.UPSTREAM_RATE_LIMIT),
    "1305": (429, codes.UPSTREAM_RATE_LIMIT),
    "1308": (429, codes.UPSTREAM_QUOTA),
}


@pytest.mark.parametrize("number", REFUSALS)
def test_numbers_are_understood_without_their_sentence(number: str) -> None:
    status, code = REFUSALS[number]
    body = orjson.dumps({"error": {"code": number, "message": "请求失败"}})
    error = status_error("zhipu", status, body, {}, ZHIPU.read_error)

    assert error.code == code
    assert "请求失败" in error.message


def test_the_search_tool_is_declared_as_the_vendor_wants_it():
    tools = [{"type": "web_search", "search_context_size": "high", "filters": {"allowed_domains": ["a.example", "b"]}}]
    patched = ZHIPU.patch_request({"model": "glm-5.3", "messages": [], "tools": tools})
    search = {
        "enable": True,
        "search_engine": "search_std",
        "search_result": True,
        "count": 10,
        "search_domain_filter": "a.example",
    }
    assert patched["tools"] == [{"type": "web_search", "web_search": search}]


FOUND = [{"title": "A", "link": "https://a.example", "refer": "ref_1"}, {"title": "no link"}]


def test_what_a_search_found_becomes_a_search_item_and_citations():
    chunk = {"choices": [{"index": 0, "delta": {"content": "x"}}], "web_search": FOUND}
    search, citation, text = ZHIPU.read_deltas(chunk)
    assert search == SearchDelta("", ("https://a.example",))
    assert citation.annotation["url"] == "https://a.example" and citation.annotation["title"] == "A"
    assert text == TextDelta("x")
    body = {"choices": [{"index": 0, "message": {"content": "x"}, "finish_reason": "stop"}], "web_search": FOUND}
    assert list(ZHIPU.read_response(body))[0] == search
