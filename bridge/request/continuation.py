"""What a request must fit to when it continues a response that is kept here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bridge.errors import INVALID_REQUEST, BridgeError

Item = Mapping[str, Any]

CALLS = frozenset({"function_call", "custom_tool_call", "shell_call", "local_shell_call", "apply_patch_call"})
OUTPUTS = frozenset(f"{call}_output" for call in CALLS)


def check_outputs(items: Sequence[Item], first_input: int) -> None:
    """Every output in the request's own input answers a call of the conversation, as OpenAI demands it too.

    Where a client sends the whole conversation itself the doctor makes a note of such an output instead, since that
    client would send it again for ever; here nothing of a refused request stays.

    Raises BridgeError INVALID_REQUEST.
    """
    called = frozenset(_call_ids(items))
    for index, item in enumerate(items[first_input:]):
        if item.get("type") in OUTPUTS and not called.intersection(_ids(item)):
            named = item.get("call_id") or item.get("id")
            raise BridgeError(
                INVALID_REQUEST,
                f"no tool call with the id {named!r} is in the conversation that previous_response_id continues",
                param=f"input[{index}].call_id",
            )


def _call_ids(items: Iterable[Item]) -> Iterable[str]:
    for item in items:
        if item.get("type") in CALLS:
            yield from _ids(item)


def _ids(item: Item) -> list[str]:
    """OpenAI's local_shell_call_output names its call in `id`; everything else does it in `call_id`."""
    names = ("call_id", "id") if str(item.get("type")).startswith("local_shell") else ("call_id",)
    return [item[name] for name in names if item.get(name)]
