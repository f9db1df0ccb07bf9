"""POST /v1/responses, sync and stream, against an upstream that behaves."""

from __future__ import annotations

import gzip
import json

import pytest
import zstandard

from tests.support.client import check_error, output_text
from tests.support.fake_upstream import answer, chunk, sse

RUN = {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}


def test_sync_and_stream_give_the_same_answer(gateway, upstream):
    how = {"text": "Hello there", "reasoning": "why", "calls": (("call_1", "run", '{"q":"1"}'),)}
    upstream.script("m", answer(**how), answer(**how))
    sync = gateway.create(tools=[RUN])
    streamed = gateway.stream(tools=[RUN]).response

    def without_ids(response):
        return [{key: value for key, value in item.items() if key != "id"} for item in response["output"]]

    assert without_ids(sync) == without_ids(streamed)
    assert [item["type"] for item in sync["output"]] == ["reasoning", "message", "function_call"]
    assert sync["usage"] == streamed["usage"]
    assert sync["usage"]["input_tokens"] == 12


def test_what_goes_up(gateway, upstream):
    gateway.create(
        instructions="Be brief.",
        input=[{"role": "user", "content": "hi"}],
        temperature=0.5,
        max_output_tokens=77,
        store=False,
        metadata={"a": "b"},
        include=["reasoning.encrypted_content"],
        client_metadata={"x": "y"},
        truncation="disabled",
    )
    sent = upstream.requests[0]
    assert sent.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
        "max_tokens": 77,
        "temperature": 0.5,
        "stream": False,
    }
    assert sent.headers["authorization"] == "Bearer sk-upstream-secret"


def test_a_stream_asks_for_usage(gateway, upstream):
    gateway.stream()
    assert upstream.requests[0].body["stream_options"] == {"include_usage": True}


def test_client_headers_do_not_leak(gateway, upstream):
    gateway.post(headers={"Authorization": "Bearer client-key", "Cookie": "a=b", "X-Secret": "s"})
    headers = {name.lower(): value for name, value in upstream.requests[0].headers.items()}
    assert headers["authorization"] == "Bearer sk-upstream-secret"
    assert "cookie" not in headers and "x-secret" not in headers


def test_the_echo_is_complete(gateway):
    asked = {
        "model": "some-model",
        "instructions": "Be brief.",
        "temperature": 0.3,
        "top_p": 0.4,
        "max_output_tokens": 99,
        "metadata": {"k": "v"},
        "parallel_tool_calls": False,
        "reasoning": {"effort": "low"},
        "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}, "verbosity": "low"},
        "tools": [RUN],
        "tool_choice": {"type": "allowed_tools", "tools": [{"type": "function", "name": "run"}]},
        "prompt_cache_key": "key",
        "truncation": "auto",
    }
    response = gateway.create(input="hi", **asked)
    assert response["reasoning"] == {"effort": "low", "summary": None}
    assert response["tools"] == [{**RUN, "description": None, "strict": None}]
    assert response["tool_choice"]["mode"] == "auto"
    assert response["text"]["format"]["strict"] is False and response["text"]["format"]["description"] is None
    for name in ("model", "instructions", "temperature", "top_p", "max_output_tokens", "metadata", "prompt_cache_key"):
        assert response[name] == asked[name]


def test_headers_of_a_reply(gateway):
    reply = gateway.post(headers={"X-Request-Id": "mine-1"}, top_logprobs=3, seed=7)
    assert reply.headers["x-request-id"] == "mine-1"
    assert reply.headers["x-godex-model"] == "up/m"
    assert reply.headers["x-godex-compat"] == "ignored=2"
    streamed = gateway.stream()
    assert streamed.headers["X-Accel-Buffering"] == "no"
    assert streamed.headers["Cache-Control"] == "no-cache"


def test_the_report_is_opt_in(gateway):
    assert "godex" not in gateway.create(seed=7)
    report = gateway.post(headers={"x-godex-diagnostics": "1"}, seed=7).get_json()["godex"]
    assert report["diagnostics"] == [
        {"action": "ignored", "severity": "info", "subject": "seed", "reason": "this field is not known to the gateway"}
    ]


