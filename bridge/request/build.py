"""Plans a request and builds the chat request that answers it: the kernel's one door on the way up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bridge.plan.compatibility import CompatibilityPlan, plan_compatibility
from bridge.plan.diagnostics import Diagnostics
from bridge.plan.output import OutputContract, plan_output, plan_verbosity
from bridge.protocol.chat import ChatMessage, ChatRequest
from bridge.request.doctor import Block, arrange, fill_in_reasoning, heal_calls
from bridge.request.entries import Said, Thought
from bridge.request.items import INSTRUCTION_ROLES, Reading, UnknownItems, read_items
from bridge.request.messages import chat_messages
from bridge.spec import Capabilities
from bridge.tools.plan import ToolPlan, plan_tools

Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """Every decision about one request. The diagnostics say which of them deviate from what was asked."""

    caps: Capabilities
    compatibility: CompatibilityPlan
    tools: ToolPlan
    output: OutputContract
    notes: Diagnostics


def plan_request(request: Mapping[str, Any], items: Sequence[Item], caps: Capabilities, notes: Diagnostics) -> Plan:
    """request: a validated body; items: the whole conversation (history, instructions, input).

    Raises BridgeError for what is refused: see the planners.
    """
    compatibility = plan_compatibility(request, caps, notes)
    tools = plan_tools(request, items, caps, compatibility.reasoning.thinking, notes)
    output = plan_output(request.get("text"), caps, notes)
    plan_verbosity(request.get("text"), caps, compatibility.options, notes)
    return Plan(caps, compatibility, tools, output, notes)


def build_chat_request(
    request: Mapping[str, Any],
    items: Sequence[Item],
    plan: Plan,
    *,
    model: str,
    first_input: int,
    unseal: Callable[[str], dict[str, Any] | None],
    unknown_items: UnknownItems = "text",
    recalled: Mapping[str, Thought] | None = None,
    superseded: int = 0,
) -> ChatRequest:
    """The Chat Completions body, before the provider's patch. Equal inputs give equal bytes: key order is fixed.

    first_input: index in `items` at which the request's own input begins (for paths in diagnostics).
    recalled: call_id → reasoning that is remembered, for calls that came back without (recollection.py).
    superseded: how many items at the front a compaction stands for.
    """
    caps, notes = plan.caps, plan.notes
    reading = Reading(caps, plan.tools.identities, notes, unseal, unknown_items)
    blocks = arrange(read_items(items, first_input, reading, superseded), notes)
    fill_in_reasoning(blocks, recalled or {}, notes)
    heal_calls(blocks, caps.tool_id_format, notes)
    blocks = _with_instructions(blocks, plan)
    chat: ChatRequest = {
        "model": model,
        "messages": chat_messages(blocks, bool(plan.tools.declarations), caps, notes),
    }
    if plan.tools.declarations:
        chat["tools"] = plan.tools.declarations
        if plan.tools.tool_choice is not None:
            chat["tool_choice"] = plan.tools.tool_choice
        if request.get("parallel_tool_calls") is not None and "parallel_tool_calls" in caps.parameters:
            chat["parallel_tool_calls"] = request["parallel_tool_calls"]
    if plan.output.response_format is not None:
        chat["response_format"] = plan.output.response_format
    chat.update(plan.compatibility.options)
    set_streaming(chat, bool(request.get("stream")) or caps.stream_only, caps)
    return chat


def set_streaming(chat: ChatRequest, stream: bool, caps: Capabilities) -> None:
    chat["stream"] = stream
    if stream and caps.stream_usage:
        chat["stream_options"] = {"include_usage": True}


def _with_instructions(blocks: list[Block], plan: Plan) -> list[Block]:
    """The synthetic instructions of the plan, behind the instructions that stand at the front."""
    texts = [text for text in (plan.output.instruction, plan.tools.instruction) if text]
    if not texts:
        return blocks
    front = 0
    while front < len(blocks) and _is_instruction(blocks[front]):
        front += 1
    added: list[Block] = [Said("system", [{"type": "text", "text": text}]) for text in texts]
    return blocks[:front] + added + blocks[front:]


def _is_instruction(block: Block) -> bool:
    return isinstance(block, Said) and block.role in INSTRUCTION_ROLES


def is_empty(messages: Sequence[ChatMessage]) -> bool:
    """Nothing to answer: upstreams refuse an empty list with words that do not help the client."""
    return not any(message["role"] not in INSTRUCTION_ROLES for message in messages)
