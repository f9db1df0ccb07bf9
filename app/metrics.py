"""What Prometheus may ask, on /metrics. All of it is counted per request or once a second, nothing per delta.

    godex_http_requests_total{route,method,status}          answered requests by HTTP status
    godex_responses_total{provider,model,status}            completed, incomplete, failed, client_disconnected, refused
    godex_response_seconds{provider,model}                  from the request to the last event
    godex_first_event_seconds{provider,model}               from the request to the first output item
    godex_overhead_seconds                                  from the request to the call of its upstream
    godex_tokens_total{provider,model,kind}                 input, of which cached; output, of which reasoning
    godex_diagnostics_total{action}                         degraded, ignored, repaired
    godex_upstream_errors_total{provider,code}              refusals and broken answers, by domain code
    godex_upstream_retries_total{provider,code}             calls that were repeated, by what made that necessary
    godex_fallbacks_total{provider,to}                      requests that another provider/model was asked instead
    godex_upstream_keys_ready{provider}                     keys that are not resting (lowest of the workers)
    godex_upstream_breaker_open{provider}                   1 while the upstream is not asked (highest of the workers)
    godex_store_seconds{operation}                          time that the session store took
    godex_store_errors_total{operation,code}
    godex_spool_waiting, godex_spool_bytes                  responses that wait for the store
    godex_spool_delivered_total, godex_spool_lost_total
    godex_trace_waiting                                     rows that wait to be written
    godex_trace_written_total, godex_trace_dropped_total
    godex_limited_total{key,limit}                          requests refused by a limit of an API key
    godex_requests_in_progress, godex_streams_in_progress
    godex_event_loop_lag_seconds                            of the slowest worker, measured once a second
    godex_worker_memory_bytes{pid}                          resident
    godex_draining_workers                                  workers that are about to stop

Gauges are sums over the workers unless the table says otherwise.

Import this module only in the process that serves: prometheus_client looks at $PROMETHEUS_MULTIPROC_DIR when it is
imported, and app/server.py sets that before the workers are forked.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from bridge.errors import GodeXError, ProviderError

from .drain import current, process_drain
from .metrics_folder import VARIABLE
from .spans import spans

if TYPE_CHECKING:
    from .context import ResponsesContext
    from .gateway import Gateway
    from .sessions.store import SessionStore

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
MOST_MODELS: Final = 100  # labels; clients name models, and could name a new one with each request
OTHER: Final = "other"
TIMED: Final = frozenset(
    {"get", "get_many", "resolve_chain", "save", "delete", "list_children", "setting", "remember", "recall", "ping"}
)

_SHORT: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
_FIRST: Final = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120)
_LONG: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")

T = TypeVar("T")
GaugeMode = Literal["livesum", "livemax", "livemin", "liveall"]


@functools.cache
def metrics() -> Metrics:
    """Those of this process, whichever applications it holds: one scrape shows them together."""
    return Metrics()


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._http = self._counter("http_requests", "Answered requests.", "route", "method", "status")
        self._responses = self._counter("responses", "Responses by how they ended.", "provider", "model", "status")
        self._seconds = self._histogram("response_seconds", "Request to last event.", _LONG, "provider", "model")
        self._first = self._histogram("first_event_seconds", "Request to first item.", _FIRST, "provider", "model")
        self._overhead = self._histogram("overhead_seconds", "Request to call of the upstream.", _SHORT)
        self._tokens = self._counter("tokens", "Tokens by kind.", "provider", "model", "kind")
        self._diagnostics = self._counter("diagnostics", "Deviations from what was asked.", "action")
        self._upstream_errors = self._counter("upstream_errors", "Upstream failures.", "provider", "code")
        self._retries = self._counter("upstream_retries", "Repeated upstream calls.", "provider", "code")
        self._fallbacks = self._counter("fallbacks", "Requests given to another provider.", "provider", "to")
        self._keys_ready = self._gauge("upstream_keys_ready", "Keys that are not resting.", "livemin", "provider")
        self._breaker = self._gauge("upstream_breaker_open", "1 while not asked.", "livemax", "provider")
        self._store_seconds = self._histogram("store_seconds", "Time that the store took.", _SHORT, "operation")
        self._store_errors = self._counter("store_errors", "Failures of the store.", "operation", "code")
        self._spool_waiting = self._gauge("spool_waiting", "Responses that wait for the store.")
        self._spool_bytes = self._gauge("spool_bytes", "Their bytes.")
        self._spool_delivered = self._counter("spool_delivered", "Responses stored late.")
        self._spool_lost = self._counter("spool_lost", "Responses that were never stored.")
        self._trace_waiting = self._gauge("trace_waiting", "Trace rows that wait to be written.")
        self._trace_written = self._counter("trace_written", "Trace rows written.")
        self._trace_dropped = self._counter("trace_dropped", "Trace rows dropped.")
        self._limited = self._counter("limited", "Requests refused by a limit.", "key", "limit")
        self._requests = self._gauge("requests_in_progress", "Requests in progress.")
        self._streams = self._gauge("streams_in_progress", "Streams in progress.")
        self._lag = self._gauge("event_loop_lag_seconds", "Of the slowest worker.", "livemax")
        self._memory = self._gauge("worker_memory_bytes", "Resident memory.", "liveall")
        self._draining = self._gauge("draining_workers", "Workers about to stop.")
        self._models: dict[tuple[str, str], _OfModel] = {}
        self._seen: dict[tuple[int, str], int] = {}  # totals kept elsewhere, as of the last sample

    # Per request

    def request_answered(self, route: str, method: str, status: int) -> None:
        self._http.labels(route, method, str(status)).inc()

    def upstream_called(self, seconds: float) -> None:
        """seconds: since the request arrived."""
        self._overhead.observe(seconds)

    def upstream_refused(self, context: ResponsesContext, error: ProviderError) -> None:
        """The call was not accepted."""
        self._of_model(context).refused.inc()
        self._upstream_errors.labels(context.target.provider, error.code).inc()

    def response_ended(self, context: ResponsesContext, status: str, usage: dict[str, Any] | None) -> None:
        """status: the response's, or client_disconnected."""
        of_model = self._of_model(context)
        of_model.ended(status).inc()
        of_model.seconds.observe(time.monotonic() - context.started)
        if context.first_event is not None:
            of_model.first.observe(context.first_event - context.started)
        if usage is not None:
            of_model.count_tokens(usage)
        for note in context.notes.entries:
            self._diagnostics.labels(note.action).inc()
        if isinstance(context.error, ProviderError):
            self._upstream_errors.labels(context.target.provider, context.error.code).inc()

    def fell_back(self, provider: str, to: str) -> None:
        """to: provider/model."""
        self._fallbacks.labels(provider, to).inc()

    def limited(self, key: str, limit: str) -> None:
        """key: its name."""
        self._limited.labels(key, limit).inc()

    def upstream_retried(self, provider: str, code: str) -> None:
        """A call is about to be repeated; code: the domain code of what failed."""
        self._retries.labels(provider, code).inc()

    # For the session store

    def timed(self, operation: str, call: Callable[[], T]) -> T:
        started = time.monotonic()
        try:
            with spans().store(current().span, operation):
                return call()
        except GodeXError as error:
            self._store_errors.labels(operation, error.code).inc()
            raise
        finally:
            self._store_seconds.labels(operation).observe(time.monotonic() - started)

    # Once a second

    def sample(self, gateway: Gateway, lag: float | None = None) -> None:
        """States that somebody else keeps. lag: seconds by which the event loop was late."""
        self._requests.set(len(process_drain))
        self._streams.set(process_drain.streams)
        self._draining.set(process_drain.draining)
        self._memory.set(_resident_memory())
        if lag is not None:
            self._lag.set(lag)
        for name, client in gateway.clients.items():
            keys, breaker = getattr(client, "keys", None), getattr(client, "breaker", None)
            if keys is not None:
                self._keys_ready.labels(name).set(keys.ready)
            if breaker is not None:
                self._breaker.labels(name).set(breaker.state == "open")
        spool = getattr(gateway.opened_store, "counters", None)
        if spool is not None:
            self._spool_waiting.set(spool.waiting)
            self._spool_bytes.set(spool.waiting_bytes)
            self._count_up(gateway, self._spool_delivered, "delivered", spool.delivered)
            self._count_up(gateway, self._spool_lost, "lost", spool.dropped + spool.conflicts)
        trace = gateway.trace
        self._trace_waiting.set(trace.waiting)
        self._count_up(gateway, self._trace_written, "written", trace.written)
        self._count_up(gateway, self._trace_dropped, "dropped", trace.dropped)

    def _count_up(self, gateway: Gateway, counter: Counter, name: str, total: int) -> None:
        seen = self._seen.get((id(gateway), name), 0)
        if total > seen:
            counter.inc(total - seen)
        self._seen[id(gateway), name] = total

    # Making and showing

    def exposition(self) -> bytes:
        """Prometheus's text format: of all workers where they share a folder, else of this process."""
        if VARIABLE not in os.environ:
            return generate_latest(self.registry)
        everybody = CollectorRegistry()
        MultiProcessCollector(everybody)
        return generate_latest(everybody)

    def _of_model(self, context: ResponsesContext) -> _OfModel:
        names = context.target.provider, context.target.model
        found = self._models.get(names)
        if found is None:
            if len(self._models) >= MOST_MODELS:
                names = context.target.provider, OTHER
            found = self._models[names] = self._models.get(names) or _OfModel(self, *names)
        return found

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"godex_{name}", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(f"godex_{name}", text, labels, buckets=buckets, registry=self.registry)

    def _gauge(self, name: str, text: str, mode: GaugeMode = "livesum", *labels: str) -> Gauge:
        return Gauge(f"godex_{name}", text, labels, multiprocess_mode=mode, registry=self.registry)


