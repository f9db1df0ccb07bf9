"""The stream pipeline, drained into one Response object: one accumulator for both ways."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bridge.response.contract import check_answer
from bridge.stream.numbering import Event

from ..context import ResponsesContext
from .exchange import Answer, call_upstream
from .stream import events_of, run


def answer_sync(answer: Answer, context: ResponsesContext) -> dict[str, Any]:
    """The terminal Response object of an answer that the upstream has begun.

    Raises the GodeXError or the unexpected exception behind a failed response, so that a client that does not stream
    gets an HTTP status for it.
    """
    response: dict[str, Any] = {}
    for event in run(_with_repair(answer, context), context):
        response = event.get("response", response)
    if response["status"] == "failed" and context.error is not None:
        raise context.error
    return response


def _with_repair(answer: Answer, context: ResponsesContext) -> Iterator[Event]:
    """The events of the first answer that keeps its output contract, or of the last one that may be asked for."""
    for _ in range(context.gateway.config.output.repair):
        events = list(events_of(answer, context))
        error = None
        if events[-1]["type"] == "response.completed":
            error = check_answer(context.turn.output, context.plan.output, context.plan.tools.must_call)
        if error is None:
            yield from events
            return
        context.ask_again(error)
        answer = call_upstream(context)
    yield from events_of(answer, context)
