"""A scripted Chat Completions server on 127.0.0.1, for tests that need time, cuts or silence.

In a test:

    with FakeUpstream() as upstream:
        upstream.script("m", answer("Hello"), failure(429, "slow down", headers={"Retry-After": "1"}))
        ...                                     # POST upstream.url + "/chat/completions"
        assert upstream.requests[0].body["model"] == "m"

In place of an answer a function can stand that makes one of the request's body.

As a process (`python -m tests.support.fake_upstream --port 9000`), scripted over HTTP:

    POST /_script    {"model": "m", "answers": [{…fields of Answer…}], "repeat": false}
    GET  /_requests  the recorded requests, oldest first
    POST /_reset     forgets scripts and requests

Every POST elsewhere takes the next answer of the queue that its body's `model` names.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.support.answers import Answer, Compressor, answer, body, chunk, failure, sse, streamed, whole, wire

__all__ = ["Answer", "FakeUpstream", "Recorded", "answer", "body", "chunk", "failure", "sse"]

Scripted = Answer | Callable[[Any], Answer]

FOREVER = 600.0  # seconds; a stall ends earlier when the client or the test leaves


@dataclass
class Recorded:
    """One request. outcome: open, done, cut (by us) or client_gone (the client closed before the end)."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    outcome: str = "open"
    chunks_sent: int = 0
    connection: int = 0  # counts the connections of this server, so that reuse can be seen

    @property
    def model(self) -> str | None:
        return self.body.get("model") if isinstance(self.body, dict) else None


