from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import orjson
import pytest

from bridge import errors as codes
from bridge.errors import ProviderError
from bridge.spec import UpstreamFault
from providers.error_shapes import read_error
from providers.faults import fault_error, status_error


def refused(status: int, body: Any, **headers: str) -> ProviderError:
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    return status_error("acme", status, raw, {k.replace("_", "-"): v for k, v in headers.items()}, read_error)


def openai(message: str, code: Any = None, kind: str = "invalid_request_error", **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "code": code, **fields}}


CONTEXT = {
    "OpenAI": (400, openai("This model's maximum context length is 8192 tokens.", "context_length_exceeded")),
    "DeepSeek": (400, openai("This model's maximum context length is 131072 tokens. However, you requested 140000")),
    "vLLM": (400, openai("The prompt is longer than the maximum model length of 4096.", 400, "BadRequestError")),
    "vLLM, older": (
        400,
        {"object": "error", "message": "This model's maximum context length is 4096 tokens", "code": 400},
    ),
    "SGLang": (400, openai("The input (9000 tokens) is longer than the model's context length (8192 tokens).")),
    "llama.cpp": (400, openai("the request exceeds the available context size", 400, "exceed_context_size_error")),
    "llama.cpp as a 500": (500, openai("the request exceeds the available context size", 500, "server_error")),
    "Zhipu": (400, openai("Prompt exceeds max length", "1261", "")),
    "Zhipu, Chinese": (400, openai("输入内容超过模型上下文长度限制", "1261", "")),
    "Moonshot": (400, openai("Your request exceeded model token limit: 262144")),
    "Qwen": (400, openai("Range of input length should be [1, 30720]", "invalid_parameter_error")),
    "Mistral": (
        400,
        {
            "object": "error",
            "message": "Prompt of 40000 tokens is too large for model with 32768 maximum context length",
        },
    ),
    "OpenRouter": (400, openai("This endpoint's maximum context length is 32768 tokens", 400)),
    "Groq": (413, openai("Please reduce the length of the messages or completion.", "context_length_exceeded")),
    "LM Studio": (400, {"error": "Trying to keep the first 9000 tokens when context overflows"}),
    "Ollama": (400, openai("input length exceeds the context length")),
    "Together": (422, openai("`inputs` tokens + `max_new_tokens` must be <= 8193: too many tokens")),
}


@pytest.mark.parametrize(("status", "body"), CONTEXT.values(), ids=CONTEXT)
def test_an_overlong_context_is_known_in_all_words(status: int, body: Any) -> None:
    error = refused(status, body)

    assert error.code == codes.UPSTREAM_CONTEXT_LENGTH
    assert error.client_code == "context_length_exceeded"


