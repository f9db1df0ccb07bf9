"""The stream as a state machine: what an upstream says (deltas) → what a client hears (Responses events).

    idle ─ begin → in_progress ─ finish reason → finishing ─ end of the upstream → completed | incomplete
                        └──────────────┴─ any error (stages.fail_closed) → failed

The finish reason only starts the finishing phase: the terminal event waits for late usage. A pair that is not in the
table is the error. No I/O, no clock, no randomness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any

from bridge.errors import DELTA_AFTER_TERMINAL, INVALID_TRANSITION, BridgeError
from bridge.stream import deltas as d
from bridge.stream.numbering import Event
from bridge.stream.turn import Turn


class Phase(Enum):
    IN_PROGRESS = "in_progress"
    FINISHING = "finishing"  # a finish reason was seen: only usage and the end may follow

    __hash__ = object.__hash__  # Enum's own is a Python function, called for each delta


Step = Callable[[Turn, Any], Iterable[Event]]
NOTHING: tuple[Event, ...] = ()


def count(turn: Turn, delta: d.UsageDelta) -> Iterable[Event]:
    turn.usage = delta.usage  # cumulative where an upstream reports it more than once
    return NOTHING


def hold(turn: Turn, delta: d.FinishDelta) -> Iterable[Event]:
    turn.finish_reason = turn.finish_reason or delta.reason
    return NOTHING


def note_end(turn: Turn, delta: d.EndDelta) -> Iterable[Event]:
    turn.ended = True
    return NOTHING


TRANSITIONS: dict[tuple[Phase, type[d.Delta]], tuple[Phase, Step]] = {
    (Phase.IN_PROGRESS, d.TextDelta): (Phase.IN_PROGRESS, Turn.speak),
    (Phase.IN_PROGRESS, d.RefusalDelta): (Phase.IN_PROGRESS, Turn.speak),
    (Phase.IN_PROGRESS, d.AnnotationDelta): (Phase.IN_PROGRESS, Turn.cite),
    (Phase.IN_PROGRESS, d.SearchDelta): (Phase.IN_PROGRESS, Turn.search),
    (Phase.IN_PROGRESS, d.ReasoningDelta): (Phase.IN_PROGRESS, Turn.think),
    (Phase.IN_PROGRESS, d.ReasoningDetailsDelta): (Phase.IN_PROGRESS, Turn.think),
    (Phase.IN_PROGRESS, d.ToolCallDelta): (Phase.IN_PROGRESS, Turn.call),
    (Phase.IN_PROGRESS, d.UsageDelta): (Phase.IN_PROGRESS, count),
    (Phase.IN_PROGRESS, d.FinishDelta): (Phase.FINISHING, hold),
    (Phase.IN_PROGRESS, d.EndDelta): (Phase.IN_PROGRESS, note_end),
    (Phase.FINISHING, d.UsageDelta): (Phase.FINISHING, count),
    (Phase.FINISHING, d.FinishDelta): (Phase.FINISHING, hold),  # seen: the last chunk repeated
    (Phase.FINISHING, d.EndDelta): (Phase.FINISHING, note_end),
}

CONTENT = (
    d.TextDelta,
    d.RefusalDelta,
    d.AnnotationDelta,
    d.SearchDelta,
    d.ReasoningDelta,
    d.ReasoningDetailsDelta,
    d.ToolCallDelta,
)


def respond(deltas: Iterable[d.Delta], turn: Turn) -> Iterator[Event]:
    """The events of one response, the terminal one last.

    Raises BridgeError (delta_after_terminal, invalid_transition, incomplete_tool_call, missing_terminal) and lets the
    upstream's ProviderError pass; the caller turns either into `response.failed` (Turn.fail).
    """
    yield from turn.begin()
    yield from proceed(deltas, turn)


def proceed(deltas: Iterable[d.Delta], turn: Turn) -> Iterator[Event]:
    """The rest of `respond`, for a response that has begun."""
    phase = Phase.IN_PROGRESS
    for delta in deltas:
        try:
            phase, step = TRANSITIONS[phase, type(delta)]
        except KeyError:
            raise _illegal(delta, phase) from None
        yield from step(turn, delta)
    yield from turn.end()


def _illegal(delta: d.Delta, phase: Phase) -> BridgeError:
    what = type(delta).__name__
    if phase is Phase.FINISHING and isinstance(delta, CONTENT):
        return BridgeError(DELTA_AFTER_TERMINAL, f"the upstream sent content ({what}) after its finish reason")
    return BridgeError(INVALID_TRANSITION, f"{what} is not possible while {phase.value}")
