"""vLLM, SGLang, llama.cpp, Ollama, LM Studio: servers of open-weight models on one's own machine."""

from __future__ import annotations

from typing import Any

import pytest

from bridge import errors as codes
from bridge.spec import ProviderSpec, Usage
from bridge.stream.deltas import FinishDelta, ReasoningDelta, TextDelta, ToolCallDelta, UsageDelta
from providers.faults import status_error
from providers.llamacpp.spec import LLAMACPP
from providers.lmstudio.spec import LMSTUDIO
from providers.ollama.spec import OLLAMA
from providers.sglang.spec import SGLANG
from providers.vllm.spec import VLLM
from tests.providers.wire import body_sent, deltas_of

SERVERS = {spec.name: spec for spec in (VLLM, SGLANG, LLAMACPP, OLLAMA, LMSTUDIO)}
TOOLS = [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}]


@pytest.mark.parametrize("spec", SERVERS.values(), ids=SERVERS)
def test_no_key_is_needed_on_ones_own_machine(spec: ProviderSpec) -> None:
    assert not spec.needs_key
    assert spec.base_url.startswith("http://127.0.0.1:")


@pytest.mark.parametrize("spec", SERVERS.values(), ids=SERVERS)
def test_instructions_stand_first_for_the_sake_of_templates(spec: ProviderSpec) -> None:
    said = [("user", "b"), ("system", "late")]
    sent = body_sent(spec, {"input": [{"type": "message", "role": role, "content": text} for role, text in said]})

    assert [message["role"] for message in sent["messages"]] == ["system", "user"]


EFFORTS: list[tuple[ProviderSpec, str, str, dict[str, Any]]] = [
    (VLLM, "Qwen/Qwen3-32B", "none", {"chat_template_kwargs": {"enable_thinking": False}}),
    (VLLM, "Qwen/Qwen3-32B", "high", {"chat_template_kwargs": {"enable_thinking": True}}),
    (VLLM, "openai/gpt-oss-20b", "xhigh", {"reasoning_effort": "high"}),
    (SGLANG, "zai-org/GLM-5", "minimal", {"chat_template_kwargs": {"enable_thinking": False}}),
    (LLAMACPP, "m", "low", {"chat_template_kwargs": {"enable_thinking": True}}),
    (OLLAMA, "m", "minimal", {"reasoning_effort": "low"}),
    (OLLAMA, "m", "xhigh", {"reasoning_effort": "max"}),
    (OLLAMA, "m", "none", {"reasoning_effort": "none"}),
    (LMSTUDIO, "m", "high", {}),
    (LMSTUDIO, "openai/gpt-oss-20b", "max", {"reasoning_effort": "high"}),
]


@pytest.mark.parametrize(
    ("spec", "model", "effort", "fields"), EFFORTS, ids=lambda value: getattr(value, "name", str(value))
)
def test_effort_becomes_what_the_server_knows(
    spec: ProviderSpec, model: str, effort: str, fields: dict[str, Any]
) -> None:
    sent = body_sent(spec, {"reasoning": {"effort": effort}}, model)
    names = ("chat_template_kwargs", "reasoning_effort", "thinking")

    assert {name: sent[name] for name in names if name in sent} == fields


def test_nothing_is_said_about_thinking_unasked() -> None:
    assert "chat_template_kwargs" not in body_sent(VLLM, {})


