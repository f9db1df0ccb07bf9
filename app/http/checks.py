"""Types of what lies below the top level of a request: items, content parts, tools, choices.

A table by item type instead of nested schemas: a history of a thousand items is checked on every turn, and this costs
a fiftieth. Only what the kernel relies on is checked; unknown fields and unknown item types pass (they are planned).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bridge.errors import INVALID_PARAMETER, ServerError

MAX_PARTS = 5_000  # content parts of one item
Check = Callable[[Any, str], None]


def invalid(path: str, expected: str, value: Any) -> ServerError:
    shown = type(value).__name__ if not isinstance(value, str) else repr(value[:40])
    return ServerError(INVALID_PARAMETER, f"{path} must be {expected}, not {JSON_NAMES.get(shown, shown)}", param=path)


JSON_NAMES = {
    "NoneType": "null", "dict": "an object", "list": "an array", "int": "a number", "float": "a number",
    "bool": "a boolean",
}  # fmt: skip


def string(value: Any, path: str) -> None:
    if not isinstance(value, str):
        raise invalid(path, "a string", value)


def obj(value: Any, path: str) -> None:
    if not isinstance(value, dict):
        raise invalid(path, "an object", value)


def array(value: Any, path: str) -> None:
    if not isinstance(value, list):
        raise invalid(path, "an array", value)


def boolean(value: Any, path: str) -> None:
    if not isinstance(value, bool):
        raise invalid(path, "a boolean", value)


def string_or_object(value: Any, path: str) -> None:
    if not isinstance(value, (str, dict)):
        raise invalid(path, "a string or an object", value)


def one_of(*words: str) -> Check:
    def check(value: Any, path: str) -> None:
        if value not in words:
            raise invalid(path, f"one of {', '.join(words)}", value)

    return check


def objects(value: Any, path: str) -> None:
    array(value, path)
    for index, entry in enumerate(value):
        if not isinstance(entry, dict):
            raise invalid(f"{path}[{index}]", "an object", entry)


def content(value: Any, path: str) -> None:
    """A string, or parts with a type."""
    if isinstance(value, str):
        return
    if not isinstance(value, list):
        raise invalid(path, "a string or an array of content parts", value)
    if len(value) > MAX_PARTS:
        raise ServerError(INVALID_PARAMETER, f"{path} has more than {MAX_PARTS} parts", param=path)
    for index, part in enumerate(value):
        at = f"{path}[{index}]"
        obj(part, at)
        kind = part.get("type")
        string(kind, f"{at}.type")
        for name, check in PART_FIELDS.get(kind, {}).items():
            if part.get(name) is not None:
                check(part[name], f"{at}.{name}")
        required = REQUIRED_IN_PART.get(kind)
        if required and part.get(required) is None:
            raise ServerError(INVALID_PARAMETER, f"{at}.{required} is required", param=f"{at}.{required}")


PART_FIELDS: dict[str, dict[str, Check]] = {
    "input_text": {"text": string},
    "output_text": {"text": string},
    "text": {"text": string},
    "summary_text": {"text": string},
    "reasoning_text": {"text": string},
    "refusal": {"refusal": string},
    "input_image": {"image_url": string_or_object, "file_id": string, "detail": string},
    "input_file": {"file_data": string, "file_id": string, "file_url": string, "filename": string},
}
REQUIRED_IN_PART = {"input_text": "text", "output_text": "text", "refusal": "refusal"}


def texts(value: Any, path: str) -> None:
    """Parts of reasoning: each with a text."""
    objects(value, path)
    for index, part in enumerate(value):
        if part.get("text") is not None:
            string(part["text"], f"{path}[{index}].text")


def shell_output(value: Any, path: str) -> None:
    """A string, or what each command wrote and how it ended."""
    if isinstance(value, str):
        return
    objects(value, path)
    for index, chunk in enumerate(value):
        for name, check in (("stdout", string), ("stderr", string), ("outcome", obj)):
            if chunk.get(name) is not None:
                check(chunk[name], f"{path}[{index}].{name}")


def carried_tools(value: Any, path: str) -> None:
    check_tools(value, path)


ITEM_FIELDS: dict[str, dict[str, Check]] = {
    "message": {"role": one_of("user", "assistant", "system", "developer"), "content": content},
    "function_call": {"name": string, "namespace": string},
    "function_call_output": {"output": content},
    "custom_tool_call": {"name": string, "input": string, "namespace": string},
    "custom_tool_call_output": {"output": content},
    "shell_call": {"action": obj},
    "shell_call_output": {"output": shell_output},
    "local_shell_call": {"action": obj},
    "local_shell_call_output": {"output": content},
    "apply_patch_call": {"operation": obj},
    "apply_patch_call_output": {"output": content},
    "reasoning": {
        "summary": texts,
        "content": texts,
        "encrypted_content": string,
        "reasoning_details": objects,
    },
    "tool_search_call": {"arguments": string_or_object},
    "tool_search_output": {"tools": carried_tools},
    "additional_tools": {"tools": carried_tools},
    "mcp_call": {"name": string, "server_label": string, "arguments": string},
    "agent_message": {"content": content},
    "item_reference": {"id": string},
    "compaction": {"encrypted_content": string},
}
REQUIRED_IN_ITEM: dict[str, tuple[str, ...]] = {
    "message": ("role", "content"),
    "function_call": ("name",),
    "function_call_output": ("output",),
    "custom_tool_call": ("name",),
    "custom_tool_call_output": ("output",),
    "item_reference": ("id",),
    "compaction": ("encrypted_content",),
}
# Parts of another role's kind are a mistake of the client that no upstream would understand (contract section 3).
FOREIGN_PARTS = {
    "assistant": frozenset({"input_image", "input_file"}),
    "user": frozenset({"refusal"}),
}


def check_input(value: Any) -> None:
    """`input`: a string or a list of items. Raises ServerError INVALID_PARAMETER with the path of the field."""
    if isinstance(value, str):
        return
    if not isinstance(value, list):
        raise invalid("input", "a string or an array of items", value)
    check_items(value, "input")


def check_items(value: Any, path: str = "items") -> None:
    array(value, path)
    for index, item in enumerate(value):
        check_item(item, f"{path}[{index}]")


def check_item(item: Any, at: str) -> None:
    obj(item, at)
    kind = item.get("type")
    if kind is None:
        if "role" in item:
            kind = "message"
        elif "id" in item:
            kind = "item_reference"
        else:
            raise ServerError(INVALID_PARAMETER, f"{at}.type is required", param=f"{at}.type")
    string(kind, f"{at}.type")
    for name in ("id", "call_id"):
        if item.get(name) is not None:
            string(item[name], f"{at}.{name}")
    for name in REQUIRED_IN_ITEM.get(kind, ()):
        if item.get(name) is None and not (name == "content" and item.get("role") == "assistant"):
            raise ServerError(INVALID_PARAMETER, f"{at}.{name} is required", param=f"{at}.{name}")
    for name, check in ITEM_FIELDS.get(kind, {}).items():
        if item.get(name) is not None:
            check(item[name], f"{at}.{name}")
    if kind == "message" and isinstance(item.get("content"), list):
        foreign = FOREIGN_PARTS.get(item["role"], frozenset())
        for index, part in enumerate(item["content"]):
            if part["type"] in foreign:
                path = f"{at}.content[{index}].type"
                raise ServerError(
                    INVALID_PARAMETER, f"{part['type']} is not possible in a message of role {item['role']}", param=path
                )


def search_filters(value: Any, path: str) -> None:
    obj(value, path)
    domains = value.get("allowed_domains")
    if domains is not None:
        array(domains, f"{path}.allowed_domains")
        for index, domain in enumerate(domains):
            string(domain, f"{path}.allowed_domains[{index}]")


SEARCH: dict[str, Check] = {"filters": search_filters, "user_location": obj, "search_context_size": string}
TOOL_FIELDS: dict[str, dict[str, Check]] = {
    "function": {"name": string, "description": string, "parameters": obj, "strict": boolean},
    "custom": {"name": string, "description": string, "format": obj},
    "namespace": {"name": string, "description": string, "tools": array},
    "tool_search": {"description": string, "parameters": obj},
    "mcp": {"server_label": string},
    "web_search": SEARCH,
    "web_search_preview": SEARCH,
}
NAMED_TOOLS = frozenset({"function", "custom", "namespace"})


def check_tools(tools: Any, path: str = "tools") -> None:
    array(tools, path)
    for index, tool in enumerate(tools):
        at = f"{path}[{index}]"
        obj(tool, at)
        if tool.get("type") is None:
            raise ServerError(INVALID_PARAMETER, f"{at}.type is required", param=f"{at}.type")
        string(tool["type"], f"{at}.type")
        if tool["type"] in NAMED_TOOLS and not tool.get("name"):
            raise ServerError(INVALID_PARAMETER, f"{at}.name is required", param=f"{at}.name")
        for name, check in TOOL_FIELDS.get(tool["type"], {}).items():
            if tool.get(name) is not None:
                check(tool[name], f"{at}.{name}")
        if tool["type"] == "namespace":
            check_tools(tool.get("tools") or [], f"{at}.tools")


CHOICES = one_of("auto", "none", "required")


def check_tool_choice(choice: Any) -> None:
    if isinstance(choice, str):
        return CHOICES(choice, "tool_choice")
    obj(choice, "tool_choice")
    string(choice.get("type"), "tool_choice.type")
    if choice["type"] in ("function", "custom"):
        string(choice.get("name"), "tool_choice.name")
    if choice["type"] == "allowed_tools":
        objects(choice.get("tools"), "tool_choice.tools")
        if choice.get("mode") is not None:
            CHOICES(choice["mode"], "tool_choice.mode")


def check_text(text: Any) -> None:
    obj(text, "text")
    if text.get("verbosity") is not None:
        one_of("low", "medium", "high")(text["verbosity"], "text.verbosity")
    form = text.get("format")
    if form is None:
        return
    obj(form, "text.format")
    one_of("text", "json_object", "json_schema")(form.get("type"), "text.format.type")
    if form["type"] == "json_schema":
        string(form.get("name"), "text.format.name")
        if not isinstance(form.get("schema"), dict):
            raise invalid("text.format.schema", "a JSON Schema object", form.get("schema"))
        if form.get("strict") is not None:
            boolean(form["strict"], "text.format.strict")
        if form.get("description") is not None:
            string(form["description"], "text.format.description")


def check_reasoning(reasoning: Any) -> None:
    obj(reasoning, "reasoning")
    for name in ("effort", "summary"):
        if reasoning.get(name) is not None:
            string(reasoning[name], f"reasoning.{name}")


def check_conversation(value: Any) -> None:
    string_or_object(value, "conversation")
    if isinstance(value, dict):
        string(value.get("id"), "conversation.id")


def check_context_management(value: Any) -> None:
    objects(value, "context_management")
    for index, entry in enumerate(value):
        at = f"context_management[{index}]"
        string(entry.get("type"), f"{at}.type")
        threshold = entry.get("compact_threshold")
        if threshold is not None and (isinstance(threshold, bool) or not isinstance(threshold, int) or threshold < 1):
            raise invalid(f"{at}.compact_threshold", "a whole number of at least 1", threshold)
