"""Responses items → entries of a conversation. One reader per item type; the table at the end is the whole list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from bridge.errors import UNSUPPORTED_INPUT, BridgeError
from bridge.plan.diagnostics import Diagnostics
from bridge.request.content import TEXT_PARTS, chat_parts, joined_text
from bridge.request.entries import Answered, Called, Entry, Output, Said, Thought
from bridge.spec import Capabilities
from bridge.tools.builtin import CUSTOM_INPUT
from bridge.tools.identity import IdentityMap

Item = Mapping[str, Any]
UnknownItems = Literal["text", "drop", "reject"]
INSTRUCTION_ROLES = frozenset({"system", "developer"})
COMPACTION_HEADER = "Summary of the conversation so far:"


@dataclass(frozen=True, slots=True)
class Reading:
    """What readers need beside the item.

    unseal  opens `encrypted_content` that this gateway made → its payload; None for a foreign or broken one
    """

    caps: Capabilities
    identities: IdentityMap
    notes: Diagnostics
    unseal: Callable[[str], dict[str, Any] | None]
    unknown_items: UnknownItems = "text"


Reader = Callable[[Item, str, Reading], Iterable[Entry]]


def read_items(items: Iterable[Item], first_input: int, reading: Reading, superseded: int = 0) -> Iterator[Entry]:
    """items: history, then the request's input, which begins at index `first_input` (for paths in diagnostics).

    superseded: how many items at the front a compaction stands for; only instructions are read of them.
    """
    for index, item in enumerate(items):
        if index >= superseded and (plain := plain_message(item)) is not None:
            yield plain
            continue
        path = f"input[{index - first_input}]" if index >= first_input else f"history[{index}]"
        kind = item.get("type") or ("message" if "role" in item else "")
        if index >= superseded or (kind == "message" and item.get("role") in INSTRUCTION_ROLES):
            yield from READERS.get(kind, _unknown)(item, path, reading)


def superseded_by_compaction(items: Sequence[Item]) -> int:
    """How many items stand before the last compaction."""
    places = [place for place, item in enumerate(items) if item.get("type") == "compaction"]
    return places[-1] if places else 0


def plain_message(item: Item) -> Entry | None:
    """A message of one piece of text, as nearly all of a history are: the same as _message reads, in a third of the
    time. None for any other item."""
    content = item.get("content")
    if item.get("type") != "message" or not isinstance(content, list) or len(content) != 1:
        return None
    text = content[0].get("text")
    if not text or content[0].get("type") not in TEXT_PARTS:
        return None
    role = item.get("role", "user")
    return Answered(text) if role == "assistant" else Said(role, [{"type": "text", "text": text}])


def _message(item: Item, path: str, reading: Reading) -> Iterable[Entry]:
    parts = chat_parts(item.get("content"), f"{path}.content", reading.caps, reading.notes)
    if item.get("role") == "assistant":
        text = joined_text(parts)
        return [Answered(text)] if text else []
    return [Said(item.get("role", "user"), parts)] if parts else []


def _reasoning(item: Item, path: str, reading: Reading) -> Iterable[Entry]:
    sealed = item.get("encrypted_content")
    payload = reading.unseal(sealed) if sealed else None
    if sealed and payload is None:
        reading.notes.ignored(f"{path}.encrypted_content", "not made here, or by a key that is gone", "info")
    thought = thought_of(item, payload)
    return [thought] if thought else []


def thought_of(item: Item, payload: Mapping[str, Any] | None) -> Thought | None:
    """The full text, from wherever this client kept it: raw content, our envelope, or the summary.

    payload: what the envelope in `encrypted_content` holds; None where there is none that can be opened.
    """
    details = (payload or {}).get("details") or list(item.get("reasoning_details") or ())
    text = "".join(part.get("text") or "" for part in item.get("content") or ())
    text = text or (payload or {}).get("text") or ""
    text = text or "\n\n".join(part.get("text") or "" for part in item.get("summary") or ())
    return Thought(text, details) if text or details else None


def _function_call(item: Item, path: str, reading: Reading) -> Iterable[Entry]:
    name = reading.identities.provider_name("function", item.get("name") or "", item.get("namespace"))
    arguments = item.get("arguments")
    if not isinstance(arguments, str):  # seen in stored histories: the object itself
        arguments = "" if arguments is None else _dump(arguments)
    return [Called(item.get("call_id") or "", name, arguments, path)]


def _custom_call(item: Item, path: str, reading: Reading) -> Iterable[Entry]:
    name = reading.identities.provider_name("custom", item.get("name") or "", item.get("namespace"))
    return [Called(item.get("call_id") or "", name, _dump({CUSTOM_INPUT: item.get("input") or ""}), path)]


def _builtin_call(kind: str, field: str) -> Reader:
    """A call whose item holds its data in `field`: the arguments are those of the degraded function (builtin.py)."""

    def read(item: Item, path: str, reading: Reading) -> Iterable[Entry]:
        data = item.get(field)
        arguments = {key: value for key, value in data.items() if value is not None} if isinstance(data, dict) else {}
        if kind == "local_shell":
            arguments.pop("type", None)  # always "exec"
        name = reading.identities.provider_name(kind, kind)
        return [Called(item.get("call_id") or "", name, _dump(arguments), path)]

    return read


def _output(item: Item, path: str, reading: Reading) -> Iterable[Entry]:
    parts = chat_parts(item.get("output"), f"{path}.output", reading.caps, reading.notes)
    return [Output(item.get("call_id") or "", parts, path)]


def _shell_output(item: Item, path: str, reading: Reading) -> Iterable[Entry]:
    chunks = item.get("output")
    if not isinstance(chunks, list):
        return _output(item, path, reading)
    text = "\n".join(_shell_chunk(chunk) for chunk in chunks)
    return [Output(item.get("call_id") or "", [{"type": "text", "text": text}], path)]


def _shell_chunk(chunk: Mapping[str, Any]) -> str:
    outcome = chunk.get("outcome") or {}
    end = "timed out" if outcome.get("type") == "timeout" else f"exit code {outcome.get('exit_code', 'unknown')}"
    streams = [chunk.get("stdout") or "", f"[stderr]\n{chunk['stderr']}" if chunk.get("stderr") else ""]
    return "\n".join(part for part in (*streams, f"[{end}]") if part)


def _local_shell_output(item: Item, path: str, reading: Reading) -> Iterable[Entry]:
    # OpenAI's item names the call in `id`; newer clients also give call_id.
    parts = chat_parts(item.get("output"), f"{path}.output", reading.caps, reading.notes)
    return [Output(item.get("call_id") or item.get("id") or "", parts, path)]


def _patch_output(item: Item, path: str, reading: Reading) -> Iterable[Entry]:
    text = f"[{item.get('status') or 'completed'}]"
    if item.get("output"):
        text += f"\n{joined_text(chat_parts(item['output'], f'{path}.output', reading.caps, reading.notes))}"
    return [Output(item.get("call_id") or "", [{"type": "text", "text": text}], path)]


def _tool_search_call(item: Item, path: str, reading: Reading) -> Iterable[Entry]:
    if item.get("execution") == "server" or not item.get("call_id"):
        return []
    arguments = item.get("arguments")
    text = arguments if isinstance(arguments, str) else _dump(arguments or {})
    return [Called(item["call_id"], reading.identities.provider_name("tool_search", "tool_search"), text, path)]


def _tool_search_output(item: Item, path: str, reading: Reading) -> Iterable[Entry]:
    if item.get("execution") == "server" or not item.get("call_id"):
        return []
    found = [_dump(_brief(tool)) for tool in item.get("tools") or () if isinstance(tool, dict)]
    text = "Found tools, which can be called now:\n" + "\n".join(found) if found else "No tool was found."
    return [Output(item["call_id"], [{"type": "text", "text": text}], path)]


def _brief(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Name and purpose; the schemas are declared in `tools`."""
    brief = {key: tool[key] for key in ("name", "description") if tool.get(key)}
    if tool.get("tools"):
        brief["tools"] = [_brief(member) for member in tool["tools"] if isinstance(member, dict)]
    return brief


