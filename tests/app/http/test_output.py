"""Output contracts: what a schema or JSON mode promises, by whatever means the model keeps it."""

from __future__ import annotations

import pytest

from tests.support.client import output_text
from tests.support.fake_upstream import answer

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}


def form(strict: bool = True) -> dict:
    return {"format": {"type": "json_schema", "name": "o", "description": "an o", "schema": SCHEMA, "strict": strict}}


JSON_MODE = {"capabilities": {"response_formats": ["text", "json_object"]}}
PLAIN = {"capabilities": {"response_formats": ["text"]}}


def test_a_native_schema_goes_up_as_it_is(gateway, upstream):
    upstream.script("m", answer('{"a":1}'))
    gateway.create(text=form())
    sent = upstream.requests[0].body["response_format"]
    assert sent == {
        "type": "json_schema",
        "json_schema": {"name": "o", "description": "an o", "schema": SCHEMA, "strict": True},
    }


@pytest.mark.parametrize(("provider", "sent"), [(JSON_MODE, {"type": "json_object"}), (PLAIN, None)])
def test_a_degraded_schema_is_told_in_words_and_fences_are_removed(make_gateway, upstream, provider, sent):
    upstream.script("m", *[answer('```json\n{"a":1}\n```')] * 2)
    gateway = make_gateway(provider)
    assert output_text(gateway.create(text=form())) == '{"a":1}'
    assert output_text(gateway.stream(text=form()).response) == '{"a":1}'
    body = upstream.requests[0].body
    assert body.get("response_format") == sent
    instruction = body["messages"][0]
    assert instruction["role"] == "system" and '"additionalProperties":false' in instruction["content"]


WRONG = ['{"a":"x"}', '{"a":1,"b":2}', "{}", "not json", '{"a":1}{"a":2}']


@pytest.mark.parametrize("provider", [{}, JSON_MODE, PLAIN], ids=["native", "json mode", "plain"])
@pytest.mark.parametrize("text", WRONG)
def test_a_strict_answer_that_breaks_its_schema_never_completes(make_gateway, upstream, provider, text):
    gateway = make_gateway(provider)
    upstream.script("m", *[answer(text)] * 3)
    streamed = gateway.stream(text=form()).response
    assert streamed["status"] == "failed"
    error = gateway.refused(500, text=form())  # asked again once, and wrong again
    assert error["godex_code"] in ("bridge.output.invalid_json", "bridge.output.schema_mismatch")
    assert len(upstream.requests) == 3


def test_one_repair_round_shows_the_model_its_mistake(gateway, upstream):
    upstream.script("m", answer('{"a":"x"}'), answer('{"a":1}'))
    response = gateway.create(text=form())
    assert output_text(response) == '{"a":1}'
    assert response["usage"]["total_tokens"] == 34
    repair = upstream.requests[1].body["messages"]
    assert repair[-2] == {"role": "assistant", "content": '{"a":"x"}'}
    assert "$.a" in repair[-1]["content"]


@pytest.mark.parametrize("rounds", [0, 2])
def test_the_number_of_repair_rounds_is_a_setting(make_gateway, upstream, rounds):
    gateway = make_gateway(output={"repair": rounds})
    upstream.script("m", answer("x"), repeat=True)
    gateway.refused(500, text=form())
    assert len(upstream.requests) == 1 + rounds


def test_a_failing_repair_keeps_its_own_cause(gateway, upstream):
    from tests.support.fake_upstream import failure

    upstream.script("m", answer("x"), failure(429, "slow down"))
    assert gateway.refused(429, text=form())["code"] == "rate_limit_exceeded"


def test_without_strict_nothing_is_failed(make_gateway, upstream):
    upstream.script("m", answer('{"a":"x"}'))
    assert make_gateway(JSON_MODE).create(text=form(strict=False))["status"] == "completed"


def test_a_truncated_answer_stays_incomplete(gateway, upstream):
    upstream.script("m", answer('{"a":', finish="length"))
    response = gateway.create(text=form())
    assert response["status"] == "incomplete"
    assert response["incomplete_details"] == {"reason": "max_output_tokens"}


def test_a_turn_of_calls_alone_owes_no_json(gateway, upstream):
    upstream.script("m", answer(calls=(("c", "run", "{}"),)))
    tools = [{"type": "function", "name": "run"}]
    assert gateway.create(text=form(), tools=tools)["status"] == "completed"


@pytest.mark.parametrize(("text", "status"), [('{"any":1}', "completed"), ("no", "failed")])
def test_json_mode_is_checked_for_syntax(gateway, upstream, text, status):
    upstream.script("m", answer(text))
    assert gateway.stream(text={"format": {"type": "json_object"}}).response["status"] == status


def test_a_forced_call_that_the_model_refuses_is_no_success(make_gateway, upstream):
    gateway = make_gateway({"capabilities": {"tool_choice": ["auto"]}})
    upstream.script("m", answer("no"), answer("no"), answer(calls=(("c", "run", "{}"),)))
    request = {"tools": [{"type": "function", "name": "run"}], "tool_choice": "required"}
    assert gateway.stream(**request).response["status"] == "failed"
    assert gateway.create(**request)["output"][0]["type"] == "function_call"