class FakeUpstream:
    """The server, running on a thread from construction to close()."""

    def __init__(self, port: int = 0, certificate: str | None = None) -> None:
        """certificate: path of a PEM file with key and certificate; given one, the server speaks TLS."""
        self.requests: list[Recorded] = []
        self.default: Answer = answer("Hello from upstream.")
        self.stopping = threading.Event()
        self.connections = 0
        self._scripts: dict[str, tuple[list[Scripted], bool]] = {}
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.upstream = self
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        scheme = "https" if certificate else "http"
        self.port: int = self._server.server_address[1]
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def script(self, model: str, *answers: Scripted, repeat: bool = False) -> None:
        """Queue answers for a model, in place of what was queued; repeat: the last one stays."""
        with self._lock:
            self._scripts[model] = (list(answers), repeat)

    def reset(self) -> None:
        with self._lock:
            self._scripts.clear()
            self.requests.clear()

    def wait_for_outcome(self, index: int = -1, seconds: float = 5.0) -> str:
        """The outcome of a request once it is settled; "open" when it is not within the time."""
        end = time.monotonic() + seconds
        while self.requests[index].outcome == "open" and time.monotonic() < end:
            time.sleep(0.005)
        return self.requests[index].outcome

    def record(self, request: Recorded) -> Answer:
        with self._lock:
            self.requests.append(request)
            answers, repeat = self._scripts.get(request.model or "", ([self.default], True))
            if not answers:
                return failure(500, f"the script of {request.model} is used up", code="script_used_up")
            chosen = answers[0] if repeat and len(answers) == 1 else answers.pop(0)
        return chosen(request.body) if callable(chosen) else chosen


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 512
    upstream: FakeUpstream

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are what the tests are about: no traceback for them."""


class _ClientGone(Exception):
    pass


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.upstream = self.server.upstream
        self.upstream.connections += 1
        self.number = self.upstream.connections
        # A second descriptor of the same connection, so that a TLS connection can be peeked at as well.
        self.probe = socket.socket(fileno=os.dup(self.connection.fileno()))

    def finish(self) -> None:
        self.probe.close()
        super().finish()

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""

    def do_GET(self) -> None:
        if self.path == "/_requests":
            self._send_json([asdict(request) for request in self.upstream.requests])
        else:
            self._send_json({"object": "list", "data": []})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            parsed = json.loads(raw) if raw else None
        except ValueError:
            parsed = raw.decode("utf-8", "replace")
        if self.path == "/_script":
            answers = [Answer(**{k: _tuple(v) for k, v in a.items()}) for a in parsed["answers"]]
            self.upstream.script(parsed["model"], *answers, repeat=parsed.get("repeat", False))
            return self._send_json({"ok": True})
        if self.path == "/_reset":
            self.upstream.reset()
            return self._send_json({"ok": True})
        headers = {name.lower(): value for name, value in self.headers.items()}
        record = Recorded(self.command, self.path, headers, parsed, connection=self.number)
        chosen = self.upstream.record(record)
        try:
            self._play(chosen, record)
            if record.outcome == "open":
                record.outcome = "done"
        except (_ClientGone, OSError):
            record.outcome = "client_gone"
            self.close_connection = True

    def _play(self, chosen: Answer, record: Recorded) -> None:
        self._wait(chosen.delay)
        if chosen.stall:
            self._wait(FOREVER)
        if chosen.stall or chosen.drop:
            return self._cut(chosen, record)
        asked = record.body if isinstance(record.body, dict) else {}
        if chosen.message is not None:
            chosen = streamed(chosen, asked) if asked.get("stream") else whole(chosen, asked)
        if chosen.chunks is not None:
            return self._stream(chosen, record)
        value = chosen.body
        data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        if not isinstance(data, bytes):
            data = json.dumps(data).encode()
        plain = "text/html" if data.lstrip().startswith(b"<") else "text/plain"
        kind = plain if isinstance(value, (str, bytes)) else "application/json"
        if chosen.gzip:
            data = gzip.compress(data)
        cut = chosen.cut_after is not None
        self._head(chosen, {"Content-Type": kind, "Content-Length": str(len(data))})
        self.wfile.write(data[: len(data) // 2] if cut else data)
        if cut:
            self._cut(chosen, record)

    def _stream(self, chosen: Answer, record: Recorded) -> None:
        chunked = chosen.framing == "chunked"
        framing = {"Transfer-Encoding": "chunked"} if chunked else {"Connection": "close"}
        self._head(chosen, {"Content-Type": "text/event-stream", **framing})
        compressor = Compressor() if chosen.gzip else None
        parts = [*(chosen.chunks or ()), *(["data: [DONE]\n\n"] if chosen.done else [])]
        for number, part in enumerate(parts):
            if number == chosen.cut_after:
                return self._cut(chosen, record)
            if number == chosen.stall_after:
                self._wait(FOREVER)
                return self._cut(chosen, record)
            self._wait(chosen.pause if number else 0)
            if isinstance(part, dict) and set(part) == {"pause"}:
                self._wait(part["pause"])
                continue
            data = wire(part, chosen.crlf)
            if compressor is not None:
                data = compressor.flushed(data)
            step = chosen.split or len(data) or 1
            for start in range(0, len(data), step):
                self._write(data[start : start + step], chunked)
            record.chunks_sent += 1
        if compressor is not None:
            self._write(compressor.end(), chunked)
        if chunked:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True

    def _head(self, chosen: Answer, headers: dict[str, str]) -> None:
        self.send_response(chosen.status)
        encoding = {"Content-Encoding": "gzip"} if chosen.gzip else {}
        for name, value in {**headers, **encoding, **chosen.headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _write(self, data: bytes, chunked: bool) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data) if chunked else data)

    def _wait(self, seconds: float) -> None:
        """Silence that ends when the client or the test leaves."""
        end = time.monotonic() + seconds
        while True:
            if self.upstream.stopping.is_set() or self._client_left():
                raise _ClientGone
            left = end - time.monotonic()
            if left <= 0:
                return
            self.upstream.stopping.wait(min(left, 0.02))

    def _client_left(self) -> bool:
        poll = select.poll()
        poll.register(self.probe, select.POLLIN)
        if not poll.poll(0):
            return False
        try:
            return self.probe.recv(1, socket.MSG_PEEK) == b""
        except OSError:
            return True

    def _cut(self, chosen: Answer, record: Recorded) -> None:
        record.outcome = "cut"
        self.close_connection = True
        if chosen.reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            for handle in (self.probe, self.rfile, self.wfile, self.connection):
                handle.close()

    def _send_json(self, value: Any) -> None:
        data = json.dumps(value).encode()
        self._head(Answer(), {"Content-Type": "application/json", "Content-Length": str(len(data))})
        self.wfile.write(data)


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    with FakeUpstream(parser.parse_args().port) as upstream, contextlib.suppress(KeyboardInterrupt):
        print(upstream.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