def _mcp_call(item: Item, path: str, reading: Reading) -> Iterable[Entry]:
    """A call that OpenAI's server ran: call and output in one item."""
    name = reading.identities.provider_name("function", item.get("name") or "mcp", item.get("server_label"))
    call_id = item.get("id") or path
    result = item.get("output") if item.get("output") is not None else item.get("error")
    text = result if isinstance(result, str) else _dump(result)
    arguments = item.get("arguments") or ""
    return [Called(call_id, name, arguments, path), Output(call_id, [{"type": "text", "text": text}], path)]


def _agent_message(item: Item, path: str, reading: Reading) -> Iterable[Entry]:
    parts = chat_parts(item.get("content"), f"{path}.content", reading.caps, reading.notes)
    header = f"[Message from agent {item.get('author') or 'unknown'} to {item.get('recipient') or 'unknown'}]"
    return [Said("user", [{"type": "text", "text": header}, *parts])]


def _compaction(item: Item, path: str, reading: Reading) -> Iterable[Entry]:
    payload = reading.unseal(item.get("encrypted_content") or "")
    if payload is None:
        raise BridgeError(
            UNSUPPORTED_INPUT,
            f"{path} is a compacted conversation that cannot be opened here: it was made elsewhere or its key is gone",
            param=path,
            client_code="invalid_encrypted_content",
        )
    return [Said("user", [{"type": "text", "text": f"{COMPACTION_HEADER}\n\n{payload.get('summary') or ''}"}])]


