"""Spans of requests, upstream calls and the store, as a collector sees them."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from app import spans as module
from app.spans import NoSpans, spans
from tests.support.client import Gateway
from tests.support.fake_upstream import FakeUpstream, answer, chunk, failure, sse

Told = Callable[[], dict[str, ReadableSpan]]


@pytest.fixture(autouse=True)
def decided_anew() -> Iterator[None]:
    spans.cache_clear()
    yield
    spans.cache_clear()


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """The ended spans by name, as a host's own provider gets them."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(module, "_host_provider", lambda: provider)
    return lambda: {span.name: span for span in exporter.get_finished_spans()}


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def ask(gateway: Gateway, headers: dict[str, str] | None = None, **fields: Any) -> bytes:
    """The body of a reply that was read to its end and closed, as a server does."""
    with gateway.post(headers=headers, **fields) as reply:
        return reply.get_data()


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_its_upstream_call_and_its_store_make_one_trace(
    gateway: Gateway, upstream: FakeUpstream, told: Told, stream: bool
) -> None:
    said = ask(gateway, stream=stream)
    found = told()
    server, call, save = found["POST /v1/responses"], found["chat m"], found["store save"]
    assert (server.kind, call.kind, save.kind) == (SpanKind.SERVER, SpanKind.CLIENT, SpanKind.INTERNAL)
    assert server.parent is None
    assert call.parent == save.parent == server.context
    assert attributes(server) == {
        "http.request.method": "POST",
        "url.path": "/v1/responses",
        "http.route": "/v1/responses",
        "http.response.status_code": 200,
    }
    assert attributes(call) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai_compatible",
        "gen_ai.request.model": "m",
        "gen_ai.response.id": re.search(rb"resp_[0-9a-f]+", said)[0].decode(),  # type: ignore[index]
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 5,
        "godex.provider": "up",
        "godex.stream": stream,
        "godex.status": "completed",
    }


def test_the_clients_trace_goes_on_at_the_upstream(gateway: Gateway, upstream: FakeUpstream, told: Told) -> None:
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    ask(gateway, headers={"traceparent": f"00-{trace}-{parent}-01"})
    server, call = told()["POST /v1/responses"], told()["chat m"]
    assert server.context is not None and server.parent is not None and call.context is not None
    assert (f"{server.context.trace_id:032x}", f"{server.parent.span_id:016x}") == (trace, parent)
    assert upstream.requests[0].headers["traceparent"] == f"00-{trace}-{call.context.span_id:016x}-01"


def test_a_refusal_is_an_error_of_the_call(gateway: Gateway, upstream: FakeUpstream, told: Told) -> None:
    upstream.script("m", failure(500, "down"))
    ask(gateway)
    found = told()
    assert attributes(found["chat m"])["error.type"] == "provider.upstream.server_error"
    assert not found["chat m"].status.is_ok
    assert attributes(found["POST /v1/responses"])["error.type"] == "502"


def test_a_stream_that_breaks_off_is_an_error_of_the_call_only(
    gateway: Gateway, upstream: FakeUpstream, told: Told
) -> None:
    upstream.script("m", sse(chunk(content="half"), cut_after=1))
    ask(gateway, stream=True)
    found = told()
    assert attributes(found["chat m"])["godex.status"] == "failed"
    assert attributes(found["chat m"])["error.type"] == "provider.upstream.cut"
    assert "error.type" not in attributes(found["POST /v1/responses"])


def test_each_round_of_an_answer_is_a_call(gateway: Gateway, upstream: FakeUpstream, told: Told) -> None:
    upstream.script("m", answer("no JSON"), answer('{"a": 1}'))
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    gateway.create(text={"format": {"type": "json_schema", "name": "n", "schema": schema, "strict": True}})
    provider = module._host_provider()
    exporter = provider._active_span_processor._span_processors[0].span_exporter
    calls = [span for span in exporter.get_finished_spans() if span.name == "chat m"]
    assert [attributes(call)["godex.status"] for call in calls] == ["asked again", "completed"]


def test_no_span_holds_what_people_wrote(gateway: Gateway, told: Told) -> None:
    ask(gateway, input="a secret thought", instructions="a secret rule", metadata={"k": "a secret note"})
    assert "secret" not in "".join(span.to_json() for span in told().values())


def test_without_a_collector_nothing_is_done(monkeypatch: pytest.MonkeyPatch, gateway: Gateway, upstream: Any) -> None:
    for name in module.ENDPOINTS:
        monkeypatch.delenv(name, raising=False)
    gateway.create()
    assert type(spans()) is NoSpans
    assert "traceparent" not in upstream.requests[0].headers


def test_spans_go_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, gateway: Gateway) -> None:
    received: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Not on the terminal."""

    server = HTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        gateway.create()
        gateway.client.application.extensions["godex"].close()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert {path for path, _ in received} == {"/v1/traces"}
    sent = b"".join(body for _, body in received)
    assert b"chat m" in sent and b"service.name" in sent and b"godex" in sent
