"""The upstream call: opened here, read here, cancelled here."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bridge.errors import UPSTREAM_CONTEXT_LENGTH, ProviderError
from bridge.protocol.chat import ChatResponse
from bridge.stream.call_markup import without_call_markup
from bridge.stream.deltas import Delta, EndDelta
from bridge.stream.fences import without_fences
from bridge.stream.think_tags import without_think_tags
from providers.client import Stream

from ..context import ClientGone, ResponsesContext
from ..drain import current
from ..logs import fields
from ..metrics import metrics
from ..spans import spans
from .truncation import fit_window, shorten

log = logging.getLogger("godex")


@dataclass(frozen=True, slots=True)
class Answer:
    """What an upstream that accepted the request gives: a stream, or one body."""

    stream: Stream | None = None
    body: ChatResponse | None = None


def call_upstream(context: ResponsesContext) -> Answer:
    """Blocks until the upstream has accepted the request. Raises ProviderError, and ServerError when interrupted."""
    fit_window(context)
    while True:
        try:
            return _asked(context)
        except ProviderError as error:
            if error.code != UPSTREAM_CONTEXT_LENGTH or not shorten(context):
                raise


def _asked(context: ResponsesContext) -> Answer:
    request, trace = current(), context.gateway.trace
    request.calls_upstream()
    if context.calls == 0:
        metrics().upstream_called(time.monotonic() - request.began)
    trace.request(context, again=context.calls > 0)
    context.calls += 1
    _log_step("upstream asked", context)
    if context.span is not None:
        spans().upstream_ended(context.span, context, "asked again")
    context.span = spans().upstream(request.span, context)
    try:
        answer = _called(context)
    except ProviderError as error:
        trace.refused(context, error)
        metrics().upstream_refused(context, error)
        spans().upstream_ended(context.span, context, "refused", error=error)
        context.span = None
        raise
    _log_step("upstream answers", context)
    return answer


def _log_step(step: str, context: ResponsesContext) -> None:
    if log.isEnabledFor(logging.DEBUG):
        log.debug(step, extra=fields(context.log_fields()))


def _called(context: ResponsesContext) -> Answer:
    client = context.provider.client
    headers = spans().headers(context.span) | (_own_key(context) if context.passthrough else {})
    if context.chat["stream"]:
        stream = client.open_stream(context.chat, headers)
        context.cancel, context.close_stream = stream.cancel, stream.close
        current().streams(context.interrupt)
        return Answer(stream=stream)
    body = client.complete(context.chat, headers)
    current().answered()
    return Answer(body=body)


def _own_key(context: ResponsesContext) -> dict[str, str]:
    """The client's key, where the provider's section says `credentials: passthrough`."""
    spec = context.provider.spec
    return {spec.auth_header: spec.auth_scheme + context.caller.key}


def read_deltas(answer: Answer, context: ResponsesContext) -> Iterator[Delta]:
    """The deltas of an answer, as the bridge wants them: think tags and code fences taken out of the text."""
    deltas: Iterable[Delta] = _raw_deltas(answer, context)
    caps = context.plan.caps
    if caps.think_tags:
        deltas = without_think_tags(deltas, caps.think_tags, caps.think_prefilled)
    if caps.call_markup:
        deltas = without_call_markup(deltas)
    if context.plan.output.strips_fences:
        deltas = without_fences(deltas)
    return iter(deltas)


def _raw_deltas(answer: Answer, context: ResponsesContext) -> Iterator[Delta]:
    spec, trace = context.provider.spec, context.gateway.trace
    if answer.stream is None:
        assert answer.body is not None
        for body in trace.chunks(context, iter([answer.body])):
            yield from spec.read_response(body)
        return
    stream = answer.stream
    read = spec.read_deltas
    try:
        for chunk in trace.chunks(context, iter(stream)):
            yield from read(chunk)
        if stream.cancelled and not stream.done:
            raise context.interrupted or ClientGone
        if stream.body is not None:  # one body in answer to a request for a stream
            yield from spec.read_response(stream.body)
        elif stream.done:
            yield EndDelta()
    finally:
        stream.close()
