"""The stages behind the bridge, each a generator over the events of one response (order: see STAGES in stream.py).

A stage acts on the terminal event before it lets it go. `finally` releases and never yields.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

from bridge.errors import GodeXError, SessionError
from bridge.plan.diagnostics import compat_header
from bridge.response.contract import check_answer
from bridge.stream.numbering import Event

from ..context import ResponsesContext
from ..logs import fields
from ..metrics import metrics
from ..spans import spans
from .recollection import remember_reasoning

log = logging.getLogger("godex")

TERMINAL = frozenset({"response.completed", "response.incomplete", "response.failed"})
CLIENT_GONE = "client_disconnected"  # how a response ends that nobody waits for any more
# What is noted of every response: when it began to answer, its items, its end.
NOTED = TERMINAL | {"response.output_item.added", "response.output_item.done"}


def fail_closed(events: Iterator[Event], context: ResponsesContext) -> Iterator[Event]:
    """Any error becomes the one terminal event of a failed response, with its real cause.

    The upstream's stream is closed here too: its reader does that only once it has begun to read.
    """
    try:
        yield from events
    except Exception as error:
        context.error = error
        if isinstance(error, GodeXError):
            log.warning("response failed", extra=fields(error.to_log_entry(), context.log_fields()))
        else:
            log.error("unexpected error in a stream", exc_info=error, extra=fields(context.log_fields()))
        yield context.turn.fail(error)
    finally:
        context.close_stream()


def check_output(events: Iterator[Event], context: ResponsesContext) -> Iterator[Event]:
    """A completed answer that breaks its contract ends as failed; its deltas are with the client already."""
    for event in events:
        if event["type"] == "response.completed":
            error = check_answer(context.turn.output, context.plan.output, context.plan.tools.must_call)
            if error is not None:
                context.error = error
                log.warning("output contract broken", extra=fields(error.to_log_entry(), context.log_fields()))
                event = context.turn.fail(error, instead_of=event)
        yield event


def trace_events(events: Iterator[Event], context: ResponsesContext) -> Iterator[Event]:
    """Every event, whole, in a trace that keeps payloads; else log_response notes those that matter, for nothing."""
    return _traced(events, context) if context.gateway.trace.captures else events


def _traced(events: Iterator[Event], context: ResponsesContext) -> Iterator[Event]:
    trace = context.gateway.trace
    for event in events:
        trace.event(context, event, whole=True)
        yield event


def log_response(events: Iterator[Event], context: ResponsesContext) -> Iterator[Event]:
    """One line a request, whether it ended or its client left."""
    terminal: Event | None = None
    trace = context.gateway.trace
    try:
        for event in events:
            kind = event["type"]
            if kind in NOTED:
                begins = context.first_event is None and kind == "response.output_item.added"
                if begins:
                    context.first_event = time.monotonic()
                elif kind in TERMINAL:
                    terminal = event
                if not trace.captures and (begins or kind != "response.output_item.added"):
                    trace.event(context, event, whole=terminal is not None)
            yield event
    finally:
        response = context.turn.response if terminal else None
        status = response["status"] if response else CLIENT_GONE
        usage = (response or {}).get("usage")
        trace.finished(context, response)
        metrics().response_ended(context, status, usage)
        spans().upstream_ended(context.span, context, status, usage, context.error)
        if context.admission is not None:
            context.admission.ended(usage["total_tokens"] if usage else 0)
        log.info(
            "response",
            extra=fields(
                context.log_fields(),
                status=status,
                duration_ms=context.milliseconds(time.monotonic()),
                first_event_ms=context.milliseconds(context.first_event),
                usage=usage,
                cache_hit_ratio=_cache_hit_ratio(usage),
                compat=compat_header(context.notes.entries),
            ),
        )


def _cache_hit_ratio(usage: dict[str, dict[str, int]] | None) -> float | None:
    if not usage or not usage["input_tokens"]:
        return None
    return round(usage["input_tokens_details"]["cached_tokens"] / usage["input_tokens"], 3)  # type: ignore[operator]


def save_session(events: Iterator[Event], context: ResponsesContext) -> Iterator[Event]:
    """Stores the response, then lets the terminal event go: a client can continue at once, on any replica."""
    for event in events:
        if event["type"] in TERMINAL:
            remember_reasoning(context, event["response"]["output"])
        if event["type"] in TERMINAL and context.stored:
            try:
                context.save(event["response"])
            except SessionError as error:
                # A failing save does not fail the answer (seeds), unless the operator wants it strict.
                log.error("session not saved", extra=fields(error.to_log_entry(), context.log_fields()))
                if context.gateway.config.session.on_save_error == "fail" and event["type"] != "response.failed":
                    context.error = error
                    event = context.turn.fail(error, instead_of=event)
        yield event


def report_diagnostics(events: Iterator[Event], context: ResponsesContext) -> Iterator[Event]:
    """The opt-in report: every decision of the plan in the terminal response's extra field `godex`."""
    for event in events:
        if context.wants_report and event["type"] in TERMINAL:
            report = {"target": str(context.target), "diagnostics": [note.as_dict() for note in context.notes.entries]}
            event = {**event, "response": {**event["response"], "godex": report}}
        yield event
    log.debug("diagnostics", extra=fields(request_id=context.request_id, notes=context.notes.entries))
