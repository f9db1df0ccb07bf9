"""`context_management`: a conversation above a threshold is summarised first; the answer goes on from the summary."""

from __future__ import annotations

from collections.abc import Iterator

from bridge.errors import UPSTREAM_BAD_REQUEST, UPSTREAM_CONTENT_FILTER, UPSTREAM_CONTEXT_LENGTH, ProviderError
from bridge.protocol.chat import ChatRequest
from bridge.request.estimate import estimate_tokens
from bridge.request.truncate import truncated, with_summary
from bridge.stream.compaction import give_compaction, read_summary
from bridge.stream.deltas import Delta
from bridge.stream.machine import proceed
from bridge.stream.numbering import Event

from ..context import ResponsesContext
from .exchange import Answer, call_upstream, read_deltas

# Refusals that concern the request for a summary, and perhaps not the one for the answer.
NOT_SUMMARISED = frozenset({UPSTREAM_BAD_REQUEST, UPSTREAM_CONTENT_FILTER, UPSTREAM_CONTEXT_LENGTH})


def is_due(chat: ChatRequest, threshold: int | None) -> bool:
    """threshold: input tokens, estimated. A conversation of which nothing would go is left as it is."""
    if threshold is None or estimate_tokens(chat) <= threshold:
        return False
    return len(truncated(chat["messages"], float("inf"))) < len(chat["messages"])


def first_call(context: ResponsesContext) -> Answer:
    """The upstream's answer, or its summary where that comes first and is not refused. Raises ProviderError."""
    try:
        return call_upstream(context)
    except ProviderError as error:
        if context.full_chat is None or error.code not in NOT_SUMMARISED:
            raise
        _leave_whole(context, f"the model refused to summarise: {error.message}")
        return call_upstream(context)


def summary_first(deltas: Iterator[Delta], context: ResponsesContext) -> Iterator[Event]:
    """The events of a response that begins with a compaction. deltas: of the summary."""
    turn = context.turn
    yield from turn.begin()
    summary = read_summary(deltas, turn)
    if turn.next_round().status == "completed" and summary:
        assert context.full_chat is not None
        messages = with_summary(context.full_chat["messages"], summary, context.plan.caps)
        context.ask_instead({**context.full_chat, "messages": messages})
        context.summary = summary
        yield from give_compaction(turn, summary, context.seal)
    else:
        _leave_whole(context, "the summary is empty or broke off")
    answer = call_upstream(context)
    if context.interrupted is not None:
        raise context.interrupted
    yield from proceed(read_deltas(answer, context), turn)


def after_summary(deltas: Iterator[Delta], context: ResponsesContext) -> Iterator[Event]:
    """The events of a further attempt at the answer: the summary is there already."""
    assert context.summary is not None
    yield from context.turn.begin()
    yield from give_compaction(context.turn, context.summary, context.seal)
    yield from proceed(deltas, context.turn)


def _leave_whole(context: ResponsesContext, reason: str) -> None:
    assert context.full_chat is not None
    context.notes.ignored("context_management", f"not compacted: {reason}", "info")
    context.ask_instead(context.full_chat)
