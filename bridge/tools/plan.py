"""Plans the tools of one request: which are declared upstream, which may be called, and what tool_choice becomes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bridge.errors import INVALID_REQUEST, UNSUPPORTED_TOOL, BridgeError
from bridge.plan.diagnostics import Diagnostics, Severity, rejected
from bridge.protocol.chat import ChatTool
from bridge.spec import Capabilities
from bridge.tools.declare import declare
from bridge.tools.identity import IdentityMap, ToolIdentity

# Tools of OpenAI's own servers, whose declaration may be forwarded only to a provider that runs them.
HOSTED = frozenset(
    "web_search web_search_preview file_search mcp code_interpreter image_generation computer "
    "computer_use_preview programmatic_tool_calling".split()
)


@dataclass(slots=True)
class ToolPlan:
    """identities   every tool that can be restored, also those found by an earlier tool_search
    declarations what goes up, in a stable order
    tool_choice  the chat field, or None to leave it out
    allowed      provider names that may be called; None = no limit
    single_call  at most one call in the answer
    must_call    the answer has to hold a call (a choice that the upstream cannot enforce)
    instruction  what tells the model so, or None
    """

    identities: IdentityMap
    declarations: list[ChatTool] = field(default_factory=list)
    tool_choice: Any = None
    allowed: frozenset[str] | None = None
    single_call: bool = False
    must_call: bool = False
    instruction: str | None = None


def plan_tools(
    request: Mapping[str, Any],
    items: Iterable[Mapping[str, Any]],
    caps: Capabilities,
    thinking: bool,
    notes: Diagnostics,
) -> ToolPlan:
    """items: history and input; tools that they carry (additional_tools, tool_search_output) join the declared ones.

    Raises BridgeError UNSUPPORTED_TOOL or INVALID_REQUEST for a choice that names what cannot be called.
    """
    identities = IdentityMap(_callable_tools(_all_tools(request, items), caps, notes))
    plan = ToolPlan(identities)
    if request.get("parallel_tool_calls") is False:
        plan.single_call = True
    native = [tool for tool in request.get("tools") or () if _is_native(tool, caps)]
    plan_choice(request, plan, native, caps, thinking, notes)
    declared = list(identities)
    if plan.allowed is not None and plan.tool_choice != "none":  # with "none" they stay, for the prompt cache's sake
        declared = [identity for identity in declared if identity.provider_name in plan.allowed]
    if caps.max_tools is not None and len(declared) + len(native) > caps.max_tools:
        kept = max(caps.max_tools - len(native), 0)
        notes.ignored("tools", f"this model takes {caps.max_tools} tools: the last {len(declared) - kept} are left out")
        declared = declared[:kept]
    plan.declarations = [declare(identity, caps, notes) for identity in declared]
    plan.declarations += native
    if not plan.declarations:
        plan.tool_choice = None
    return plan


def _all_tools(
    request: Mapping[str, Any], items: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(path, tool) of the request, then of the items that carry tools, in order."""
    for index, tool in enumerate(request.get("tools") or ()):
        yield f"tools[{index}]", tool
    for item in items:
        if item.get("type") in ("additional_tools", "tool_search_output"):
            for index, tool in enumerate(item.get("tools") or ()):
                if isinstance(tool, dict):
                    yield f"{item['type']}.tools[{index}]", tool


def _is_native(tool: Mapping[str, Any], caps: Capabilities) -> bool:
    """Run by the provider itself. A search that must not leave a cache (Codex's default) is none of theirs."""
    if tool["type"] == "function" or tool["type"] not in caps.tools:
        return False
    return tool.get("external_web_access") is not False


def _callable_tools(
    tools: Iterable[tuple[str, Mapping[str, Any]]], caps: Capabilities, notes: Diagnostics
) -> Iterator[tuple[str, str | None, str, dict[str, Any]]]:
    """(type, namespace, name, tool) of each tool that is declared upstream as a function; the others are noted."""
    for path, tool in tools:
        kind = tool.get("type", "")
        if kind == "namespace" and caps.degraded_tools.get(kind):
            if tool.get("tools"):
                notes.degraded(path, f"namespace {tool['name']!r} is flattened into its functions", "info")
            for index, member in enumerate(tool.get("tools") or ()):
                yield from _member(f"{path}.tools[{index}]", member, tool["name"], caps, notes)
        else:
            yield from _member(path, tool, None, caps, notes)


