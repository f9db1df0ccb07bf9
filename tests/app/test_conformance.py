"""Every built-in provider against a server as strict as the real one: nothing that a client may ask is refused there."""

from __future__ import annotations

from typing import Any

import pytest

from providers.registry import builtin_specs
from tests.support.client import output_text
from tests.support.strict_servers import STRICT

RUN = {"type": "function", "name": "run", "description": "d", "strict": True,
       "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}  # fmt: skip
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}

ASKED: dict[str, dict[str, Any]] = {
    "every parameter": {
        "temperature": 1.9, "top_p": 0.0, "presence_penalty": 0.5, "frequency_penalty": 0.5, "max_output_tokens": 50,
        "top_logprobs": 2, "service_tier": "flex", "user": "u", "safety_identifier": "s", "prompt_cache_key": "k",
        "metadata": {"a": "b"}, "parallel_tool_calls": True, "truncation": "disabled", "include": ["reasoning.encrypted_content"],
        "client_metadata": {"a": "b"}, "text": {"verbosity": "low"},
    },
    **{f"effort {effort}": {"reasoning": {"effort": effort, "summary": "auto"}}
       for effort in ("none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra")},
    "a schema": {"text": {"format": {"type": "json_schema", "name": "o", "schema": SCHEMA, "strict": True}}},
    "JSON mode": {"text": {"format": {"type": "json_object"}}},
    "late instructions": {"input": [{"role": "user", "content": "a"}, {"role": "developer", "content": "late"},
                                    {"role": "user", "content": "b"}], "instructions": "first"},
    "a picture": {"input": [{"role": "user", "content": [{"type": "input_text", "text": "see"}, IMAGE]}]},
    "tools of all kinds": {"tools": [RUN, {"type": "custom", "name": "exec"}, {"type": "shell"}, {"type": "apply_patch"},
                                     {"type": "namespace", "name": "n", "description": "d", "tools": [RUN]},
                                     {"type": "file_search", "vector_store_ids": ["v"]}], "parallel_tool_calls": False},
    "a forced call": {"tools": [RUN], "tool_choice": "required"},
    "a named call": {"tools": [RUN], "tool_choice": {"type": "function", "name": "run"}},
    "no call": {"tools": [RUN], "tool_choice": "none"},
}  # fmt: skip


@pytest.fixture(params=sorted(STRICT))
def provider(request, make_gateway, upstream):
    rules = STRICT[request.param]
    upstream.script(rules.model, rules, repeat=True)
    return make_gateway({"spec": request.param}), rules.model


def test_every_upstream_has_its_strict_server():
    assert set(STRICT) == set(builtin_specs()) - {"demo", "azure"}  # azure shares openai's capabilities, word for word


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_nothing_that_is_sent_is_refused(provider, asked, stream):
    gateway, model = provider
    made = (gateway.stream(model=model, **asked).response) if stream else gateway.create(model=model, **asked)
    assert made["status"] == "completed", made["error"]
    assert made["usage"]["input_tokens"] > 0
    if (asked.get("text") or {}).get("format"):
        assert output_text(made) == '{"a":1}'
    if asked.get("tool_choice") in ("required", {"type": "function", "name": "run"}):
        assert any(item["type"] == "function_call" for item in made["output"])
    if asked.get("tool_choice") == "none":
        assert all(item["type"] != "function_call" for item in made["output"])


@pytest.mark.parametrize("way", ["stored", "echoed", "echoed without reasoning"])
def test_a_tool_loop_of_three_rounds(provider, way):
    """Reasoning comes back as the upstream demands it, whichever way the client keeps the conversation."""
    gateway, model = provider
    history: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    sealed = {"store": False, "include": ["reasoning.encrypted_content"]} if way != "stored" else {}
    made = gateway.create(model=model, tools=[RUN], input=history, **sealed)
    for number in range(3):
        calls = [item for item in made["output"] if item["type"] == "function_call"]
        outputs = [{"type": "function_call_output", "call_id": call["call_id"], "output": "42"} for call in calls]
        new = [*outputs, {"role": "user", "content": f"again {number}"}]
        if way == "stored":
            made = gateway.stream(model=model, tools=[RUN], input=new, previous_response_id=made["id"]).response
        else:
            kept = [item for item in made["output"] if way == "echoed" or item["type"] != "reasoning"]
            history = [*history, *kept, *new]
            made = gateway.stream(model=model, tools=[RUN], input=history, **sealed).response
        assert made["status"] == "completed", made["error"]
