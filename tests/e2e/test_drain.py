"""TERM and HUP under load: every stream ends with a terminal event, and no worker has to be killed."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import simple_websocket

from tests.support.client import read_events
from tests.support.fake_upstream import Answer, FakeUpstream, chunk, sse
from tests.support.invariants import TERMINALS, check_stream
from tests.support.served import Served

pytestmark = pytest.mark.e2e

PATIENCE = 20.0  # seconds until something that hangs is a failure
HALF = chunk(content="half ")


@pytest.fixture
def start(upstream: FakeUpstream, tmp_path: Path) -> Iterator[Callable[[int], Served]]:
    """start(graceful_timeout): a gateway of its own for the test."""
    started: list[Served] = []
    upstream.reset()

    def starting(graceful_timeout: int) -> Served:
        up = {"spec": "openai_compatible", "endpoint": {"base_url": upstream.url}, "credentials": {"api_key": "k"}}
        config = {
            "server": {"heartbeat": 0.3, "graceful_timeout": graceful_timeout},
            "providers": {"up": {**up, "retry": {"attempts": 1}}},
            "session": {"backend": "sqlite", "sqlite": {"path": str(tmp_path / "sessions.db")}},
            "trace": {"path": str(tmp_path / "trace.db")},
        }
        started.append(Served(config, tmp_path))
        return started[-1]

    yield starting
    for gateway in started:
        gateway.stop()
        assert "Traceback" not in gateway.log, gateway.log


class Asking(threading.Thread):
    """A request of its own connection; `status`, `headers` and `body` of the whole reply once it is joined."""

    def __init__(self, gateway: Served, model: str, stream: bool) -> None:
        super().__init__(daemon=True)
        self._gateway = gateway
        self._sent = json.dumps({"model": model, "input": "x", "stream": stream})
        self.start()

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._gateway.port, timeout=PATIENCE)
        connection.request("POST", "/v1/responses", self._sent)
        reply = connection.getresponse()
        self.status, self.headers, self.body = reply.status, reply.headers, reply.read()
        connection.close()


def wait_for(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.02)


def calls(upstream: FakeUpstream, model: str) -> int:
    return sum(request.model == model for request in upstream.requests)


def ended(gateway: Served, sent: signal.Signals, workers: set[int]) -> None:
    """Waits until the workers that were told to stop have stopped, by themselves."""
    if sent is signal.SIGTERM:
        assert gateway.process.wait(PATIENCE) == 0
    else:
        wait_for(lambda: not workers & gateway.workers(), "the old workers are gone")
    assert "SIGKILL" not in gateway.log, gateway.log


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP], ids=["TERM", "HUP"])
def test_what_runs_longer_than_the_grace_ends_with_a_clear_word(start: Any, upstream: FakeUpstream, sent: Any) -> None:
    upstream.script("silent", sse(HALF, stall_after=1), repeat=True)
    upstream.script("busy", sse(*[HALF] * 5000, pause=0.01), repeat=True)
    upstream.script("speechless", Answer(stall=True), repeat=True)
    gateway = start(4)
    streams = [Asking(gateway, model, stream=True) for model in ("silent", "busy") for _ in range(10)]
    waiting = [
        Asking(gateway, "speechless", stream=False),
        Asking(gateway, "speechless", stream=True),
        Asking(gateway, "silent", stream=False),
    ]
    wait_for(lambda: calls(upstream, "silent") == 11 and calls(upstream, "busy") == 10, "all streams run")
    wait_for(lambda: calls(upstream, "speechless") == 2, "all requests wait")
    workers = gateway.workers()
    gateway.process.send_signal(sent)
    for request in streams + waiting:
        request.join(PATIENCE)

    for stream in streams:
        response = check_stream(read_events(stream.body))
        assert response["status"] == "failed"
        assert response["error"] == {
            "code": "server_error",
            "message": "This gateway process is stopping; send the request again.",
        }
    for request in waiting:
        assert (request.status, request.headers["Retry-After"]) == (503, "1")
        assert json.loads(request.body)["error"]["code"] == "server.process.draining"
    ended(gateway, sent, workers)
    assert all(call.outcome == "client_gone" for call in upstream.requests if call.model in ("silent", "busy"))


def test_an_interrupted_response_is_stored_as_failed(start: Any, upstream: FakeUpstream) -> None:
    upstream.script("kept", sse(HALF, stall_after=1))
    gateway = start(4)
    stream = Asking(gateway, "kept", stream=True)
    wait_for(lambda: calls(upstream, "kept") == 1, "the stream runs")
    gateway.process.send_signal(signal.SIGHUP)
    stream.join(PATIENCE)
    response = check_stream(read_events(stream.body))
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=PATIENCE)
    connection.request("GET", f"/v1/responses/{response['id']}")  # a new worker answers
    assert json.loads(connection.getresponse().read())["status"] == "failed"
    connection.close()


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP], ids=["TERM", "HUP"])
def test_what_ends_within_the_grace_ends_as_if_nothing_were(start: Any, upstream: FakeUpstream, sent: Any) -> None:
    upstream.script("short", sse(*[HALF] * 20, chunk(finish="stop"), pause=0.05), repeat=True)
    gateway = start(30)
    streams = [Asking(gateway, "short", stream=True) for _ in range(10)]
    wait_for(lambda: calls(upstream, "short") == 10, "all streams run")
    workers = gateway.workers()
    gateway.process.send_signal(sent)
    for stream in streams:
        stream.join(PATIENCE)
        assert check_stream(read_events(stream.body))["status"] == "completed"
    ended(gateway, sent, workers)


def test_curl_sees_a_clean_end(start: Any, upstream: FakeUpstream) -> None:
    upstream.script("curl", sse(HALF, stall_after=1))
    gateway = start(4)
    curl = subprocess.Popen(
        ["curl", "-sS", "-N", f"{gateway.url}/v1/responses", "-H", "Content-Type: application/json"]
        + ["-d", '{"model": "curl", "input": "x", "stream": true}'],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_for(lambda: calls(upstream, "curl") == 1, "the stream runs")
    gateway.process.terminate()
    said, complaints = curl.communicate(timeout=PATIENCE)
    assert (curl.returncode, complaints) == (0, b"")
    assert check_stream(read_events(said))["status"] == "failed"


def test_an_idle_connection_is_served_for_a_moment_and_then_closed(start: Any) -> None:
    gateway = start(60)
    connections = [http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=PATIENCE) for _ in range(6)]

    def ready(connection: http.client.HTTPConnection) -> http.client.HTTPResponse:
        connection.request("GET", "/health/ready")
        reply = connection.getresponse()
        assert reply.read()
        return reply

    assert {ready(connection).status for connection in connections} == {200}
    gateway.process.terminate()
    wait_for(lambda: refuses(gateway.port), "nobody listens any more")
    late = ready(connections[0])
    assert (late.status, late.headers["Connection"]) == (503, "close")
    assert gateway.process.wait(PATIENCE) == 0  # the others send nothing
    for connection in connections:
        connection.close()


def refuses(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except ConnectionRefusedError:
        return True
    return False


def test_sockets_are_closed_at_once_when_idle_and_after_their_answer_when_not(
    start: Any, upstream: FakeUpstream
) -> None:
    upstream.script("socket", sse(HALF, stall_after=1))
    gateway = start(6)
    idle, busy = (simple_websocket.Client(f"ws://127.0.0.1:{gateway.port}/v1/responses") for _ in range(2))
    busy.send(json.dumps({"type": "response.create", "model": "socket", "input": "x"}))
    wait_for(lambda: calls(upstream, "socket") == 1, "the answer runs")
    gateway.process.terminate()
    with pytest.raises(simple_websocket.ConnectionClosed) as closed:
        idle.receive(timeout=3)  # 4 s: that is when the busy one is interrupted
    assert (closed.value.reason, busy.connected) == (1012, True)
    events = []
    while not events or events[-1]["type"] not in TERMINALS:
        events.append(json.loads(busy.receive(timeout=PATIENCE) or "{}"))
    assert check_stream(events)["status"] == "failed"
    with pytest.raises(simple_websocket.ConnectionClosed) as closed:
        busy.receive(timeout=PATIENCE)
    assert closed.value.reason == 1012
    ended(gateway, signal.SIGTERM, set())


def test_a_client_that_does_not_read_is_cut_off_in_time(start: Any, upstream: FakeUpstream) -> None:
    upstream.script("flood", sse(*[chunk(content="x" * 10_000)] * 2000))
    gateway = start(3)
    body = b'{"model": "flood", "input": "x", "stream": true}'
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", gateway.port))
        deaf.sendall(b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        wait_for(lambda: calls(upstream, "flood") == 1, "the stream runs")
        time.sleep(0.3)  # buffers fill up on every side
        gateway.process.terminate()
        assert gateway.process.wait(PATIENCE) == 0
    assert "had to be cut off: 1" in gateway.log
    assert "SIGKILL" not in gateway.log
