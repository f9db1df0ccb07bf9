"""Lists of items as the API pages them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from bridge.errors import INVALID_PARAMETER, ServerError

from ..sessions.chain import input_items
from ..sessions.session import StoredResponseSession

Item = dict[str, Any]

DEFAULT_LIMIT = 20
LARGEST_LIMIT = 100
# Ids of items that came without one; the prefix is what the API's own ids have.
PREFIXES = {
    "message": "msg",
    "function_call": "fc",
    "function_call_output": "fco",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctco",
    "reasoning": "rs",
}


def listed_items(turn: StoredResponseSession) -> list[Item]:
    """A turn's own input in full form: every item with an id that stays the same, message content as a list."""
    return [_full(item, turn.id, index) for index, item in enumerate(input_items(turn.request))]


def _full(item: Item, response_id: str, index: int) -> Item:
    full = dict(item)
    kind = full.setdefault("type", "message")
    if not full.get("id"):
        digest = hashlib.sha256(f"{response_id}/{index}".encode()).hexdigest()[:24]
        full["id"] = f"{PREFIXES.get(kind, 'item')}_{digest}"
    if kind == "message":
        full.setdefault("status", "completed")
        if isinstance(full.get("content"), str):
            full["content"] = [_text_part(full["content"], full.get("role"))]
    return full


def _text_part(text: str, role: Any) -> Item:
    if role == "assistant":
        return {"type": "output_text", "text": text, "annotations": []}
    return {"type": "input_text", "text": text}


def page(items: Sequence[Item], args: Mapping[str, str]) -> dict[str, Any]:
    """One page: args are `order` (desc), `limit` (20), `after` and `before` (item ids).

    Raises ServerError INVALID_PARAMETER with the name of the argument.
    """
    order = args.get("order", "desc")
    if order not in ("asc", "desc"):
        raise ServerError(INVALID_PARAMETER, "order must be asc or desc", param="order")
    limit = _limit(args.get("limit"))
    ordered = list(items) if order == "asc" else list(reversed(items))
    start = _place(ordered, args, "after") + 1 if args.get("after") else 0
    end = _place(ordered, args, "before") if args.get("before") else len(ordered)
    window = ordered[start:end]
    shown = window[:limit] if not args.get("before") or args.get("after") else window[-limit:]
    return {
        "object": "list",
        "data": shown,
        "first_id": shown[0]["id"] if shown else "",
        "last_id": shown[-1]["id"] if shown else "",
        "has_more": len(window) > len(shown),
    }


def _limit(text: str | None) -> int:
    if text is None:
        return DEFAULT_LIMIT
    if not (text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= LARGEST_LIMIT):
        raise ServerError(INVALID_PARAMETER, f"limit must be a number from 1 to {LARGEST_LIMIT}", param="limit")
    return int(text)


def _place(items: Sequence[Item], args: Mapping[str, str], name: str) -> int:
    for place, item in enumerate(items):
        if item["id"] == args[name]:
            return place
    raise ServerError(INVALID_PARAMETER, f"{name} names no item of this list", param=name)
