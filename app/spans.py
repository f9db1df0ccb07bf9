"""OpenTelemetry spans for those who run a collector (the extra `otel`): each request, its upstream calls, the store.

Switched on by OpenTelemetry's own variables: $OTEL_EXPORTER_OTLP_ENDPOINT says where spans go, $OTEL_SERVICE_NAME,
$OTEL_TRACES_SAMPLER and the others mean what they always do. In a host application that has set up a tracer provider,
that one is used. Names follow the semantic conventions for HTTP and for generative AI; no span holds what people wrote.
"""

from __future__ import annotations

import functools
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final

from bridge.errors import GodeXError

from .version import VERSION

if TYPE_CHECKING:
    from .context import ResponsesContext

Span = Any

log = logging.getLogger("godex")

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


_NOTHING: Final = nullcontext()


class NoSpans:
    """Costs a call of an empty function."""

    def request(self, method: str, path: str, headers: Any) -> Span:
        """A request begins; headers (with a method `get`) may hold the client's `traceparent`."""

    def request_ended(self, span: Span, route: str, status: int) -> None:
        """route: "/v1/responses", the same for all requests that are served alike."""

    def upstream(self, parent: Span, context: ResponsesContext) -> Span:
        """The upstream is asked."""

    def upstream_ended(
        self,
        span: Span,
        context: ResponsesContext,
        status: str,
        usage: dict[str, Any] | None = None,
        error: BaseException | None = None,
    ) -> None:
        """status: as the response ended, "refused", or "asked again"; error: what went wrong."""

    def headers(self, span: Span) -> dict[str, str]:
        """What carries the trace on to the upstream."""
        return {}

    def store(self, parent: Span, operation: str) -> AbstractContextManager[None]:
        """Around one operation of the session store."""
        return _NOTHING

    def close(self, timeout: float) -> None:
        """Send what waits, for `timeout` seconds at most."""


class Spans(NoSpans):
    def __init__(self, provider: Any, owned: bool) -> None:
        """owned: nobody else shuts the provider down."""
        from opentelemetry import trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._trace = trace
        self._tracer = provider.get_tracer("godex", VERSION)
        self._propagator = TraceContextTextMapPropagator()
        self._provider = provider if owned else None

    def request(self, method: str, path: str, headers: Any) -> Span:
        carrier = {name: value for name in ("traceparent", "tracestate") if (value := headers.get(name))}
        return self._tracer.start_span(
            f"{method} {path}",
            context=self._propagator.extract(carrier),
            kind=self._trace.SpanKind.SERVER,
            attributes={"http.request.method": method, "url.path": path},
        )

    def request_ended(self, span: Span, route: str, status: int) -> None:
        if span is not None:
            method = span.attributes.get("http.request.method", "") if span.is_recording() else ""
            span.update_name(f"{method} {route}".strip())
            span.set_attributes({"http.route": route, "http.response.status_code": status})
            if status >= 500:
                self._fail(span, str(status))
            span.end()

    def upstream(self, parent: Span, context: ResponsesContext) -> Span:
        return self._tracer.start_span(
            f"chat {context.target.model}",
            context=self._below(parent),
            kind=self._trace.SpanKind.CLIENT,
            attributes={
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": context.provider.spec.name,
                "gen_ai.request.model": context.target.model,
                "gen_ai.response.id": context.response_id,
                "godex.provider": context.target.provider,
                "godex.stream": context.streams,
            },
        )

    def upstream_ended(
        self,
        span: Span,
        context: ResponsesContext,
        status: str,
        usage: dict[str, Any] | None = None,
        error: BaseException | None = None,
    ) -> None:
        if span is None:
            return
        span.set_attribute("godex.status", status)
        if context.turn.finish_reason:
            span.set_attribute("gen_ai.response.finish_reasons", [context.turn.finish_reason])
        if usage is not None:
            span.set_attribute("gen_ai.usage.input_tokens", usage["input_tokens"])
            span.set_attribute("gen_ai.usage.output_tokens", usage["output_tokens"])
        if error is not None:
            self._fail(span, error.code if isinstance(error, GodeXError) else type(error).__name__)
        span.end()

    def headers(self, span: Span) -> dict[str, str]:
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier, context=self._below(span))
        return carrier

    @contextmanager
    def store(self, parent: Span, operation: str) -> Iterator[None]:
        if parent is None:  # of no request
            yield
            return
        with self._tracer.start_as_current_span(f"store {operation}", context=self._below(parent)):
            yield

    def close(self, timeout: float) -> None:
        if self._provider is not None:
            self._provider.force_flush(int(timeout * 1000))

    def _below(self, parent: Span) -> Any:
        return None if parent is None else self._trace.set_span_in_context(parent)

    def _fail(self, span: Span, kind: str) -> None:
        span.set_attribute("error.type", kind)
        span.set_status(self._trace.StatusCode.ERROR)


@functools.cache
def spans() -> NoSpans:
    """Decided once in a process, at the first request: by then a host has set up what it wants."""
    try:
        provider = _host_provider()
        if provider is not None:
            return Spans(provider, owned=False)
        if any(os.environ.get(name) for name in ENDPOINTS):
            return Spans(_own_provider(), owned=True)
    except ImportError:
        log.warning("spans are asked for, but the extra `otel` is not installed")
    return NoSpans()


def _host_provider() -> Any:
    """The one that was set for the whole process; None where nobody did."""
    trace = sys.modules.get("opentelemetry.trace")
    provider = trace.get_tracer_provider() if trace is not None else None
    return provider if hasattr(provider, "add_span_processor") else None


def _own_provider() -> Any:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    named = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "godex"}
    provider = TracerProvider(resource=Resource.create({**named, "service.version": VERSION}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider
