"""Whatever a client sends, it is answered or refused by name: never a 500, never silence."""

from __future__ import annotations

import copy
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.client import check_error, read_events
from tests.support.fake_upstream import answer
from tests.support.invariants import TERMINALS

FUNCTION = {"type": "function", "name": "run", "description": "d", "strict": True,
            "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}  # fmt: skip
WHOLE: dict[str, Any] = {
    "model": "m", "instructions": "i", "stream": False, "store": True, "temperature": 0.5, "top_p": 0.5,
    "max_output_tokens": 20, "metadata": {"a": "b"}, "include": ["reasoning.encrypted_content"], "user": "u",
    "reasoning": {"effort": "low", "summary": "auto"}, "parallel_tool_calls": True, "truncation": "auto",
    "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": False}, "verbosity": "low"},
    "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "run"}]},
    "tools": [FUNCTION, {"type": "custom", "name": "exec", "format": {"type": "grammar", "syntax": "lark", "definition": "x"}},
              {"type": "namespace", "name": "n", "description": "d", "tools": [FUNCTION]}, {"type": "shell"},
              {"type": "web_search", "user_location": {"type": "approximate"}, "filters": {"allowed_domains": ["a"]}},
              {"type": "mcp", "server_label": "s"}, {"type": "tool_search", "execution": "client"}],
    "input": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"},
                                                        {"type": "input_image", "image_url": "data:image/png;base64,AA=="},
                                                        {"type": "input_file", "filename": "f", "file_data": "data:text/plain;base64,YQ=="}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "b", "annotations": []}, {"type": "refusal", "refusal": "no"}]},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "s"}], "content": [{"type": "reasoning_text", "text": "t"}],
         "encrypted_content": "x", "reasoning_details": [{"type": "reasoning.text", "text": "x"}]},
        {"type": "function_call", "call_id": "c1", "name": "run", "namespace": "n", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "o"}]},
        {"type": "custom_tool_call", "call_id": "c2", "name": "exec", "input": "x"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "y"},
        {"type": "shell_call", "call_id": "c3", "action": {"commands": ["ls"], "timeout_ms": 1}},
        {"type": "shell_call_output", "call_id": "c3", "output": [{"stdout": "a", "stderr": "b", "outcome": {"type": "exit", "exit_code": 0}}]},
        {"type": "local_shell_call", "call_id": "c4", "action": {"type": "exec", "command": ["ls"], "env": {}}},
        {"type": "local_shell_call_output", "id": "c4", "output": "x"},
        {"type": "apply_patch_call", "call_id": "c5", "operation": {"type": "update_file", "path": "a", "diff": "d"}},
        {"type": "apply_patch_call_output", "call_id": "c5", "status": "completed", "output": "o"},
        {"type": "tool_search_call", "call_id": "c6", "execution": "client", "arguments": {"query": "q"}},
        {"type": "tool_search_output", "call_id": "c6", "execution": "client", "tools": [{"type": "namespace", "name": "x", "tools": [FUNCTION]}]},
        {"type": "additional_tools", "role": "developer", "tools": [FUNCTION, {"type": "custom", "name": "z"}]},
        {"type": "agent_message", "author": "a", "recipient": "b", "content": [{"type": "input_text", "text": "x"}]},
        {"type": "mcp_call", "id": "m", "server_label": "s", "name": "n", "arguments": "{}", "output": "o"},
        {"type": "web_search_call", "id": "w", "action": {"type": "search"}},
    ],
}  # fmt: skip


def places(value: Any, path: tuple = ()) -> list[tuple]:
    """Every path into the body."""
    found = [path] if path else []
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        found += places(inner, (*path, step))
    return found


PLACES = places(WHOLE)
JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.floats(allow_nan=False, allow_infinity=False), st.just(""),
    st.just("x"), st.just([]), st.just({}), st.just([{}]), st.just([[]]), st.just([None]), st.just({"type": 5}),
    st.just({"type": "function"}), st.just([{"type": "input_text", "text": None}]), st.just("data:,"), st.just("\x00😀"),
)  # fmt: skip


def changed(changes: list[tuple[tuple, Any]]) -> dict[str, Any]:
    body = copy.deepcopy(WHOLE)
    for path, junk in changes:
        inner: Any = body
        try:
            for step in path[:-1]:
                inner = inner[step]
            inner[path[-1]] = copy.deepcopy(junk)
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took the place away
    return body


def answered(gateway, body: dict[str, Any]) -> None:
    data = orjson.dumps(body, option=orjson.OPT_PASSTHROUGH_SUBCLASS)
    reply = gateway.client.post("/v1/responses", data=data)
    if reply.status_code == 200 and reply.mimetype == "text/event-stream":
        assert read_events(reply.get_data())[-1]["type"] in TERMINALS
    elif reply.status_code != 200:
        error = check_error(reply, 400)
        assert error["param"], error


@pytest.fixture
def shared_gateway(make_gateway, upstream):
    upstream.default = answer("{}")  # keeps every contract that the body may ask for
    return make_gateway(logging={"level": "error"})


FUZZ = settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FUZZ
@given(st.lists(st.tuples(st.sampled_from(PLACES), JUNK), min_size=1, max_size=3))
def test_junk_anywhere_is_refused_by_name_or_understood(shared_gateway, changes):
    answered(shared_gateway, changed(changes))


@FUZZ
@given(st.sampled_from(PLACES), JUNK)
def test_junk_in_a_stream_too(shared_gateway, path, junk):
    body = changed([(path, junk)])
    if body.get("stream") is False:
        body["stream"] = True
    answered(shared_gateway, body)


@pytest.mark.parametrize("path", PLACES, ids=lambda path: ".".join(map(str, path)))
def test_every_place_as_a_number(shared_gateway, path):
    answered(shared_gateway, changed([(path, 5)]))
