"""Blocks of a conversation → chat messages, by the rules of this upstream."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bridge.plan.diagnostics import Diagnostics
from bridge.protocol.chat import ChatMessage
from bridge.request.content import NO_IMAGE, ChatPart, chat_content, joined_text
from bridge.request.doctor import Assistant, Block
from bridge.request.entries import Called, Said
from bridge.request.items import INSTRUCTION_ROLES
from bridge.spec import Capabilities

OUTPUT_FOLLOWS = "[Output of"


def chat_messages(
    blocks: Iterable[Block], with_tools: bool, caps: Capabilities, notes: Diagnostics
) -> list[ChatMessage]:
    """with_tools: the request declares tools (decides on the replay of reasoning where the rule is "with_tools")."""
    messages: list[ChatMessage] = []
    blocks = list(blocks)
    if caps.reasoning_replay == "never" and any(isinstance(block, Assistant) and block.thoughts for block in blocks):
        notes.ignored("input", "earlier reasoning is not sent: this model does not take it back", "info")
    for block in blocks:
        if isinstance(block, Said):
            messages.append(_said(block, caps))
        else:
            messages += _assistant(block, with_tools, caps, notes)
    if caps.system_rule == "merge_first":
        messages = _merge_instructions(messages, notes)
    if caps.strict_turns:
        messages = strict_turns(messages)
    return messages


def _said(said: Said, caps: Capabilities) -> ChatMessage:
    role = said.role
    if role in INSTRUCTION_ROLES:
        role = role if role == "system" else caps.instruction_role
    return {"role": role, "content": chat_content(said.parts, caps)}


def _assistant(block: Assistant, with_tools: bool, caps: Capabilities, notes: Diagnostics) -> list[ChatMessage]:
    text = "\n\n".join(block.texts)
    if not text and not block.calls:
        return []  # reasoning alone is no message; upstreams refuse one without content and calls
    message: ChatMessage = {"role": "assistant", "content": text}
    message.update(_replayed_reasoning(block, with_tools, caps))
    images: list[ChatPart] = []
    outputs: list[ChatMessage] = []
    if block.calls:
        message["tool_calls"] = [
            {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in block.calls
        ]
        outputs = [_tool_message(call, images, caps, notes) for call in block.calls]
    if images:  # moved behind the whole group: nothing may stand between the outputs of one message
        outputs.append({"role": "user", "content": images})
    return [message, *outputs]


def _replayed_reasoning(block: Assistant, with_tools: bool, caps: Capabilities) -> ChatMessage:
    if caps.reasoning_replay == "never" or (caps.reasoning_replay == "with_tools" and not (with_tools or block.calls)):
        return {}
    details = [detail for thought in block.thoughts for detail in thought.details]
    if details and caps.reasoning_field == "reasoning_details":
        return {"reasoning_details": details}
    text = "\n\n".join(thought.text for thought in block.thoughts if thought.text)
    if caps.reasoning_field == "reasoning_details":
        return {"reasoning_details": [{"type": "reasoning.text", "text": text}]} if text else {}
    if text or caps.reasoning_lost == "empty":
        return {caps.reasoning_field: text}  # type: ignore[misc]
    return {}


def _tool_message(call: Called, images: list[ChatPart], caps: Capabilities, notes: Diagnostics) -> ChatMessage:
    assert call.output is not None  # the doctor gave every call one
    parts = call.output.parts
    if any(part["type"] != "text" for part in parts) and caps.tool_result_images != "tool_message":
        moved = [part for part in parts if part["type"] != "text"]
        text = joined_text(parts)
        if caps.tool_result_images == "user_message":
            images.append({"type": "text", "text": f"{OUTPUT_FOLLOWS} {call.name}, call {call.call_id}]"})
            images += moved
            notes.degraded(call.output.path, "pictures of a tool's output follow in a message of the user", "info")
            text = text or "[The output follows as a picture.]"
        else:
            text = f"{text}\n{NO_IMAGE}" if text else NO_IMAGE
            notes.degraded(call.output.path, "pictures in a tool's output are replaced by a note")
        return {"role": "tool", "tool_call_id": call.call_id, "content": text}
    return {"role": "tool", "tool_call_id": call.call_id, "content": chat_content(parts, caps)}


def shows_output(message: ChatMessage) -> bool:
    """Whether a user's message only carries the pictures of the tool outputs before it."""
    content = message.get("content")
    if message["role"] != "user" or not isinstance(content, list) or not content:
        return False
    return str(content[0].get("text") or "").startswith(OUTPUT_FOLLOWS)


def _merge_instructions(messages: list[ChatMessage], notes: Diagnostics) -> list[ChatMessage]:
    instructions = [message for message in messages if message["role"] in INSTRUCTION_ROLES]
    if len(instructions) <= 1 and messages[:1] == instructions:
        return messages
    if not instructions:
        return messages
    if messages[: len(instructions)] != instructions:
        notes.repaired("input", "instructions are moved to the front: this model takes them nowhere else")
    text = "\n\n".join(_as_text(message["content"]) for message in instructions)
    rest = [message for message in messages if message["role"] not in INSTRUCTION_ROLES]
    return [{"role": instructions[0]["role"], "content": text}, *rest]


def strict_turns(messages: list[ChatMessage]) -> list[ChatMessage]:
    """No two users in a row, no user directly behind a tool (templates that demand it refuse the whole request)."""
    strict: list[ChatMessage] = []
    for message in messages:
        before = strict[-1] if strict else None
        if before is not None and message["role"] == "user" == before["role"]:
            strict[-1] = {"role": "user", "content": _joined(before["content"], message["content"])}
            continue
        if before is not None and message["role"] == "user" and before["role"] == "tool":
            strict.append({"role": "assistant", "content": "OK."})
        strict.append(message)
    return strict


def _joined(first: Any, second: Any) -> Any:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_as_parts(first), *_as_parts(second)]


def _as_parts(content: Any) -> list[ChatPart]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _as_text(content: Any) -> str:
    return content if isinstance(content, str) else joined_text(content or ())