def _hosted_call(item: Item, path: str, reading: Reading) -> Iterable[Entry]:
    """The trace of a tool that ran elsewhere; its result stands in the assistant's text."""
    reading.notes.ignored(path, f"{item['type']} is a trace of a hosted tool", "info")
    return []


def _carried_tools(item: Item, path: str, reading: Reading) -> Iterable[Entry]:
    return []  # its tools are declared, see tools/plan.py


def _reference(item: Item, path: str, reading: Reading) -> Iterable[Entry]:
    # References that can be resolved were replaced before the kernel was asked.
    named = str(item.get("id"))[:80]
    raise BridgeError(
        UNSUPPORTED_INPUT,
        f"no stored item has the id {named!r}; send the item itself, or the previous_response_id it came with",
        param=f"{path}.id",
    )


def _unknown(item: Item, path: str, reading: Reading) -> Iterable[Entry]:
    kind = item.get("type") or "an item without type"
    if reading.unknown_items == "reject":
        raise BridgeError(UNSUPPORTED_INPUT, f"items of type {kind} are not known here", param=f"{path}.type")
    if reading.unknown_items == "drop":
        reading.notes.ignored(path, f"items of type {kind} are not known here")
        return []
    reading.notes.degraded(path, f"an item of unknown type {kind} is sent as text")
    shown = {key: value for key, value in item.items() if key not in ("id", "status", "encrypted_content")}
    return [Said("user", [{"type": "text", "text": f"[{kind}] {_dump(shown)}"}])]


def _dump(value: Any) -> str:
    return orjson.dumps(value).decode()


READERS: dict[str, Reader] = {
    "message": _message,
    "reasoning": _reasoning,
    "function_call": _function_call,
    "function_call_output": _output,
    "custom_tool_call": _custom_call,
    "custom_tool_call_output": _output,
    "shell_call": _builtin_call("shell", "action"),
    "shell_call_output": _shell_output,
    "local_shell_call": _builtin_call("local_shell", "action"),
    "local_shell_call_output": _local_shell_output,
    "apply_patch_call": _builtin_call("apply_patch", "operation"),
    "apply_patch_call_output": _patch_output,
    "tool_search_call": _tool_search_call,
    "tool_search_output": _tool_search_output,
    "additional_tools": _carried_tools,
    "mcp_call": _mcp_call,
    "mcp_list_tools": _hosted_call,
    "mcp_approval_request": _hosted_call,
    "mcp_approval_response": _hosted_call,
    "web_search_call": _hosted_call,
    "file_search_call": _hosted_call,
    "code_interpreter_call": _hosted_call,
    "image_generation_call": _hosted_call,
    "computer_call": _hosted_call,
    "computer_call_output": _hosted_call,
    "compaction_trigger": _carried_tools,
    "configuration_update": _hosted_call,
    "agent_message": _agent_message,
    "compaction": _compaction,
    "item_reference": _reference,
}