@pytest.mark.parametrize("spec", [VLLM, SGLANG], ids=["vllm", "sglang"])
def test_kimi_gets_its_own_kind_of_ids_back(spec: ProviderSpec) -> None:
    history = [
        {"type": "message", "role": "user", "content": "go"},
        {"type": "function_call", "call_id": "call_abc", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_abc", "output": "x"},
    ]
    sent = body_sent(spec, {"input": history, "tools": TOOLS}, "moonshotai/Kimi-K2-Instruct")

    assert sent["messages"][1]["tool_calls"][0]["id"] == "functions.f:0"


def test_ollama_is_not_asked_for_what_it_ignores() -> None:
    sent = body_sent(OLLAMA, {"tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": False})

    assert not {"tool_choice", "parallel_tool_calls"} & set(sent)


def test_lm_studio_takes_words_as_choice_and_no_json_object() -> None:
    named = {"type": "function", "name": "f"}
    sent = body_sent(LMSTUDIO, {"tools": TOOLS, "tool_choice": named, "text": {"format": {"type": "json_object"}}})

    assert sent["tool_choice"] == "required"
    assert "response_format" not in sent


def test_a_stream_of_vllm_is_read() -> None:
    stream = (
        'data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,'
        '"finish_reason":null,"token_ids":null}],"prompt_token_ids":null}\n\n'
        'data: {"id":"1","choices":[{"index":0,"delta":{"reasoning":"We"},"logprobs":null,"finish_reason":null}]}\n\n'
        'data: {"id":"1","choices":[{"index":0,"delta":{"content":"Hi"},"logprobs":null,"finish_reason":null}]}\n\n'
        'data: {"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":'
        '"{}"}}]},"logprobs":null,"finish_reason":"tool_calls","stop_reason":null}]}\n\n'
        'data: {"id":"1","choices":[],"usage":{"prompt_tokens":9,"total_tokens":12,"completion_tokens":3}}\n\n'
        "data: [DONE]\n\n"
    )

    assert deltas_of(VLLM, stream) == [
        ReasoningDelta("We"),
        TextDelta("Hi"),
        ToolCallDelta(0, None, "f", "{}"),
        FinishDelta("tool_calls"),
        UsageDelta(Usage(input_tokens=9, output_tokens=3)),
    ]


def test_a_stream_of_ollama_is_read() -> None:
    call = '{{"index":0,"id":"call_{n}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}'
    stream = "".join(
        f'data: {{"choices":[{{"index":0,"delta":{{"role":"assistant","content":"","tool_calls":[{call.format(n=n)}]}},'
        '"finish_reason":null}]}\n\n'
        for n in ("a", "b")
    )

    assert deltas_of(OLLAMA, stream) == [ToolCallDelta(0, "call_a", "f", "{}"), ToolCallDelta(0, "call_b", "f", "{}")]


def test_usage_without_cached_tokens_leaves_them_unknown() -> None:
    stream = 'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}\n\n'

    assert deltas_of(LMSTUDIO, stream) == [UsageDelta(Usage(input_tokens=9, output_tokens=3, cached_tokens=None))]


REFUSALS: list[tuple[ProviderSpec, int, str, str]] = [
    (
        VLLM,
        400,
        '{"error":{"message":"This model\'s maximum context length is 4096 tokens","type":"BadRequestError","code":400}}',
        codes.UPSTREAM_CONTEXT_LENGTH,
    ),
    (VLLM, 404, '{"error":{"message":"The model `x` does not exist.","code":404}}', codes.UPSTREAM_MODEL_NOT_FOUND),
    (
        LLAMACPP,
        400,
        '{"error":{"code":400,"message":"too many","type":"exceed_context_size_error","n_ctx":4096}}',
        codes.UPSTREAM_CONTEXT_LENGTH,
    ),
    (
        LLAMACPP,
        503,
        '{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}',
        codes.UPSTREAM_OVERLOADED,
    ),
    (OLLAMA, 404, '{"error":{"message":"model \\"x\\" not found","type":"api_error"}}', codes.UPSTREAM_MODEL_NOT_FOUND),
    (OLLAMA, 400, '{"error":{"message":"invalid think value: \\"xhigh\\""}}', codes.UPSTREAM_BAD_REQUEST),
    (LMSTUDIO, 400, '{"error":"response_format.type must be json_schema or text"}', codes.UPSTREAM_BAD_REQUEST),
]


@pytest.mark.parametrize(("spec", "status", "body", "code"), REFUSALS, ids=lambda value: str(value)[:20])
def test_refusals_get_their_codes(spec: ProviderSpec, status: int, body: str, code: str) -> None:
    assert status_error(spec.name, status, body.encode(), {}, spec.read_error).code == code
