"""deploy/nginx.conf as it is: streams, sockets, limits, replicas that come and go."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import simple_websocket

from tests.support.client import read_events
from tests.support.fake_upstream import FakeUpstream, answer, chunk, sse
from tests.support.invariants import check_stream
from tests.support.nginx import Nginx
from tests.support.redis_server import RedisServer
from tests.support.served import Served

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

HALF = chunk(content="half ")


@pytest.fixture
def nginx(served: Served, tmp_path: Path) -> Iterator[Nginx]:
    with Nginx(tmp_path / "nginx", served.port) as front:
        yield front


@contextmanager
def asking(port: int, **fields: Any) -> Iterator[http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("POST", "/v1/responses", json.dumps({"input": "x", **fields}))
        with connection.getresponse() as reply:
            yield reply
    finally:
        connection.close()


def post(port: int, **fields: Any) -> tuple[int, bytes]:
    """Status and body."""
    with asking(port, **fields) as reply:
        return reply.status, reply.read()


def test_nginx_is_content_with_the_file(tmp_path: Path) -> None:
    assert "test is successful" in Nginx(tmp_path, 5678).check()


def test_events_arrive_while_the_upstream_still_speaks(nginx: Nginx, upstream: FakeUpstream) -> None:
    upstream.script("live", sse(HALF, stall_after=1))
    heard = b""
    with asking(nginx.port, model="live", stream=True) as reply:
        while b'"delta":"half "' not in heard or b": ping" not in heard:
            heard += reply.readline()


def test_a_client_that_leaves_stops_the_upstream_through_nginx(nginx: Nginx, upstream: FakeUpstream) -> None:
    upstream.script("left", sse(HALF, stall_after=1))
    with asking(nginx.port, model="left", stream=True) as reply:
        while b"half" not in reply.readline():
            pass
    call = next(request for request in upstream.requests if request.model == "left")
    end = time.monotonic() + 10
    while call.outcome != "client_gone":
        assert time.monotonic() < end, call.outcome
        time.sleep(0.05)


def test_a_websocket_goes_through(nginx: Nginx, upstream: FakeUpstream) -> None:
    upstream.script("socket", answer("Hi"))
    client = simple_websocket.Client(f"ws://127.0.0.1:{nginx.port}/v1/responses")
    client.send(json.dumps({"type": "response.create", "model": "socket", "input": "x"}))
    events = []
    while not events or events[-1]["type"] != "response.completed":
        events.append(json.loads(client.receive(timeout=10) or "{}"))
    check_stream(events)
    client.close()


def test_a_large_body_goes_through_and_a_larger_one_is_refused(nginx: Nginx, upstream: FakeUpstream) -> None:
    upstream.script("large", answer("Read."))
    assert post(nginx.port, model="large", input="x" * 8_000_000)[0] == 200
    connection = http.client.HTTPConnection("127.0.0.1", nginx.port, timeout=10)
    connection.putrequest("POST", "/v1/responses")
    connection.putheader("Content-Length", str(65 * 1024 * 1024))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("/metrics", 404, b"nothing here"),
        ("/health", 200, b'{"status":"ok"}'),
        ("/health/ready", 200, b'"problems":{}'),
        ("/v1/models", 200, b'"object":"list"'),
        ("/.env", 404, b"nothing here"),
    ],
)
def test_what_can_be_seen_from_outside(nginx: Nginx, path: str, status: int, told: bytes) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", nginx.port, timeout=10)
    connection.request("GET", path)
    reply = connection.getresponse()
    assert (reply.status, told in reply.read()) == (status, True)
    connection.close()


def test_a_replica_that_is_down_is_passed_over(served: Served, upstream: FakeUpstream, tmp_path: Path) -> None:
    upstream.script("over", answer("Hi"), repeat=True)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # taken, but nobody listens
        with Nginx(tmp_path / "nginx", nobody.getsockname()[1], served.port) as front:
            assert {post(front.port, model="over")[0] for _ in range(6)} == {200}


def test_a_request_that_was_sent_is_not_sent_again(served: Served, upstream: FakeUpstream, tmp_path: Path) -> None:
    """The replica takes the request and dies: a model call costs money twice."""
    upstream.script("once", answer("Hi"), repeat=True)
    with socket.create_server(("127.0.0.1", 0)) as dying:
        taken = []

        def take() -> None:
            connection, _ = dying.accept()
            taken.append(connection.recv(65536))
            connection.close()

        thread = threading.Thread(target=take)
        thread.start()
        before = len(upstream.requests)
        with Nginx(tmp_path / "nginx", dying.getsockname()[1], served.port) as front:
            statuses = Counter(post(front.port, model="once")[0] for _ in range(4))
        thread.join(10)
    assert taken[0].startswith(b"POST /v1/responses")
    assert statuses == {502: 1, 200: 3}
    assert len(upstream.requests) - before == 3


class Rolling:
    """Clients that ask one stream after the other until they are told to stop."""

    def __init__(self, port: int, clients: int) -> None:
        self.outcomes: Counter[str] = Counter()
        self.problems: list[str] = []
        self._port = port
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._ask, daemon=True) for _ in range(clients)]
        for thread in self._threads:
            thread.start()

    def _ask(self) -> None:
        while not self._over.is_set():
            try:
                status, body = post(self._port, model="rolling", stream=True)
                if status != 200:
                    self.problems.append(f"{status} {body[:300]!r}")
                    continue
                self.outcomes[check_stream(read_events(body))["status"]] += 1
            except Exception as error:
                self.problems.append(repr(error))

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(30)


def test_a_replica_is_reloaded_and_stopped_under_a_hundred_streams(upstream: FakeUpstream, tmp_path: Path) -> None:
    """HUP of one of two replicas, then its end: every stream ends well, and no request fails."""
    upstream.script("rolling", sse(*[HALF] * 12, chunk(finish="stop"), pause=0.1), repeat=True)
    up = {"spec": "openai_compatible", "endpoint": {"base_url": upstream.url}, "credentials": {"api_key": "k"}}
    with RedisServer() as redis:
        config = {
            "server": {"graceful_timeout": 15, "workers": 1},
            "providers": {"up": up},
            "session": {"backend": "redis", "redis": {"url": redis.url}},
            "trace": {"enabled": False},
            "logging": {"level": "warning"},
        }
        with Served(config, tmp_path / "one") as one, Served(config, tmp_path / "two") as two:
            with Nginx(tmp_path / "nginx", one.port, two.port) as front:
                clients = Rolling(front.port, 100)
                time.sleep(2)
                one.process.send_signal(signal.SIGHUP)
                time.sleep(4)
                one.process.terminate()
                assert one.process.wait(30) == 0
                time.sleep(1)
                clients.stop()
            assert "Traceback" not in one.log + two.log
            assert "SIGKILL" not in one.log
    assert clients.problems == []
    assert set(clients.outcomes) == {"completed"}
    assert clients.outcomes["completed"] > 200