def test_strict_mode_refuses_what_would_be_ignored(gateway, upstream):
    reply = gateway.post(headers={"x-godex-strict": "1"}, top_logprobs=3)
    assert check_error(reply, 400)["param"] == "top_logprobs"
    assert upstream.requests == []


def compressed(data: bytes, encoding: str) -> bytes:
    return {"gzip": gzip.compress, "zstd": zstandard.ZstdCompressor().compress}[encoding](data)


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_compressed_bodies(gateway, encoding):
    data = compressed(json.dumps({"model": "m", "input": "hi"}).encode(), encoding)
    reply = gateway.client.post("/v1/responses", data=data, headers={"Content-Encoding": encoding})
    assert reply.status_code == 200


BODIES = [
    ("no JSON", b"{", {}, 400, "invalid_json"),
    ("a list", b"[]", {}, 400, "invalid_json"),
    ("nothing", b"", {}, 400, "invalid_json"),
    ("an unknown encoding", b"{}", {"Content-Encoding": "br"}, 415, "unsupported_content_encoding"),
    ("no gzip", b"{}", {"Content-Encoding": "gzip"}, 400, "invalid_json"),
    ("no zstd", b"{}", {"Content-Encoding": "zstd"}, 400, "invalid_json"),
    ("half a gzip", gzip.compress(b"{}" * 100)[:12], {"Content-Encoding": "gzip"}, 400, "invalid_json"),
    ("invalid UTF-8", b'{"model":"\xff"}', {}, 400, "invalid_json"),
]


@pytest.mark.parametrize(("data", "headers", "status", "code"), [b[1:] for b in BODIES], ids=[b[0] for b in BODIES])
def test_broken_bodies(gateway, data, headers, status, code):
    assert check_error(gateway.client.post("/v1/responses", data=data, headers=headers), status)["code"] == code


@pytest.mark.parametrize("encoding", [None, "gzip", "zstd"])
def test_the_size_limit_counts_what_is_unpacked(make_gateway, encoding):
    gateway = make_gateway(server={"max_body_mb": 1})
    data = json.dumps({"model": "m", "input": "x" * 2_000_000}).encode()
    headers = {"Content-Encoding": encoding} if encoding else {}
    data = compressed(data, encoding) if encoding else data
    assert (
        check_error(gateway.client.post("/v1/responses", data=data, headers=headers), 413)["code"]
        == "request_too_large"
    )


