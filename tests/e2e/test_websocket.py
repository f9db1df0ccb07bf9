"""WebSocket mode under gunicorn with gevent workers."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
import simple_websocket

from tests.support.fake_upstream import answer, chunk, failure, sse
from tests.support.invariants import check_stream

pytestmark = pytest.mark.e2e


@pytest.fixture
def socket(served) -> Iterator[simple_websocket.Client]:
    client = simple_websocket.Client(
        f"ws://127.0.0.1:{served.port}/v1/responses", headers={"Authorization": "Bearer x"}
    )
    yield client
    client.close()


def ask(socket, **fields):
    socket.send(json.dumps({"type": "response.create", "input": "hi", **fields}))


def events(socket):
    """The events of one response, up to its terminal one."""
    heard = []
    while not heard or heard[-1]["type"] not in (
        "response.completed",
        "response.failed",
        "response.incomplete",
        "error",
    ):
        frame = socket.receive(timeout=10)
        assert frame is not None, heard
        heard.append(json.loads(frame))
    return heard


def test_a_response_is_the_same_events_as_over_sse(socket, upstream):
    upstream.script("ws", answer("Hello", reasoning="why"))
    ask(socket, model="ws")
    response = check_stream(events(socket))
    assert response["output"][1]["content"][0]["text"] == "Hello"


def test_a_long_frame_and_a_slow_reader_lose_nothing(socket, upstream):
    """More than the buffers of the connection hold, in one frame and in many, to a client that reads late."""
    pieces = ["x" * 4_000_000, *["y" * 8_000] * 1_000]
    upstream.script("wsl", sse(*(chunk(content=piece) for piece in pieces), chunk(finish="stop")))
    ask(socket, model="wsl")
    time.sleep(1)
    response = check_stream(events(socket))
    assert response["output"][0]["content"][0]["text"] == "".join(pieces)


def test_frames_queue_and_numbers_begin_anew(socket, upstream):
    upstream.script("wsq", answer("one"), answer("two"))
    ask(socket, model="wsq")
    ask(socket, model="wsq")
    assert [check_stream(events(socket))["output"][0]["content"][0]["text"] for _ in range(2)] == ["one", "two"]


def test_what_is_not_stored_continues_on_its_socket_only(served, socket, upstream):
    upstream.script("wsl", answer("one"), answer("two"), answer("three"))
    ask(socket, model="wsl", store=False, input="a")
    first = check_stream(events(socket))
    ask(socket, model="wsl", store=False, input="b", previous_response_id=first["id"])
    second = check_stream(events(socket))
    sent = upstream.requests[-1].body["messages"]
    assert [message["content"] for message in sent] == ["a", "one", "b"]
    other = simple_websocket.Client(f"ws://127.0.0.1:{served.port}/v1/responses")
    ask(other, model="wsl", previous_response_id=second["id"])
    error = events(other)[-1]
    assert error["status"] == 400 and error["error"]["code"] == "previous_response_not_found"
    other.close()


def test_a_stored_response_continues_on_a_new_socket(served, socket, upstream):
    upstream.script("wss", answer("one"), answer("two"))
    ask(socket, model="wss", input="a")
    first = check_stream(events(socket))
    other = simple_websocket.Client(f"ws://127.0.0.1:{served.port}/v1/responses")
    ask(other, model="wss", input="b", previous_response_id=first["id"])
    check_stream(events(other))
    assert [message["content"] for message in upstream.requests[-1].body["messages"]] == ["a", "one", "b"]
    other.close()


def test_a_failed_continuation_forgets_what_it_named(socket, upstream):
    upstream.script("wsf", answer("one"), failure(400, "bad"))
    ask(socket, model="wsf", store=False)
    first = check_stream(events(socket))
    ask(socket, model="wsf", store=False, previous_response_id=first["id"])
    assert events(socket)[-1]["status"] == 400
    ask(socket, model="wsf", store=False, previous_response_id=first["id"])
    assert events(socket)[-1]["error"]["code"] == "previous_response_not_found"


def test_a_warm_up_takes_the_input_and_asks_nobody(socket, upstream):
    upstream.script("wsw", answer("one"))
    before = len(upstream.requests)
    ask(socket, model="wsw", store=False, generate=False, input=[{"role": "developer", "content": "rules"}])
    first = check_stream(events(socket))
    assert first["output"] == [] and len(upstream.requests) == before
    ask(socket, model="wsw", store=False, previous_response_id=first["id"], input="go")
    check_stream(events(socket))
    assert [message["content"] for message in upstream.requests[-1].body["messages"]] == ["rules", "go"]


FRAMES = ["not json", "[]", '{"type":"response.steer"}', "{}", '{"type":"response.create"}',
          '{"type":"response.create","model":"m","input":5}', '{"type":"response.create","model":"m","input":"x","previous_response_id":{}}', '{"type":"response.create","model":"m","input":"x","background":"x","temperature":"hot"}']  # fmt: skip


@pytest.mark.parametrize("frame", FRAMES)
def test_a_wrong_frame_is_an_error_frame_and_the_socket_stays_open(socket, upstream, frame):
    socket.send(frame)
    error = events(socket)[-1]
    assert error["type"] == "error" and error["status"] == 400
    assert error["error"]["type"] and error["error"]["message"] and isinstance(error["error"]["code"], str)
    upstream.script("wso", answer("fine"))
    ask(socket, model="wso")
    check_stream(events(socket))


def test_a_refusal_of_the_upstream_is_an_error_frame(socket, upstream):
    upstream.script("wsr", failure(429, "slow down"))
    ask(socket, model="wsr")
    refusal = events(socket)[-1]
    assert refusal["status"] == 429 and refusal["headers"] == {"retry-after": "1"}


def test_a_cut_upstream_is_a_failed_response(socket, upstream):
    upstream.script("wsc", sse(chunk(content="half"), cut_after=1))
    ask(socket, model="wsc")
    assert check_stream(events(socket))["status"] == "failed"


def test_a_client_that_leaves_stops_the_upstream(served, upstream):
    upstream.script("wsg", sse(chunk(content="half"), stall_after=1))
    client = simple_websocket.Client(f"ws://127.0.0.1:{served.port}/v1/responses")
    ask(client, model="wsg")
    while "half" not in client.receive(timeout=10):
        pass
    client.close()
    call = next(request for request in upstream.requests if request.model == "wsg")
    for _ in range(100):
        if call.outcome == "client_gone":
            return
        time.sleep(0.05)
    raise AssertionError(call.outcome)


def test_a_plain_get_is_told_to_upgrade(served):
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{served.url}/v1/responses")
    with refused.value as reply:
        assert reply.status == 426
        assert json.load(reply)["error"]["code"] == "upgrade_required"
