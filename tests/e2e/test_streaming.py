"""What only a real server shows: heartbeats, lost clients, events that arrive when they are made."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import time

import pytest

from tests.support.client import read_events
from tests.support.fake_upstream import Answer, chunk, sse

pytestmark = pytest.mark.e2e

HALF = chunk(content="half")


def open_stream(served, model, stream=True):
    body = json.dumps({"model": model, "input": "x", "stream": stream}).encode()
    connection = socket.create_connection(("127.0.0.1", served.port), timeout=10)
    head = f"POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    connection.sendall(head.encode() + body)
    return connection


def read_until(connection, words):
    data = b""
    while words not in data:
        piece = connection.recv(65536)
        assert piece, data
        data += piece
    return data


def wait_for(condition, seconds=5.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_deltas_arrive_while_the_upstream_still_speaks(served, upstream):
    upstream.script("live", sse(HALF, stall_after=1))
    with open_stream(served, "live") as connection:
        read_until(connection, b'"delta":"half"')


def test_a_silent_upstream_is_bridged_by_comments(served, upstream):
    upstream.script("silent", sse(HALF, stall_after=1))
    with open_stream(served, "silent") as connection:
        read_until(connection, b": ping\n\n")


@pytest.mark.parametrize("after", [0, 1])
def test_a_client_that_leaves_a_silent_upstream_stops_it(served, upstream, after):
    model = f"gone-{after}"
    upstream.script(model, sse(HALF, stall_after=after))
    with open_stream(served, model) as connection:
        read_until(connection, b"response.in_progress")
    call = next(request for request in upstream.requests if request.model == model)
    assert wait_for(lambda: call.outcome == "client_gone"), call.outcome
    assert wait_for(lambda: "client_disconnected" in served.log)


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_before_the_upstream_has_answered_stops_it(served, upstream, stream):
    model = f"unanswered-{stream}"
    upstream.script(model, Answer(body={}, stall=True))
    with open_stream(served, model, stream):
        assert wait_for(lambda: any(request.model == model for request in upstream.requests))
    call = next(request for request in upstream.requests if request.model == model)
    assert wait_for(lambda: call.outcome == "client_gone"), call.outcome


def test_a_client_that_leaves_a_talking_upstream_stops_it(served, upstream):
    upstream.script("talking", sse(*[HALF] * 500, pause=0.05))
    with open_stream(served, "talking") as connection:
        read_until(connection, b'"delta":"half"')
    call = next(request for request in upstream.requests if request.model == "talking")
    assert wait_for(lambda: call.outcome == "client_gone"), call.outcome


def test_a_client_that_reads_slowly_gets_everything(served, upstream):
    upstream.script("slow", sse(*[chunk(content="x" * 2000)] * 1000, chunk(finish="stop")))
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    connection.request("POST", "/v1/responses", json.dumps({"model": "slow", "input": "x", "stream": True}))
    reply = connection.getresponse()
    time.sleep(0.5)  # buffers fill up on every side
    events = read_events(reply.read())
    assert sum(len(event.get("delta", "")) for event in events) == 2_000_000
    connection.close()


def test_both_workers_serve_and_a_killed_one_is_replaced(served, client, upstream):
    workers = sorted(served.workers())
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)
    assert wait_for(lambda: len(served.workers() - {workers[0]}) == 2)
    assert client.responses.create(model="after-kill", input="x").status == "completed"