WRONG = [
    ("model", {"model": None}, "model"),
    ("model empty", {"model": ""}, "model"),
    ("model number", {"model": 5}, "model"),
    ("input number", {"input": 5}, "input"),
    ("input missing", {"input": None}, "input"),
    ("input item", {"input": ["x"]}, "input[0]"),
    ("item without type", {"input": [{"content": "x"}]}, "input[0].type"),
    ("item type number", {"input": [{"type": 5}]}, "input[0].type"),
    ("role", {"input": [{"role": "robot", "content": "x"}]}, "input[0].role"),
    ("content number", {"input": [{"role": "user", "content": 5}]}, "input[0].content"),
    ("content missing", {"input": [{"role": "user"}]}, "input[0].content"),
    ("part", {"input": [{"role": "user", "content": ["x"]}]}, "input[0].content[0]"),
    ("part without text", {"input": [{"role": "user", "content": [{"type": "input_text"}]}]}, "input[0].content[0].text"),
    ("part text number", {"input": [{"role": "user", "content": [{"type": "input_text", "text": 1}]}]}, "input[0].content[0].text"),
    ("an image of the assistant", {"input": [{"role": "assistant", "content": [{"type": "input_image", "image_url": "x"}]}]},
     "input[0].content[0].type"),
    ("call without name", {"input": [{"type": "function_call", "call_id": "a", "arguments": "{}"}]}, "input[0].name"),
    ("call id number", {"input": [{"type": "function_call", "call_id": 1, "name": "a", "arguments": "{}"}]}, "input[0].call_id"),
    *((f"call id of {kind}", {"input": [{"type": kind, "call_id": ["a"], "name": "a", "output": "x"}]}, "input[0].call_id")
      for kind in ("function_call_output", "local_shell_call_output", "shell_call", "apply_patch_call_output", "made_up_call")),
    ("search filters", {"tools": [{"type": "web_search", "filters": "x"}]}, "tools[0].filters"),
    ("search domains", {"tools": [{"type": "web_search", "filters": {"allowed_domains": "x"}}]}, "tools[0].filters.allowed_domains"),
    ("search domain", {"tools": [{"type": "web_search", "filters": {"allowed_domains": [1]}}]}, "tools[0].filters.allowed_domains[0]"),
    ("search place", {"tools": [{"type": "web_search_preview", "user_location": "Berlin"}]}, "tools[0].user_location"),
    ("search size", {"tools": [{"type": "web_search", "search_context_size": {}}]}, "tools[0].search_context_size"),
    ("output number", {"input": [{"type": "function_call_output", "call_id": "a", "output": 1}]}, "input[0].output"),
    ("output missing", {"input": [{"type": "function_call_output", "call_id": "a"}]}, "input[0].output"),
    ("summary text", {"input": [{"type": "reasoning", "summary": "x"}]}, "input[0].summary"),
    ("tools object", {"tools": {}}, "tools"),
    ("tool without type", {"tools": [{"name": "a"}]}, "tools[0].type"),
    ("function without name", {"tools": [{"type": "function"}]}, "tools[0].name"),
    ("parameters list", {"tools": [{"type": "function", "name": "a", "parameters": []}]}, "tools[0].parameters"),
    ("namespace member", {"tools": [{"type": "namespace", "name": "n", "tools": [{"type": "function"}]}]}, "tools[0].tools[0].name"),
    ("tool_choice word", {"tool_choice": "maybe"}, "tool_choice"),
    ("tool_choice nameless", {"tool_choice": {"type": "function"}}, "tool_choice.name"),
    ("stream text", {"stream": "yes"}, "stream"),
    ("store number", {"store": 1}, "store"),
    ("temperature text", {"temperature": "hot"}, "temperature"),
    ("temperature high", {"temperature": 3}, "temperature"),
    ("top_p", {"top_p": -1}, "top_p"),
    ("max_output_tokens text", {"max_output_tokens": "12"}, "max_output_tokens"),
    ("max_output_tokens zero", {"max_output_tokens": 0}, "max_output_tokens"),
    ("max_output_tokens float", {"max_output_tokens": 1.5}, "max_output_tokens"),
    ("top_logprobs", {"top_logprobs": 21}, "top_logprobs"),
    ("metadata value", {"metadata": {"a": 1}}, "metadata.a"),
    ("metadata size", {"metadata": {str(n): "x" for n in range(17)}}, "metadata"),
    ("include", {"include": "all"}, "include"),
    ("include entry", {"include": [1]}, "include[0]"),
    ("text", {"text": "json"}, "text"),
    ("format", {"text": {"format": {"type": "yaml"}}}, "text.format.type"),
    ("format nameless", {"text": {"format": {"type": "json_schema", "schema": {}}}}, "text.format.name"),
    ("schema text", {"text": {"format": {"type": "json_schema", "name": "a", "schema": "x"}}}, "text.format.schema"),
    ("schema broken", {"text": {"format": {"type": "json_schema", "name": "a", "strict": True, "schema": {"type": "nonsense"}}}},
     "text.format.schema"),
    ("verbosity", {"text": {"verbosity": "loud"}}, "text.verbosity"),
    ("reasoning", {"reasoning": "high"}, "reasoning"),
    ("effort", {"reasoning": {"effort": 5}}, "reasoning.effort"),
    ("truncation", {"truncation": "maybe"}, "truncation"),
    ("instructions", {"instructions": 5}, "instructions"),
    ("previous_response_id", {"previous_response_id": 5}, "previous_response_id"),
    ("prompt_cache_key", {"prompt_cache_key": "x" * 65}, "prompt_cache_key"),
    ("background", {"background": True}, "background"),
    ("prompt", {"prompt": {"id": "p"}}, "prompt"),
]  # fmt: skip


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("fields", "param"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_wrong_fields_are_named(gateway, upstream, fields, param, stream):
    error = gateway.refused(400, **{"stream": stream, **fields})
    assert error["param"] == param
    assert error["type"] == "invalid_request_error"
    assert upstream.requests == []


def test_null_means_absent(gateway):
    names = ("instructions", "tools", "tool_choice", "temperature", "metadata", "reasoning", "text", "store", "stream",
             "previous_response_id", "include", "max_output_tokens", "parallel_tool_calls", "truncation")  # fmt: skip
    response = gateway.create(**dict.fromkeys(names))
    assert response["store"] is True and response["temperature"] == 1.0


def test_unknown_fields_anywhere_are_tolerated(gateway):
    gateway.create(
        input=[
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a", "new": 1}], "new": 2}
        ],
        tools=[{**RUN, "defer_loading": True, "output_schema": None}],
        brand_new={"x": 1},
        reasoning={"effort": "low", "zzz": 1},
        text={"verbosity": "low", "zzz": 1},
    )


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [("/v1/nothing", "get", 404), ("/v1/responses", "put", 405), ("/elsewhere", "get", 404)],
)
def test_unknown_routes_answer_in_the_same_shape(gateway, path, method, status):
    check_error(getattr(gateway.client, method)(path), status)


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("/v1/chat/completions", "this gateway speaks the Responses API"),
        ("/responses", "but there is /v1/responses"),
        ("/v1/nothing", "there is no POST /v1/nothing"),
        ("/", "there is no POST /"),
    ],
)
def test_an_unknown_route_names_the_one_that_was_meant(gateway, path, hint):
    assert hint in check_error(gateway.client.post(path, json={}), 404)["message"]


def test_the_body_of_the_other_api_is_told_apart(gateway):
    error = check_error(gateway.post(input=None, messages=[{"role": "user", "content": "hi"}]), 400)
    assert error["param"] == "input" and "messages" in error["message"]


def test_keys_are_checked(make_gateway, upstream):
    gateway = make_gateway(auth={"keys": ["right-key"]})
    assert check_error(gateway.post(), 401)["code"] == "invalid_api_key"
    wrong = gateway.post(headers={"Authorization": "Bearer wrong"})
    assert check_error(wrong, 401)["code"] == "invalid_api_key"
    assert gateway.post(headers={"Authorization": "Bearer right-key"}).status_code == 200
    assert gateway.post(headers={"api-key": "right-key"}).status_code == 200
    assert gateway.client.get("/health").status_code == 200
    assert len(upstream.requests) == 2


def test_models_are_listed(make_gateway):
    gateway = make_gateway(models={"aliases": {"gpt-5.5": "up/big", "*": "up/small"}})
    listed = gateway.client.get("/v1/models").get_json()
    assert listed["object"] == "list"
    assert [model["id"] for model in listed["data"]] == ["gpt-5.5", "up/big", "up/small"]
    assert [model["slug"] for model in listed["models"]] == ["gpt-5.5", "up/big", "up/small"]
    assert gateway.client.get("/v1/models/gpt-5.5").get_json()["owned_by"] == "up"
    assert gateway.client.get("/v1/models/up/big").get_json()["id"] == "up/big"


def test_names_resolve_in_order(make_gateway, upstream):
    gateway = make_gateway(models={"aliases": {"a/b": "up/exact", "*": "up/star"}})
    for name in ("a/b", "up/own/name", "anything"):
        assert gateway.create(model=name)["model"] == name
    assert [request.body["model"] for request in upstream.requests] == ["exact", "own/name", "star"]


def test_health_lists_what_is_registered(make_gateway):
    gateway = make_gateway()
    assert gateway.client.get("/health").get_json()["providers"] == [{"name": "up", "spec": "openai_compatible"}]
    assert gateway.client.get("/health/live").status_code == 200
    assert gateway.client.get("/health/ready").status_code == 200


