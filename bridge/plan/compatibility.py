"""Plans every request parameter: what goes up, what the gateway serves itself, what is ignored, what is refused.

The table below names each parameter that the Responses API knows. A parameter that is not in it is a new or foreign
field: tolerated, and reported as ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bridge.plan.diagnostics import Diagnostics, rejected
from bridge.plan.reasoning import ReasoningPlan, plan_reasoning
from bridge.spec import Capabilities

INCLUDABLE = frozenset({"reasoning.encrypted_content", "message.output_text.logprobs"})
COMPACTION = "compaction"
FULL = 0.8  # of the window: where a client asks for compaction and names no threshold
QUIET_TIERS = frozenset({"auto", "default"})


@dataclass(slots=True)
class CompatibilityPlan:
    """options: fields of the chat request, in a stable order."""

    reasoning: ReasoningPlan
    options: dict[str, Any] = field(default_factory=dict)


Rule = Callable[[Any, Capabilities, CompatibilityPlan, Diagnostics], None]


def plan_compatibility(request: Mapping[str, Any], caps: Capabilities, notes: Diagnostics) -> CompatibilityPlan:
    """Decide on every parameter of a validated request body; null counts as absent.

    Raises BridgeError UNSUPPORTED_PARAMETER, with the parameter's name, for what would change the answer's meaning.
    """
    plan = CompatibilityPlan(plan_reasoning(request.get("reasoning"), caps, notes))
    for name, rule in PARAMETERS.items():
        value = request.get(name)
        if value is not None:
            rule(value, caps, plan, notes)
    for name, value in request.items():
        if name not in PARAMETERS and value is not None:
            notes.ignored(name, "this field is not known to the gateway", "info")
    if plan.reasoning.effort is not None:
        plan.options["reasoning_effort"] = plan.reasoning.effort
    if plan.reasoning.switch is not None:
        plan.options["thinking"] = {"type": "enabled" if plan.reasoning.switch else "disabled"}
    return plan


def _served(value: Any, caps: Capabilities, plan: CompatibilityPlan, notes: Diagnostics) -> None:
    """The gateway itself gives this parameter its meaning."""


def _forwarded(name: str, chat_field: str | None = None) -> Rule:
    def rule(value: Any, caps: Capabilities, plan: CompatibilityPlan, notes: Diagnostics) -> None:
        if name not in caps.parameters:
            notes.ignored(name, "this model's API has no such parameter")
        elif plan.reasoning.thinking and name in caps.parameters_refused_while_thinking:
            notes.ignored(name, "this model refuses or ignores it while it thinks")
        else:
            plan.options[chat_field or name] = value

    return rule


def _clamped(name: str, bounds: Callable[[Capabilities], tuple[float, float]]) -> Rule:
    forward = _forwarded(name)

    def rule(value: float, caps: Capabilities, plan: CompatibilityPlan, notes: Diagnostics) -> None:
        low, high = bounds(caps)
        allowed = min(max(value, low), high)
        if allowed != value and name in caps.parameters:
            notes.degraded(name, f"{value} → {allowed}: this model takes {low} to {high}")
        forward(allowed, caps, plan, notes)

    return rule


def _penalty(name: str) -> Rule:
    forward = _forwarded(name)

    def rule(value: float, caps: Capabilities, plan: CompatibilityPlan, notes: Diagnostics) -> None:
        if value or name in caps.parameters:  # 0 is the default everywhere: nothing is lost without it
            forward(value, caps, plan, notes)

    return rule


def _max_output_tokens(value: int, caps: Capabilities, plan: CompatibilityPlan, notes: Diagnostics) -> None:
    cap = caps.max_output_tokens_cap
    if cap is not None and value > cap:
        notes.degraded("max_output_tokens", f"{value} → {cap}, the most that this model writes")
        value = cap
    _forwarded("max_output_tokens", caps.token_limit_field)(value, caps, plan, notes)


def _top_logprobs(value: int, caps: Capabilities, plan: CompatibilityPlan, notes: Diagnostics) -> None:
    if value == 0 and "top_logprobs" not in caps.parameters:
        return
    _forwarded("top_logprobs")(value, caps, plan, notes)
    if "top_logprobs" in plan.options:
        plan.options["logprobs"] = True


def _include(value: list[str], caps: Capabilities, plan: CompatibilityPlan, notes: Diagnostics) -> None:
    for name in value:
        if name == "message.output_text.logprobs":
            if "top_logprobs" in caps.parameters:
                plan.options["logprobs"] = True
            else:
                notes.ignored("include", "this model's API gives no log probabilities")
        elif name not in INCLUDABLE:
            notes.ignored("include", f"{name} belongs to a tool that nobody runs here", "info")


def _context_management(
    value: list[dict[str, Any]], caps: Capabilities, plan: CompatibilityPlan, notes: Diagnostics
) -> None:
    for entry in value:
        if entry["type"] != COMPACTION:
            notes.ignored("context_management", f"the strategy {entry['type']!r} is not known here")
        elif compaction_threshold([entry], caps) is None:
            notes.ignored("context_management", "no compact_threshold, and this model's window is not known")


def compaction_threshold(context_management: Iterable[Mapping[str, Any]], caps: Capabilities) -> int | None:
    """The number of input tokens above which a conversation is to be compacted; None = never."""
    for entry in context_management:
        if entry["type"] == COMPACTION:
            threshold: int | None = entry.get("compact_threshold")
            if threshold is None and caps.context_window is not None:
                threshold = int(caps.context_window * FULL)
            return threshold
    return None


def _parallel_tool_calls(value: bool, caps: Capabilities, plan: CompatibilityPlan, notes: Diagnostics) -> None:
    # The tool plan enforces `false` on the answer; upstream it only makes sense beside tools (see build.py).
    if "parallel_tool_calls" not in caps.parameters and value is False:
        notes.degraded("parallel_tool_calls", "not known upstream: calls after the first are dropped here", "info")


def _service_tier(value: str, caps: Capabilities, plan: CompatibilityPlan, notes: Diagnostics) -> None:
    if "service_tier" in caps.parameters:
        plan.options["service_tier"] = value
    elif value not in QUIET_TIERS:
        notes.ignored("service_tier", "this provider has one tier", "info")


def _forwarded_quietly(name: str) -> Rule:
    """A hint that changes no answer: sent where it is known, else left out with a note."""

    def rule(value: Any, caps: Capabilities, plan: CompatibilityPlan, notes: Diagnostics) -> None:
        if name in caps.parameters:
            plan.options[name] = value
        else:
            notes.ignored(name, "a hint that this provider does not take", "info")

    return rule


def _hint(name: str) -> Rule:
    def rule(value: Any, caps: Capabilities, plan: CompatibilityPlan, notes: Diagnostics) -> None:
        notes.ignored(name, "has no meaning for a Chat Completions upstream", "info")

    return rule


def _refused(name: str, reason: str) -> Rule:
    def rule(value: Any, caps: Capabilities, plan: CompatibilityPlan, notes: Diagnostics) -> None:
        if value is not False:
            raise rejected(name, reason)

    return rule


PARAMETERS: dict[str, Rule] = {
    **dict.fromkeys(
        (
            "model",
            "input",
            "instructions",
            "previous_response_id",
            "conversation",
            "stream",
            "store",
            "metadata",
            "tools",  # bridge/tools/plan.py
            "tool_choice",
            "text",  # bridge/plan/output.py
            "reasoning",  # bridge/plan/reasoning.py
            "truncation",
            "stream_options",  # obfuscation is noise against traffic analysis; leaving it out loses nothing
            "max_tool_calls",  # counts hosted tools only (contract section 10); none is run here
        ),
        _served,
    ),
    "context_management": _context_management,
    "max_output_tokens": _max_output_tokens,
    "temperature": _clamped("temperature", lambda caps: caps.temperature_range),
    "top_p": _clamped("top_p", lambda caps: caps.top_p_range),
    "presence_penalty": _penalty("presence_penalty"),
    "frequency_penalty": _penalty("frequency_penalty"),
    "top_logprobs": _top_logprobs,
    "include": _include,
    "parallel_tool_calls": _parallel_tool_calls,
    "service_tier": _service_tier,
    "prompt_cache_key": _forwarded_quietly("prompt_cache_key"),
    "prompt_cache_retention": _forwarded_quietly("prompt_cache_retention"),
    "prompt_cache_options": _hint("prompt_cache_options"),
    "safety_identifier": _forwarded_quietly("safety_identifier"),
    "user": _forwarded_quietly("user"),
    "client_metadata": _hint("client_metadata"),
    "access_programs": _hint("access_programs"),
    "background": _refused(
        "background", "background responses are not offered; send background: false or leave it out"
    ),
    "background_options": _hint("background_options"),
    "prompt": _refused("prompt", "stored prompts live at OpenAI; send their text as instructions and input"),
    "moderation": _refused("moderation", "no moderation is run here; leave the field out"),
}
