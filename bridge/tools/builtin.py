"""Function schemas for tools that the Responses API knows by type alone, when they are degraded to functions.

Field names are those of the restored items (contract section 10), so that a call's arguments are the item's own data.
"""

from __future__ import annotations

from typing import Any

SHELL: dict[str, Any] = {
    "name": "shell",
    "description": "Run shell commands on the user's machine, one after the other, and get their output.",
    "parameters": {
        "type": "object",
        "properties": {
            "commands": {"type": "array", "items": {"type": "string"}, "description": "Command lines, in order."},
            "timeout_ms": {"type": "integer", "description": "Most milliseconds that each command may take."},
            "max_output_length": {"type": "integer", "description": "Most characters of output to return."},
        },
        "required": ["commands"],
        "additionalProperties": False,
    },
}

LOCAL_SHELL: dict[str, Any] = {
    "name": "local_shell",
    "description": "Run one program on the user's machine and get its output.",
    "parameters": {
        "type": "object",
        "properties": {
            "command": {
                "type": "array",
                "items": {"type": "string"},
                "description": 'The program and its arguments, e.g. ["bash", "-lc", "ls"].',
            },
            "working_directory": {"type": "string", "description": "Directory to run in."},
            "timeout_ms": {"type": "integer", "description": "Most milliseconds that the program may take."},
            "env": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "Environment variables to set.",
            },
            "user": {"type": "string", "description": "User to run as."},
        },
        "required": ["command"],
        "additionalProperties": False,
    },
}

APPLY_PATCH: dict[str, Any] = {
    "name": "apply_patch",
    "description": "Create, change or delete one file of the user's project.",
    "parameters": {
        "type": "object",
        "properties": {
            "type": {
                "type": "string",
                "enum": ["create_file", "update_file", "delete_file"],
                "description": "What to do with the file.",
            },
            "path": {"type": "string", "description": "Path of the file, relative to the project."},
            "diff": {
                "type": "string",
                "description": "V4A diff: '+' lines for a new file; '@@' hunks of ' ', '-' and '+' lines for a change."
                " Left out for delete_file.",
            },
        },
        "required": ["type", "path"],
        "additionalProperties": False,
    },
}

TOOL_SEARCH: dict[str, Any] = {
    "name": "tool_search",
    "description": "Search for further tools that are not declared yet; those found can be called afterwards.",
    "parameters": {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "What the tool should be able to do."}},
        "required": ["query"],
    },
}

BY_TYPE = {"shell": SHELL, "local_shell": LOCAL_SHELL, "apply_patch": APPLY_PATCH, "tool_search": TOOL_SEARCH}

CUSTOM_INPUT = "input"  # the one property of a function that stands for a custom tool