class _OfModel:
    """The series of one model, looked up once."""

    def __init__(self, metrics: Metrics, provider: str, model: str) -> None:
        self._responses = functools.partial(metrics._responses.labels, provider, model)
        self._ended: dict[str, Counter] = {}
        self.refused = self._responses("refused")
        self.seconds = metrics._seconds.labels(provider, model)
        self.first = metrics._first.labels(provider, model)
        self._tokens = {
            kind: metrics._tokens.labels(provider, model, kind) for kind in ("input", "cached", "output", "reasoning")
        }

    def ended(self, status: str) -> Counter:
        if status not in self._ended:
            self._ended[status] = self._responses(status)
        return self._ended[status]

    def count_tokens(self, usage: dict[str, Any]) -> None:
        self._tokens["input"].inc(usage["input_tokens"])
        self._tokens["cached"].inc(usage["input_tokens_details"]["cached_tokens"] or 0)
        self._tokens["output"].inc(usage["output_tokens"])
        self._tokens["reasoning"].inc(usage["output_tokens_details"]["reasoning_tokens"] or 0)


class TimedStore:
    """A session store whose operations are timed; everything else is the store's own."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._store, name)
        if name not in TIMED:
            return attribute

        def timed(*args: Any, **kwargs: Any) -> Any:
            return metrics().timed(name, lambda: attribute(*args, **kwargs))

        self.__dict__[name] = timed
        return timed


def _resident_memory() -> int:
    """Bytes; 0 where the system has no /proc."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except OSError:
        return 0
