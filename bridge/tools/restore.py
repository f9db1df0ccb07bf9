"""A finished call of the model, turned back into the item of the tool that the client declared.

Each restorer takes the arguments text and returns the fields that make the item, or None when the text cannot be
understood as that tool's: the call then stays a plain function call, never an error (design, decision D6).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from bridge.tools.identity import ToolIdentity

Fields = dict[str, Any]


def parse_object(text: str) -> dict[str, Any] | None:
    """The JSON object that the text is, {} for an empty text, None for anything else."""
    if not text.strip():
        return {}
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def restore_call(identity: ToolIdentity, arguments: str) -> Fields | None:
    """type and own fields of the item (without id, call_id, status), or None: see above."""
    restorer = RESTORERS.get(identity.type)
    parsed = parse_object(arguments)
    if restorer is None or parsed is None:
        return None
    return restorer(parsed)


def _shell(arguments: dict[str, Any]) -> Fields | None:
    commands = arguments.get("commands", arguments.get("command"))
    if isinstance(commands, str):
        commands = [commands]
    if not _is_strings(commands):
        return None
    action = {
        "commands": commands,
        "timeout_ms": _number(arguments.get("timeout_ms")),
        "max_output_length": _number(arguments.get("max_output_length")),
    }
    return {"type": "shell_call", "action": action}


def _local_shell(arguments: dict[str, Any]) -> Fields | None:
    command = arguments.get("command")
    if isinstance(command, str):
        command = ["bash", "-lc", command]
    env = arguments.get("env") or {}
    if not _is_strings(command) or not isinstance(env, dict):
        return None
    action: Fields = {"type": "exec", "command": command, "env": {key: str(value) for key, value in env.items()}}
    action["timeout_ms"] = _number(arguments.get("timeout_ms"))
    for key in ("working_directory", "user"):
        action[key] = arguments.get(key) if isinstance(arguments.get(key), str) else None
    return {"type": "local_shell_call", "action": action}


def _apply_patch(arguments: dict[str, Any]) -> Fields | None:
    operation = arguments.get("operation", arguments)  # some models nest it as the item does
    if not isinstance(operation, dict):
        return None
    kind, path, diff = operation.get("type"), operation.get("path"), operation.get("diff")
    if not isinstance(path, str):
        return None
    if kind == "delete_file":
        return {"type": "apply_patch_call", "operation": {"type": kind, "path": path}}
    if kind not in ("create_file", "update_file") or not isinstance(diff, str):
        return None
    return {"type": "apply_patch_call", "operation": {"type": kind, "path": path, "diff": diff}}


def _tool_search(arguments: dict[str, Any]) -> Fields | None:
    return {"type": "tool_search_call", "execution": "client", "arguments": arguments}


RESTORERS: dict[str, Callable[[dict[str, Any]], Fields | None]] = {
    "shell": _shell,
    "local_shell": _local_shell,
    "apply_patch": _apply_patch,
    "tool_search": _tool_search,
}


def _is_strings(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, str) for entry in value)


def _number(value: Any) -> int | None:
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
