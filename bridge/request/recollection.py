"""Reasoning that clients do not send back, although the model refuses its own calls without it.

An answer's reasoning is remembered under each of its calls; a call that comes back without any finds it again. What
does the remembering is the app's business: here is only what is kept, and under which name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson

from bridge.request.entries import Thought
from bridge.request.items import thought_of

Item = Mapping[str, Any]
Unseal = Callable[[str], dict[str, Any] | None]

# Item type → the field that says what is called, beside the name.
CALLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "shell_call": "action",
    "local_shell_call": "action",
    "apply_patch_call": "operation",
    "tool_search_call": "arguments",
}


def reasoning_by_call(output: Iterable[Item], unseal: Unseal) -> tuple[Thought, list[Item]] | None:
    """What an answer thought, and the calls it made; None unless it did both."""
    output = list(output)
    calls = [item for item in output if item.get("type") in CALLS and item.get("call_id")]
    thoughts = [thought for item in output if (thought := _thought(item, unseal))] if calls else []
    if not thoughts:
        return None
    text = "\n\n".join(thought.text for thought in thoughts if thought.text)
    return Thought(text, [detail for thought in thoughts for detail in thought.details]), calls


def calls_without_reasoning(items: Iterable[Item], unseal: Unseal) -> list[Item]:
    """The calls of assistant messages to be (as the doctor groups them) that hold no reasoning."""
    found: list[Item] = []
    group: list[Item] = []
    thinks = False
    for item in items:
        kind = item.get("type") or "message"
        if kind in CALLS:
            group.append(item)
        elif kind == "reasoning":
            thinks = thinks or _thought(item, unseal) is not None
        elif not (kind == "message" and item.get("role") == "assistant"):
            found += [] if thinks else group
            group, thinks = [], False
    return found + ([] if thinks else group)


def call_name(call: Item) -> bytes:
    """Tells a call from all others. The call_id alone does not: some models number the calls of each conversation.

    Clients parse arguments and write them anew: the order of keys, blanks and nulls do not count.
    """
    said = call.get(CALLS[call["type"]])
    identity = [call.get("call_id"), call.get("namespace"), call.get("name")]
    try:
        if isinstance(said, str) and call["type"] != "custom_tool_call":
            said = orjson.loads(said)
        return orjson.dumps([*identity, _without_nulls(said)], option=orjson.OPT_SORT_KEYS)
    except (ValueError, TypeError, RecursionError):  # no JSON, or nested deeper than can be written again
        return orjson.dumps([*identity, said if isinstance(said, str) else None])


def _thought(item: Item, unseal: Unseal) -> Thought | None:
    if item.get("type") != "reasoning":
        return None
    sealed = item.get("encrypted_content")
    return thought_of(item, unseal(sealed) if sealed else None)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value