def test_an_upstream_that_answers_a_stream_with_one_body(gateway, upstream):
    from tests.support.fake_upstream import body

    message = {"role": "assistant", "content": "whole"}
    upstream.script("m", body({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}))
    assert output_text(gateway.stream().response) == "whole"


def test_refusals_stay_refusals(gateway, upstream):
    upstream.script("m", sse(chunk(refusal="I "), chunk(refusal="won't"), chunk(finish="stop")))
    item = gateway.stream().response["output"][0]
    assert item["content"] == [{"type": "refusal", "refusal": "I won't"}]


@pytest.mark.parametrize("stream", [False, True])
def test_a_models_name_may_be_in_any_script(gateway, upstream, stream):
    reply = gateway.post(model="模型", stream=stream)
    assert reply.status_code == 200
    assert reply.headers["x-godex-model"] == "up/%E6%A8%A1%E5%9E%8B"
    assert reply.get_data()
    assert upstream.requests[0].body["model"] == "模型"


@pytest.mark.parametrize("name", ["a\r\nX-Evil: 1", "a\x00", "a" * 300])
def test_a_models_name_that_is_no_name_is_refused(gateway, upstream, name):
    assert gateway.refused(400, model=name)["param"] == "model"
    assert upstream.requests == []


SURROGATES = ['{"content":"x\\ud83d"}', '{"reasoning_content":"\\udc00x"}', '{"refusal":"\\ud83d"}',
              '{"tool_calls":[{"index":0,"id":"c\\ud83d","function":{"name":"run","arguments":"{\\"q\\":\\"\\ud83d\\"}"}}]}']  # fmt: skip


@pytest.mark.parametrize("delta", SURROGATES)
def test_half_a_surrogate_pair_ends_no_stream(gateway, upstream, delta):
    odd = 'data: {"choices":[{"index":0,"delta":' + delta + "}]}\n\n"
    upstream.script("m", sse(odd, chunk(finish="stop")))
    assert gateway.stream(tools=[RUN]).response["status"] == "completed"


def test_bytes_that_are_no_utf8_cost_a_character_and_not_the_chunk(gateway, upstream):
    upstream.script(
        "m", sse(b'data: {"choices":[{"index":0,"delta":{"content":"a\xff b"}}]}\n\n', chunk(finish="stop"))
    )
    assert output_text(gateway.stream().response) == "a\ufffd b"


def test_a_gzip_body_may_have_several_members(gateway):
    half = json.dumps({"model": "m", "input": "hi"}).encode()
    data = gzip.compress(half[:10]) + gzip.compress(half[10:])
    reply = gateway.client.post("/v1/responses", data=data, headers={"Content-Encoding": "gzip"})
    assert reply.status_code == 200


def test_a_body_that_ends_early_is_refused(gateway, upstream):
    data = json.dumps({"model": "m", "input": "hi"}).encode()
    longer = {"CONTENT_LENGTH": str(len(data) + 50)}
    reply = gateway.client.post("/v1/responses", data=data, environ_overrides=longer)
    check_error(reply, 400)
    assert upstream.requests == []


def test_a_namespace_in_a_namespace_is_left_out_with_a_note(gateway, upstream):
    inner = {"type": "namespace", "name": "m", "description": "d", "tools": [RUN]}
    reply = gateway.post(tools=[{"type": "namespace", "name": "n", "description": "d", "tools": [inner, RUN]}])
    assert reply.headers["x-godex-compat"] == "degraded=1, ignored=1"
    assert [tool["function"]["name"] for tool in upstream.requests[0].body["tools"]] == ["n__run"]


LARGE = [
    {f"field{number}": 1 for number in range(2000)},
    {"input": [{"role": "user", "content": [{"type": "input_text", "text": "x"}] * 6000}]},
    {"input": [{"role": "user", "content": "x"}] * 20_001},
]


@pytest.mark.parametrize("fields", LARGE, ids=["fields", "parts", "items"])
def test_more_than_a_worker_should_look_at_is_refused(gateway, upstream, fields):
    check_error(gateway.post({"model": "m", "input": "x", **fields}), 400)
    assert upstream.requests == []
