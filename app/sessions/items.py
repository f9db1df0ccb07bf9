"""Items in the full form in which the API shows them: with an id, a status, and message content as a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .chain import input_items
from .ids import item_id
from .session import Item, StoredResponseSession

# What the ids of items that came without one begin with; as the API's own do.
PREFIXES = {
    "message": "msg",
    "function_call": "fc",
    "function_call_output": "fco",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctco",
    "shell_call": "sh",
    "shell_call_output": "sho",
    "local_shell_call": "lsh",
    "local_shell_call_output": "lsho",
    "apply_patch_call": "apc",
    "apply_patch_call_output": "apco",
    "tool_search_call": "tsc",
    "tool_search_output": "tso",
    "reasoning": "rs",
    "compaction": "cmp",
}
ONLY_ASKED = frozenset({"compaction_trigger"})  # say what is to be done, and are no part of a conversation
HAVE_STATUS = PREFIXES.keys() - {"reasoning", "compaction", "custom_tool_call"}


def listed_items(turn: StoredResponseSession) -> list[Item]:
    """A turn's own input. Ids that the client gave are kept; the others are the same each time."""

    def make_id(item: Item, kind: str, place: int) -> str:
        given = item.get("id")
        return given if isinstance(given, str) and given else item_id(prefix(kind), turn.id, place, of_input=True)

    return full_items(input_items(turn.request), make_id)


def turn_items(items: Iterable[Item], response_id: str) -> list[Item]:
    """A turn's input as it goes into a conversation, under ids that nothing else there has: clients repeat theirs."""
    full = full_items(items, lambda item, kind, place: item_id(prefix(kind), response_id, place, of_input=True))
    return [item for item in full if item["type"] not in ONLY_ASKED]


def full_items(items: Iterable[Item], make_id: Callable[[Item, str, int], str]) -> list[Item]:
    """make_id: from the item, its type and its place in the list."""
    return [_full(item, make_id, place) for place, item in enumerate(items)]


def prefix(kind: str) -> str:
    return PREFIXES.get(kind, "item")


def _full(item: Item, make_id: Callable[[Item, str, int], str], place: int) -> Item:
    kind = item.get("type") or "message"
    full = {**item, "type": kind, "id": make_id(item, kind, place)}
    if kind in HAVE_STATUS and not full.get("status"):
        full["status"] = "completed"
    if kind == "message":
        full["content"] = _parts(item.get("content"), item.get("role"))
    return full


def _parts(content: Any, role: Any) -> list[Any]:
    if not isinstance(content, str):
        return content or []
    if role == "assistant":
        return [{"type": "output_text", "text": content, "annotations": []}]
    return [{"type": "input_text", "text": content}]
