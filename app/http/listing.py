"""Lists of items as the API pages them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bridge.errors import INVALID_PARAMETER, ServerError

Item = dict[str, Any]

DEFAULT_LIMIT = 20
LARGEST_LIMIT = 100


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
    return item_list(shown, has_more=len(window) > len(shown))


def item_list(items: Sequence[Item], has_more: bool) -> dict[str, Any]:
    return {
        "object": "list",
        "data": items,
        "first_id": items[0]["id"] if items else "",
        "last_id": items[-1]["id"] if items else "",
        "has_more": has_more,
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
