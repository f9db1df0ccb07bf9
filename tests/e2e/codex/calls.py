"""What the scripted model calls: (id, name, arguments) as the fake upstream takes them."""

from __future__ import annotations

import json
from typing import Any

Call = tuple[str, str, str]


def command(call_id: str, line: str) -> Call:
    return call_id, "exec_command", json.dumps({"cmd": line})


def patch(call_id: str, *lines: str) -> Call:
    """A free-form patch, in the one property of the function that stands for it."""
    text = "\n".join(("*** Begin Patch", *lines, "*** End Patch\n"))
    return call_id, "apply_patch", json.dumps({"input": text})


def fragment(index: int | None, call_id: str | None = None, name: str | None = None, arguments: str = "") -> Any:
    """One entry of `delta.tool_calls`; what is None is left out."""
    function = {"name": name, "arguments": arguments} if name is not None else {"arguments": arguments}
    entry: dict[str, Any] = {"index": index, "id": call_id, "type": "function", "function": function}
    return {key: value for key, value in entry.items() if value is not None}
