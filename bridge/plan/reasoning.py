"""Plans `reasoning`: the nearest effort this model knows, and whether it will think at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bridge.plan.diagnostics import Diagnostics
from bridge.spec import Capabilities

# From least to most; what a client sends is passed through unchecked by some (Codex), so other words do occur.
LEVELS = ("none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra")


@dataclass(frozen=True, slots=True)
class ReasoningPlan:
    """effort: value for `reasoning_effort`, or None to leave it out. switch: value for a boolean `thinking` field,
    or None. thinking: whether the model is going to think, as far as it can be known."""

    effort: str | None
    switch: bool | None
    thinking: bool


def plan_reasoning(asked: Mapping[str, Any] | None, caps: Capabilities, notes: Diagnostics) -> ReasoningPlan:
    effort = (asked or {}).get("effort")
    if effort is None:
        return ReasoningPlan(None, None, caps.thinking_by_default)
    if caps.effort == "none":
        notes.ignored("reasoning.effort", "this model has no setting for reasoning effort", "info")
        return ReasoningPlan(None, None, caps.thinking_by_default)
    if effort not in LEVELS and effort not in caps.efforts and effort not in caps.effort_map:
        notes.ignored("reasoning.effort", f"unknown effort {effort!r}; the model's default is used")
        return ReasoningPlan(None, None, caps.thinking_by_default)
    if caps.effort == "boolean":
        switch = caps.effort_map.get(effort, effort) != "none"
        if effort not in ("none", "high"):
            notes.degraded("reasoning.effort", f"this model only switches thinking on or off: {effort} → on", "info")
        return ReasoningPlan(None, switch, switch)
    level = effort if effort in caps.efforts else caps.effort_map.get(effort) or nearest_level(effort, caps.efforts)
    if level is None:
        notes.ignored("reasoning.effort", f"no level of this model is known to be near {effort}; its default is used")
        return ReasoningPlan(None, None, caps.thinking_by_default)
    if level != effort:
        notes.degraded("reasoning.effort", f"{effort} → {level}, the nearest level of this model", "info")
    return ReasoningPlan(level, None, level != "none")


def nearest_level(effort: str, levels: tuple[str, ...]) -> str | None:
    """The closest level, the higher of two; thinking is never switched off for somebody who asked for some.

    None where no level is a common word.
    """
    wanted = LEVELS.index(effort)
    usable = [level for level in levels if level in LEVELS and level != "none"]
    return min(usable, key=lambda level: (abs(LEVELS.index(level) - wanted), -LEVELS.index(level)), default=None)