KINDS: dict[str, tuple[int, Any, str]] = {
    "402": (402, openai("Insufficient Balance", None, "unknown_error"), codes.UPSTREAM_QUOTA),
    "OpenAI's quota as a 429": (
        429,
        openai("You exceeded your current quota", "insufficient_quota"),
        codes.UPSTREAM_QUOTA,
    ),
    "a rate word over a quota sentence": (
        429,
        openai("insufficient balance", "rate_limit_exceeded"),
        codes.UPSTREAM_QUOTA,
    ),
    "Moonshot's quota": (
        429,
        openai("suspended, check your plan", None, "exceeded_current_quota_error"),
        codes.UPSTREAM_QUOTA,
    ),
    "Zhipu's balance, Chinese": (429, openai("您的账户已欠费，请充值后重试。", "1113"), codes.UPSTREAM_QUOTA),
    "OpenRouter's credits": (
        402,
        openai("This request requires more credits, or fewer max_tokens", 402),
        codes.UPSTREAM_QUOTA,
    ),
    "DashScope in arrears": (400, openai("Access denied, account in arrears", "Arrearage"), codes.UPSTREAM_QUOTA),
    "401": (401, openai("bad key", "invalid_api_key"), codes.UPSTREAM_AUTHENTICATION),
    "a key refused as a 400": (400, openai("API key not valid", "invalid_api_key"), codes.UPSTREAM_AUTHENTICATION),
    "403": (403, openai("not for you"), codes.UPSTREAM_PERMISSION),
    "a flagged input as a 403": (
        403,
        openai("Your input was flagged by moderation", 403),
        codes.UPSTREAM_CONTENT_FILTER,
    ),
    "Azure's filter": (
        400,
        openai("The prompt triggered the content management policy", "content_filter"),
        codes.UPSTREAM_CONTENT_FILTER,
    ),
    "DashScope's inspection": (
        400,
        openai("Input data may contain inappropriate content.", "data_inspection_failed"),
        codes.UPSTREAM_CONTENT_FILTER,
    ),
    "Zhipu's filter, Chinese": (
        400,
        openai("系统检测到输入或生成内容可能包含不安全或敏感内容", "1301"),
        codes.UPSTREAM_CONTENT_FILTER,
    ),
    "404 model": (404, openai("The model `gpt-9` does not exist", "model_not_found"), codes.UPSTREAM_MODEL_NOT_FOUND),
    "Ollama's model": (
        404,
        openai("model 'x' not found, try pulling it first", None, "api_error"),
        codes.UPSTREAM_MODEL_NOT_FOUND,
    ),
    "DeepSeek's model as a 400": (400, openai("Model Not Exist"), codes.UPSTREAM_MODEL_NOT_FOUND),
    "OpenRouter's model": (400, openai("foo/bar is not a valid model ID", 400), codes.UPSTREAM_MODEL_NOT_FOUND),
    "404 path": (404, b"404 page not found", codes.UPSTREAM_ERROR),
    "405": (405, {"detail": "Method Not Allowed"}, codes.UPSTREAM_ERROR),
    "a redirect": (301, b"", codes.UPSTREAM_ERROR),
    "429": (429, openai("slow down", "1302"), codes.UPSTREAM_RATE_LIMIT),
    "DashScope's throttle as a 400": (
        400,
        openai("Requests throttled", "Throttling.RateQuota"),
        codes.UPSTREAM_RATE_LIMIT,
    ),
    "503": (503, openai("busy"), codes.UPSTREAM_OVERLOADED),
    "529": (529, {}, codes.UPSTREAM_OVERLOADED),
    "overload as a 429": (
        429,
        openai("The engine is currently overloaded", None, "engine_overloaded_error"),
        codes.UPSTREAM_OVERLOADED,
    ),
    "408": (408, {}, codes.UPSTREAM_TIMEOUT),
    "504": (504, b"<html><title>504 Gateway Time-out</title></html>", codes.UPSTREAM_TIMEOUT),
    "500": (500, openai("boom", None, "server_error"), codes.UPSTREAM_SERVER_ERROR),
    "HTML": (502, b"<html><head><title>502 Bad Gateway</title></head></html>", codes.UPSTREAM_SERVER_ERROR),
    "an empty body": (500, b"", codes.UPSTREAM_SERVER_ERROR),
    "Groq's broken call": (
        400,
        openai("Failed to call a function", "tool_use_failed", failed_generation="<f>"),
        codes.UPSTREAM_SERVER_ERROR,
    ),
    "409": (409, {}, codes.UPSTREAM_ERROR),
    "400": (400, openai("temperature must be <= 1", "1210"), codes.UPSTREAM_BAD_REQUEST),
    "400 about max_tokens": (
        400,
        openai("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"),
        codes.UPSTREAM_BAD_REQUEST,
    ),
    "400 with a type for servers": (400, openai("unsupported content", None, "api_error"), codes.UPSTREAM_BAD_REQUEST),
    "422": (422, {"detail": [{"loc": ["body", "foo"], "msg": "extra"}]}, codes.UPSTREAM_BAD_REQUEST),
}


