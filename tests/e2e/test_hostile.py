"""Clients that mean no good: each is refused or cut, the others notice nothing, and the memory comes back."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard

from tests.support.fake_upstream import FakeUpstream, answer
from tests.support.served import Served

pytestmark = pytest.mark.e2e

MB = 1024 * 1024
BOMB = b'{"model":"m","input":"' + b"x" * (100 * MB) + b'"}'
LEAST_ROOM = 300 * MB  # what a worker may be larger afterwards: allocators keep something


def post(served: Served, body: bytes, **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    try:
        connection.request("POST", "/v1/responses", body, {"Content-Type": "application/json", **headers})
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())["error"]["code"]
    finally:
        connection.close()


def announced(served: Served, length: int) -> tuple[int, str]:
    """A body that is only announced."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    try:
        connection.putrequest("POST", "/v1/responses")
        connection.putheader("Content-Length", str(length))
        connection.endheaders()
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())["error"]["code"]
    finally:
        connection.close()


def raw(served: Served, request: bytes) -> bytes:
    """The status line of the reply, or b"" when the connection was closed without one."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
        connection.sendall(request)
        return connection.makefile("rb").readline()


def schema(pattern: str) -> bytes:
    """A strict contract whose pattern makes a backtracking matcher think for ever."""
    made = {"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}, "required": ["a"]}
    text = {"format": {"type": "json_schema", "name": "n", "schema": made, "strict": True}}
    return json.dumps({"model": "evil-regex", "input": "x", "text": text}).encode()


ATTACKS: dict[str, tuple[Callable[[Served], tuple[int, str]], set[tuple[int, str]]]] = {
    "100 MB": (lambda served: announced(served, 100 * MB), {(413, "request_too_large")}),
    "a gzip bomb": (
        lambda served: post(served, gzip.compress(BOMB, 1), **{"Content-Encoding": "gzip"}),
        {(413, "request_too_large")},
    ),
    "a zstd bomb": (
        lambda served: post(served, zstandard.compress(BOMB), **{"Content-Encoding": "zstd"}),
        {(413, "request_too_large")},
    ),
    "a bomb in a bomb": (
        lambda served: post(served, gzip.compress(gzip.compress(BOMB)), **{"Content-Encoding": "gzip, gzip"}),
        {(413, "request_too_large")},
    ),
    "100,000 levels": (lambda served: post(served, b"[" * 100_000 + b"]" * 100_000), {(400, "invalid_json")}),
    "100,000 items": (
        lambda served: post(served, json.dumps({"model": "m", "input": ["x"] * 100_000}).encode()),
        {(400, "invalid_value")},
    ),
    "10 million arrays": (
        lambda served: post(served, b'{"model":"m","input":[' + b"[]," * 10_000_000 + b"1]}"),
        {(400, "invalid_json")},
    ),
    "somebody else's response": (
        lambda served: post(
            served, json.dumps({"model": "m", "input": "x", "previous_response_id": "resp_1"}).encode()
        ),
        {(400, "previous_response_not_found")},
    ),
    "a regex that never ends": (lambda served: post(served, schema("^(([a-z])+.)+[A-Z]([a-z])+$")), {(500, "")}),
}


@pytest.fixture
def memory(served: Served) -> Iterator[Callable[[], int]]:
    """Bytes of the largest worker."""

    def largest() -> int:
        return max(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 for pid in served.workers())

    before = largest()
    yield largest
    assert largest() < before + LEAST_ROOM


@pytest.mark.parametrize("attack", ATTACKS)
def test_each_gets_its_answer_and_the_next_one_is_served(
    served: Served, upstream: FakeUpstream, memory: Callable[[], int], attack: str
) -> None:
    upstream.script("evil-regex", answer(json.dumps({"a": "a" * 40 + "!"})), repeat=True)
    send, replies = ATTACKS[attack]
    began = time.monotonic()
    status, code = send(served)
    assert time.monotonic() - began < 20
    assert any(status == expected and (not word or code == word) for expected, word in replies), (status, code)
    upstream.script("good", answer("Hi"))
    began = time.monotonic()
    reply = raw(
        served,
        b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: 29\r\n\r\n" + b'{"model":"good","input":"hi"}',
    )
    assert reply.startswith(b"HTTP/1.1 200")
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "request_head",
    [
        b"GET /v1/models HTTP/1.1\r\nHost: x\r\nX-Evil: a\x00b\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nHost: x\r\nX Evil: a\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nHost: x\r\nX-Long: " + b"x" * 100_000 + b"\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\n" + b"X: y\r\n" * 500 + b"\r\n",
        b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    ],
    ids=["NUL", "space in a name", "long", "many", "two framings", "two lengths", "TLS"],
)
def test_a_head_that_is_not_right_is_refused(served: Served, request_head: bytes) -> None:
    line = raw(served, request_head)
    assert not line or line.split()[1].startswith(b"4"), line


def test_an_id_from_outside_cannot_write_headers_or_log_lines(served: Served, upstream: FakeUpstream) -> None:
    evil = "a\tb; drop"
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)
    connection.request("GET", "/v1/models", headers={"X-Request-Id": evil})
    reply = connection.getresponse()
    assert (reply.status, evil in str(reply.headers)) == (200, False)
    connection.close()


def test_clients_that_send_slowly_keep_nobody_waiting(served: Served, upstream: FakeUpstream) -> None:
    """Two hundred heads and bodies that never end; nginx or the worker's clock ends them (tests/app/test_drain.py)."""
    upstream.script("beside", answer("Hi"), repeat=True)
    slow = []
    for number in range(200):
        connection = socket.create_connection(("127.0.0.1", served.port), timeout=10)
        head = b"POST /v1/responses HTTP/1.1\r\nHost: x\r\n"
        connection.sendall(head + (b"Content-Length: 500\r\n\r\n{" if number % 2 else b"X-Slow: "))
        slow.append(connection)
    began = time.monotonic()
    for _ in range(10):
        body = b'{"model":"beside","input":"hi"}'
        head = b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
        assert raw(served, head + body).startswith(b"HTTP/1.1 200")
    assert time.monotonic() - began < 10
    for connection in slow:
        connection.close()
