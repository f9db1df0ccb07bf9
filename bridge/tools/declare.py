"""Tool declarations for the upstream: each requested tool as one Chat Completions function."""

from __future__ import annotations

from typing import Any

from bridge.plan.diagnostics import Diagnostics
from bridge.protocol.chat import ChatTool
from bridge.spec import Capabilities
from bridge.tools import builtin
from bridge.tools.identity import ToolIdentity


def declare(identity: ToolIdentity, caps: Capabilities, notes: Diagnostics) -> ChatTool:
    """The function that stands for a tool. Key order is fixed: prompt caches compare bytes."""
    tool = identity.tool
    if identity.type == "function":
        description = tool.get("description")
        parameters = clean_schema(tool.get("parameters"), f"tools.{identity.name}.parameters", notes)
    elif identity.type == "custom":
        description = _custom_description(tool)
        parameters = _custom_parameters(tool)
    else:
        fixed = builtin.BY_TYPE[identity.type]
        description = tool.get("description") or fixed["description"]
        asked = tool.get("parameters")
        parameters = clean_schema(asked, identity.name, notes) if isinstance(asked, dict) else fixed["parameters"]
    function: dict[str, Any] = {"name": identity.provider_name}
    if description:
        function["description"] = description
    function["parameters"] = parameters
    if tool.get("strict") and identity.type == "function":
        if caps.strict_tools:
            function["strict"] = True
        else:
            notes.ignored(f"tools.{identity.name}.strict", "this model does not enforce tool schemas", "info")
    return {"type": "function", "function": function}  # type: ignore[typeddict-item]


def clean_schema(schema: dict[str, Any] | None, subject: str, notes: Diagnostics) -> dict[str, Any]:
    """A parameter schema that strict upstreams accept: an object at the top, no `$schema`. Else left as it is.

    Only the top level is touched, and only where upstreams are known to refuse the whole request because of it.
    """
    if not schema:
        return {"type": "object", "properties": {}}
    cleaned = schema
    if "$schema" in cleaned or "$id" in cleaned:
        cleaned = {key: value for key, value in cleaned.items() if key not in ("$schema", "$id")}
        notes.degraded(subject, "$schema and $id are left out: upstreams refuse them", "info")
    if cleaned.get("type") != "object":
        if "type" in cleaned and not _allows_object(cleaned["type"]):
            # A function's arguments are an object; a schema that says otherwise can never be met upstream.
            notes.degraded(subject, f"top-level type {cleaned['type']!r} → an object that holds the value", "warn")
            return {"type": "object", "properties": {"value": cleaned}, "required": ["value"]}
        cleaned = {"type": "object", **{key: value for key, value in cleaned.items() if key != "type"}}
        notes.degraded(subject, "top-level type: object is made explicit", "info")
    if "properties" not in cleaned and not any(key in cleaned for key in ("anyOf", "oneOf", "allOf", "$ref")):
        cleaned = {**cleaned, "properties": {}}
    return cleaned


def _allows_object(kind: Any) -> bool:
    return isinstance(kind, list) and "object" in kind


def _custom_description(tool: dict[str, Any]) -> str:
    """The tool's own text, then its grammar: the model has no other way to learn the format."""
    parts = [tool["description"]] if tool.get("description") else []
    form = tool.get("format") or {}
    if form.get("type") == "grammar":
        parts.append(
            f"The text in `{builtin.CUSTOM_INPUT}` must follow this {form.get('syntax', 'lark')} grammar:\n"
            f"{form.get('definition', '')}"
        )
    return "\n\n".join(parts)


def _custom_parameters(tool: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            builtin.CUSTOM_INPUT: {
                "type": "string",
                "description": f"The whole input of {tool['name']} as plain text, without wrapping or code fence.",
            }
        },
        "required": [builtin.CUSTOM_INPUT],
        "additionalProperties": False,
    }