@pytest.mark.parametrize(("status", "body", "code"), KINDS.values(), ids=KINDS)
def test_a_refusal_gets_its_code(status: int, body: Any, code: str) -> None:
    error = refused(status, body)

    assert error.code == code
    assert error.message
    assert error.context["status"] == status
    assert error.context["provider"] == "acme"


STREAMED: dict[str, tuple[UpstreamFault, str]] = {
    "an HTTP status as its code": (
        UpstreamFault(message="worker limit reached", code="502"),
        codes.UPSTREAM_SERVER_ERROR,
    ),
    "429 as its code": (UpstreamFault(message="slow", code="429"), codes.UPSTREAM_RATE_LIMIT),
    "a word": (UpstreamFault(message="x", type="overloaded_error"), codes.UPSTREAM_OVERLOADED),
    "a vague word": (UpstreamFault(message="bad tools", type="invalid_request_error"), codes.UPSTREAM_BAD_REQUEST),
    "a sentence": (UpstreamFault(message="maximum context length is 5"), codes.UPSTREAM_CONTEXT_LENGTH),
    "nothing known": (UpstreamFault(message="x"), codes.UPSTREAM_ERROR),
}


@pytest.mark.parametrize(("fault", "code"), STREAMED.values(), ids=STREAMED)
def test_a_fault_without_a_status_gets_its_code_too(fault: UpstreamFault, code: str) -> None:
    error = fault_error("acme", fault)

    assert error.code == code
    assert fault.message in error.message
    assert "status" not in error.context


def test_a_bad_request_keeps_message_param_and_code() -> None:
    error = refused(400, openai("messages[2].role: unknown", "invalid_role", param="messages[2].role"))

    assert (error.message, error.param, error.client_code) == (
        "messages[2].role: unknown",
        "messages[2].role",
        "invalid_role",
    )


def test_a_repeated_status_is_no_client_code() -> None:
    assert refused(400, openai("bad", 400)).client_code is None


def test_a_refused_key_names_the_provider_and_not_the_key() -> None:
    error = refused(401, openai("Incorrect API key provided: sk-secret123456. Find yours elsewhere."))

    assert "acme" in error.message
    assert "sk-secret" not in error.message
    assert error.client_code == "provider_authentication"


def test_a_key_of_any_shape_is_not_echoed_when_it_is_known() -> None:
    fault = UpstreamFault(message="no user for key hunter2-hunter2")

    assert "hunter2" not in fault_error("acme", fault, status=401, secrets=["hunter2-hunter2"]).message


def test_an_html_page_shrinks_to_its_title() -> None:
    error = refused(502, b"<html><head><title>502 Bad\n Gateway</title></head><body><h1>x</h1></body></html>")

    assert error.message == "acme failed (HTTP 502): 502 Bad Gateway"


def test_text_that_is_not_utf8_is_read_as_the_chinese_encoding() -> None:
    assert "余额" in refused(400, "账户余额不足".encode("gbk")).message


def test_a_long_message_is_cut() -> None:
    assert len(refused(400, openai("x " * 5000)).message) <= 2000


WAITS: dict[str, tuple[dict[str, str], int]] = {
    "seconds": ({"retry_after": "7"}, 7),
    "a fraction counts up": ({"retry_after": "2.2"}, 3),
    "milliseconds": ({"retry_after_ms": "1500", "retry_after": "9"}, 2),
    "zero": ({"retry_after": "0"}, 1),
    "nothing": ({}, 1),
    "nonsense": ({"retry_after": "soon"}, 1),
    "a date long ago": ({"retry_after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 1),
}


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(("headers", "seconds"), WAITS.values(), ids=WAITS)
def test_a_busy_upstream_always_names_whole_seconds(status: int, headers: dict[str, str], seconds: int) -> None:
    assert refused(status, {}, **headers).retry_after == seconds


def test_a_date_is_counted_from_now() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)

    assert refused(429, {}, retry_after=later).retry_after in range(85, 92)


def test_a_used_up_quota_names_no_time() -> None:
    assert refused(429, openai("no", "insufficient_quota"), retry_after="5").retry_after is None
