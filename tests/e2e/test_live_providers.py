"""The real upstreams, each opted into by a key in the environment and its marker: `pytest -m live_deepseek`."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from app import create_app
from providers.registry import builtin_specs
from tests.support.client import Gateway, output_text

KEYED = {name: spec for name, spec in builtin_specs().items() if spec.api_key_env and spec.default_model}
EACH = [pytest.param(name, marks=getattr(pytest.mark, f"live_{name}")) for name in KEYED]

RUN = {
    "type": "function",
    "name": "get_weather",
    "description": "Current weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
COLOUR = {
    "type": "object",
    "properties": {"colour": {"type": "string"}},
    "required": ["colour"],
    "additionalProperties": False,
}


@pytest.fixture(params=EACH)
def gateway(request) -> Iterator[Gateway]:
    name = request.param
    spec = KEYED[name]
    key = os.environ.get(spec.api_key_env)
    assert key, f"${spec.api_key_env} is not set"
    section = {"spec": name, "credentials": {"api_key": key}}
    aliases = {"*": f"{name}/{os.environ.get('GODEX_LIVE_MODEL', spec.default_model)}"}
    app = create_app({"providers": {name: section}, "models": {"aliases": aliases}, "session": {"backend": "memory"}})
    yield Gateway(app.test_client())
    app.extensions["godex"].close()


@pytest.mark.timeout(300)
def test_an_answer_and_its_continuation(gateway):
    first = gateway.stream(input="My name is Ann. Say hello.").response
    assert first["status"] == "completed" and first["usage"]["output_tokens"] > 0
    second = gateway.create(input="What is my name?", previous_response_id=first["id"])
    assert "Ann" in output_text(second)


@pytest.mark.timeout(300)
def test_a_tool_loop_with_reasoning(gateway):
    asked = gateway.stream(
        input="Use the tool: what is the weather in Paris?", tools=[RUN], reasoning={"effort": "high"}
    ).response
    calls = [item for item in asked["output"] if item["type"] == "function_call"]
    outputs = [{"type": "function_call_output", "call_id": call["call_id"], "output": "18 degrees"} for call in calls]
    assert calls
    told = gateway.create(input=outputs, previous_response_id=asked["id"], tools=[RUN])
    assert "18" in output_text(told)


@pytest.mark.timeout(300)
def test_a_schema(gateway):
    text = {"format": {"type": "json_schema", "name": "c", "schema": COLOUR, "strict": True}}
    assert gateway.create(input="Name a colour.", text=text)["status"] == "completed"
