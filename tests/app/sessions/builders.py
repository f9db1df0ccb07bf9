"""Requests, Response objects and sessions as the gateway makes them."""

from __future__ import annotations

from typing import Any

from app.sessions.ids import new_response_id
from app.sessions.session import StoredResponseSession, make_session
from app.sessions.store import SessionStore

OWNER = "hash of key A"
STRANGER = "hash of key B"

TOOL = {
    "type": "function",
    "name": "read_file",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}


def message(text: str, item_id: str = "msg_1") -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"id": item_id, "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def response(response_id: str, previous: str | None = None, **fields: Any) -> dict[str, Any]:
    """A Response object with all the fields of the contract."""
    return {
        "id": response_id,
        "object": "response",
        "created_at": 1_700_000_000,
        "completed_at": 1_700_000_002,
        "status": "completed",
        "incomplete_details": None,
        "error": None,
        "model": "gpt-5.5",
        "previous_response_id": previous,
        "instructions": None,
        "output": [message(f"answer of {response_id}")],
        "tools": [],
        "tool_choice": "auto",
        "truncation": "disabled",
        "parallel_tool_calls": True,
        "text": {"format": {"type": "text"}},
        "temperature": 1.0,
        "top_p": 1.0,
        "presence_penalty": 0,
        "frequency_penalty": 0,
        "top_logprobs": 0,
        "reasoning": None,
        "usage": {
            "input_tokens": 11,
            "output_tokens": 7,
            "total_tokens": 18,
            "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
        "max_output_tokens": None,
        "max_tool_calls": None,
        "store": True,
        "background": False,
        "service_tier": "default",
        "metadata": {},
        "safety_identifier": None,
        "prompt_cache_key": None,
        **fields,
    }


def session(
    response_id: str,
    previous: str | None = None,
    *,
    owner: str = OWNER,
    request: dict[str, Any] | None = None,
    **fields: Any,
) -> StoredResponseSession:
    """request: of the body, beside its model and input; fields: of the Response object."""
    body = {"model": "gpt-5.5", "input": f"question of {response_id}", **(request or {})}
    return make_session(body, response(response_id, previous, **fields), owner)


def save_chain(store: SessionStore, length: int, *, owner: str = OWNER) -> list[str]:
    """The ids of `length` turns that were saved one after the other, oldest first."""
    ids: list[str] = []
    for _ in range(length):
        parent = ids[-1] if ids else None
        ids.append(new_response_id(parent))
        store.save(session(ids[-1], parent, owner=owner))
    return ids
