"""The pipeline of one response, as a chain of generators."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bridge.stream.compaction import compact
from bridge.stream.machine import respond
from bridge.stream.numbering import Event

from ..context import ResponsesContext
from . import stages
from .compaction import after_summary, summary_first
from .exchange import Answer, read_deltas

Stage = Callable[[Iterator[Event], ResponsesContext], Iterator[Event]]

# The order is behaviour: each line says what it relies on. Raw chunks are traced before the bridge sees them
# (exchange.read_deltas); SSE framing happens at the edge (http/sse.py).
STAGES: tuple[Stage, ...] = (
    stages.fail_closed,  # first, so that every later stage sees exactly one terminal event
    stages.check_output,  # before anyone counts or stores an answer that is not what was asked for
    stages.trace_events,
    stages.log_response,
    stages.save_session,  # stores first, then lets the terminal event go
    stages.report_diagnostics,  # last: what the stages above found out is in the report too
)


def answer_stream(answer: Answer, context: ResponsesContext) -> Iterator[Event]:
    """The events of a response that the upstream has begun."""
    return run(events_of(answer, context), context)


def events_of(answer: Answer, context: ResponsesContext) -> Iterator[Event]:
    """What the bridge makes of one upstream answer."""
    deltas = read_deltas(answer, context)
    if context.compacts:
        return compact(deltas, context.turn, context.seal)
    if context.full_chat is not None:
        return summary_first(deltas, context)
    if context.summary is not None:
        return after_summary(deltas, context)
    return respond(deltas, context.turn)


def run(events: Iterator[Event], context: ResponsesContext) -> Iterator[Event]:
    """The events of the bridge, through all stages."""
    for stage in STAGES:
        events = stage(events, context)
    return events
