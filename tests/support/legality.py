"""What a strict Chat Completions server demands of a request; every test that builds one calls this."""

from __future__ import annotations

import json
import re
from typing import Any

ROLES = {"system", "developer", "user", "assistant", "tool"}
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def check_chat_request(chat: dict[str, Any]) -> None:
    """Roles, contents, answered calls, unique ids, arguments that are JSON objects, tools that are functions."""
    messages = chat["messages"]
    assert messages
    waiting: list[str] = []
    seen: set[str] = set()
    for message in messages:
        role = message["role"]
        assert role in ROLES
        if role == "tool":
            assert waiting, "a tool message without a call before it"
            assert message["tool_call_id"] == waiting.pop(0), "outputs stand in the order of the calls"
            assert message["content"] is not None
            continue
        assert not waiting, f"calls without an output: {waiting}"
        if role == "assistant":
            calls = message.get("tool_calls") or []
            assert message.get("content") or calls, "an assistant message that says nothing"
            for call in calls:
                assert call["type"] == "function"
                assert call["id"] and call["id"] not in seen, f"call id {call['id']!r} is used twice"
                seen.add(call["id"])
                assert NAME.fullmatch(call["function"]["name"])
                assert isinstance(json.loads(call["function"]["arguments"]), dict)
                waiting.append(call["id"])
        else:
            assert message["content"] is not None
            if isinstance(message["content"], list):
                assert message["content"]
                assert all(part["type"] in ("text", "image_url", "file", "video_url") for part in message["content"])
    assert not waiting, f"calls without an output: {waiting}"
    names = [tool["function"]["name"] for tool in chat.get("tools", ()) if tool["type"] == "function"]
    assert len(names) == len(set(names))
    for tool in chat.get("tools", ()):
        if tool["type"] == "function":
            assert NAME.fullmatch(tool["function"]["name"])
            assert tool["function"]["parameters"]["type"] == "object"
