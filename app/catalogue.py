"""The models served here, for two readers: the OpenAI list, and Codex's catalogue of what each model can do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bridge.plan.reasoning import LEVELS, nearest_level
from bridge.spec import Capabilities
from providers.registry import builtin_specs

from .codex_instructions import BASE_INSTRUCTIONS
from .resolver import Target

if TYPE_CHECKING:
    from .gateway import Gateway

CREATED = 0  # Unix seconds; upstreams do not tell when a model was made, and clients only want a number
# For a model of which nobody said it (capabilities.context_window does): without a number Codex never sums a session
# up, until the upstream refuses it.
ASSUMED_WINDOW = 128_000  # tokens
TOOL_OUTPUT_TOKENS = 10_000  # how much of one tool's output Codex keeps; the value of its own models

LEVEL_TEXTS = {
    "none": "Answers without thinking first",
    "minimal": "Hardly thinks first",
    "low": "Thinks briefly",
    "medium": "Balances speed and depth",
    "high": "Thinks thoroughly",
    "xhigh": "Thinks very thoroughly",
    "max": "Thinks as long as it can",
    "ultra": "Thinks beyond the usual limit",
}


@dataclass(frozen=True, slots=True)
class ServedModel:
    """name: what a client asks for; target: what answers it."""

    name: str
    target: Target
    caps: Capabilities


def served_model(gateway: Gateway, name: str) -> ServedModel:
    """Any name that can be asked for, listed or not. Raises ServerError as the resolver does."""
    target = gateway.resolver.resolve(name)
    return ServedModel(name, target, _capabilities(gateway, target))


def served_models(gateway: Gateway) -> Iterator[ServedModel]:
    """Aliases, then the models that the providers' specs and the configuration name."""
    seen = {"*"}
    names = [*gateway.config.models.aliases]
    names += [f"{provider}/{model}" for provider in gateway.registered for model in gateway.model_names(provider)]
    for name in names:
        if name not in seen:
            seen.add(name)
            yield served_model(gateway, name)


def _capabilities(gateway: Gateway, target: Target) -> Capabilities:
    section = gateway.config.providers[target.provider]
    return section.applied_to(builtin_specs()[section.spec]).capabilities_for(target.model)


def openai_entry(model: ServedModel) -> dict[str, Any]:
    return {"id": model.name, "object": "model", "created": CREATED, "owned_by": model.target.provider}


def codex_entry(model: ServedModel, priority: int) -> dict[str, Any]:
    """One entry of Codex's catalogue; one that it cannot read would spoil the whole list.

    priority: place in the picker, 1 first; the first one is Codex's default.
    """
    caps = model.caps
    levels = reasoning_levels(caps)
    entry: dict[str, Any] = {
        "slug": model.name,
        "display_name": model.name,
        "description": f"{model.target.model} at {model.target.provider}, through GodeX",
        "supported_reasoning_levels": [{"effort": level, "description": LEVEL_TEXTS[level]} for level in levels],
        "default_reasoning_summary": "auto",
        "shell_type": "unified_exec",
        "visibility": "list",
        "supported_in_api": True,
        "priority": priority,
        "base_instructions": BASE_INSTRUCTIONS,
        "support_verbosity": "verbosity" in caps.parameters,
        "truncation_policy": {"mode": "tokens", "limit": TOOL_OUTPUT_TOKENS},
        # false would make Codex ask for one call at a time, which every provider keeps here anyway
        "supports_parallel_tool_calls": True,
        "experimental_supported_tools": [],
        "context_window": caps.context_window or ASSUMED_WINDOW,
        "input_modalities": ["text", "image"] if caps.input_images else ["text"],
    }
    if "custom" in caps.tools or "custom" in caps.degraded_tools:
        entry["apply_patch_tool_type"] = "freeform"
    if caps.thinking_by_default and (level := nearest_level("medium", levels)):
        entry["default_reasoning_level"] = level
    return entry


def reasoning_levels(caps: Capabilities) -> tuple[str, ...]:
    """The efforts that make a difference to this model, in Codex's words, from least to most."""
    if caps.effort == "none":
        return ()
    if caps.effort == "boolean":
        return ("none", "high")
    words = {_level_for(effort, caps) for effort in caps.efforts}
    return tuple(level for level in LEVELS if level in words)


def _level_for(effort: str, caps: Capabilities) -> str | None:
    """The common word for a level that only this upstream calls so, such as "default"."""
    if effort in LEVELS:
        return effort
    return next((level for level in ("medium", *LEVELS) if caps.effort_map.get(level) == effort), None)


def codex_catalogue(models: list[ServedModel]) -> list[dict[str, Any]]:
    return [codex_entry(model, place) for place, model in enumerate(models, start=1)]