def _member(
    path: str, tool: Mapping[str, Any], namespace: str | None, caps: Capabilities, notes: Diagnostics
) -> Iterator[tuple[str, str | None, str, dict[str, Any]]]:
    kind = tool.get("type", "")
    if kind == "namespace":
        notes.ignored(path, "a namespace inside a namespace is not known: its tools could not be told apart")
    elif kind == "function" or caps.degraded_tools.get(kind) == "function":
        if kind != "function":
            notes.degraded(path, f"{kind} is declared as a function and its calls are restored", "info")
        yield kind, namespace, tool.get("name") or kind, dict(tool)
    elif not _is_native({**tool, "type": kind}, caps):
        # Clients such as Codex declare hosted tools unasked: a missing one must not stop the turn (contract 10).
        severity: Severity = "info" if kind.startswith("web_search") else "warn"
        notes.ignored(path, f"{kind or 'a tool without type'} cannot be run by this provider", severity)


def plan_choice(
    request: Mapping[str, Any],
    plan: ToolPlan,
    native: list[Any],
    caps: Capabilities,
    thinking: bool,
    notes: Diagnostics,
) -> None:
    """Fill in tool_choice, allowed, must_call and instruction of the plan."""
    choice: Any = request.get("tool_choice")
    supported = caps.tool_choice
    if thinking and caps.tool_choice_while_thinking is not None:
        supported = caps.tool_choice_while_thinking
    if choice is None or choice == "auto":
        plan.tool_choice = "auto" if choice and "auto" in supported else None
        return
    if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        plan.allowed = frozenset(_allowed_names(choice, plan.identities, native, notes))
        choice = choice.get("mode") or "auto"
        if choice == "auto":
            return
    if choice == "none":
        plan.allowed = frozenset()
        plan.tool_choice = "none" if "none" in supported else None
        return
    if not len(plan.identities) and not native:
        raise rejected("tool_choice", "a tool is demanded but none is declared", INVALID_REQUEST)
    if choice == "required":
        if "required" in supported:
            plan.tool_choice = caps.required_word
        else:
            _demand(plan, "one of the declared tools", notes)
        return
    identity = _chosen(choice, plan.identities, native)
    if identity is None:
        notes.degraded("tool_choice", f"{choice['type']} runs at the provider, which cannot be made to use it")
        return
    plan.allowed = frozenset({identity.provider_name})
    if "function" in supported:
        plan.tool_choice = {"type": "function", "function": {"name": identity.provider_name}}
    elif "required" in supported:
        plan.tool_choice = caps.required_word  # the only declared tool, so the choice is the same
    else:
        _demand(plan, f"the tool {identity.provider_name}", notes)


def _demand(plan: ToolPlan, what: str, notes: Diagnostics) -> None:
    """A choice that the upstream cannot enforce: asked for by instruction, and checked on the answer."""
    plan.must_call = True
    plan.instruction = f"Your next answer must be a call of {what}. Do not answer with text alone."
    notes.degraded("tool_choice", "this model cannot be forced: asked for by instruction, checked here")


def _allowed_names(
    choice: Mapping[str, Any], identities: IdentityMap, native: list[Any], notes: Diagnostics
) -> Iterator[str]:
    for index, entry in enumerate(choice.get("tools") or ()):
        found = [
            identity.provider_name
            for identity in identities
            if identity.type == entry.get("type")
            and entry.get("name") in (None, identity.name)
            and entry.get("namespace") in (None, identity.namespace)
        ]
        if not found and not any(tool["type"] == entry.get("type") for tool in native):
            name = entry.get("name") or entry.get("type")
            notes.ignored(f"tool_choice.tools[{index}]", f"{name} is not among the callable tools")
        yield from found


def _chosen(choice: Mapping[str, Any], identities: IdentityMap, native: list[Any]) -> ToolIdentity | None:
    """The tool that an object choice names; None when it is native to the provider."""
    kind, name = choice["type"], choice.get("name")
    identity = identities.find(kind, name, choice.get("namespace"))
    if identity is None and any(tool["type"] == kind for tool in native):
        return None
    if identity is None:
        if kind in HOSTED:
            reason = f"tool_choice demands {kind}, which this provider cannot run"
        else:
            reason = f"tool_choice names {name or kind}, which is not declared in tools"
        raise BridgeError(UNSUPPORTED_TOOL, reason, param="tool_choice", client_code="unsupported_parameter")
    return identity
