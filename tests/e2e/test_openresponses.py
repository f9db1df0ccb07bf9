"""What the public compliance suite of Open Responses asserts: its 17 tests, 7 of them over a WebSocket.

Each runs with a model that answers plainly and with one that thinks first. Every event and every Response object is
held against the schemas of the released specification; which answer the model gives does not matter to the suite.
"""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request

import pytest
import simple_websocket

from tests.support.client import read_events
from tests.support.fake_upstream import answer
from tests.support.invariants import check_against, check_response, check_stream
from tests.support.pictures import png

pytestmark = pytest.mark.e2e

WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "Current weather of a place",
    "parameters": {"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]},
}


@pytest.fixture(params=["plain", "thinking"])
def model(request, upstream):
    """A model that calls the first tool that it is given, and else answers."""
    thought = "Let me think about this." if request.param == "thinking" else None

    def play(chat):
        if "tools" in chat:
            return answer(reasoning=thought, calls=(("call_1", "get_weather", '{"location":"San Francisco, CA"}'),))
        return answer("One two three.", reasoning=thought)

    upstream.script(f"or-{request.param}", play, repeat=True)
    return f"or-{request.param}"


@pytest.fixture
def post(served, model):
    """post(path, body): (status, parsed body or events)."""

    def send(path, body):
        request = urllib.request.Request(
            f"{served.url}/v1{path}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "Authorization": "Bearer any"},
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                return reply.status, read_events(reply.read()) if body.get("stream") else json.load(reply)
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, json.load(refused)

    return send


@pytest.fixture
def create(post, model):
    """create(**body): a Response object, valid and answered with 200."""

    def ask(**body):
        status, response = post("/responses", {"model": model, **body})
        assert status == 200, response
        check_response(response)
        return response

    return ask


@pytest.fixture
def connect(served):
    """connect(): a new WebSocket; its `ask(**body)` gives the terminal Response object, or an error frame."""
    opened = []

    def make():
        socket = simple_websocket.Client(f"ws://127.0.0.1:{served.port}/v1/responses", headers={"Authorization": "any"})
        opened.append(socket)
        return Turns(socket)

    yield make
    for socket in opened:
        socket.close()


class Turns:
    def __init__(self, socket):
        self._socket = socket

    def ask(self, **body):
        self._socket.send(json.dumps({"type": "response.create", **body}))
        events = []
        while True:
            frame = self._socket.receive(timeout=30)
            assert frame is not None, f"no terminal event after {events}"
            events.append(json.loads(frame))  # also refuses "[DONE]", which would count as a turn of its own
            if events[-1]["type"] == "error":
                return events[-1]
            if events[-1]["type"] in ("response.completed", "response.failed", "response.incomplete"):
                return check_stream(events)


def completed(response):
    assert response["status"] == "completed" and response["output"]
    return response


def user(text):
    return {"type": "message", "role": "user", "content": text}


def assistant(text, **fields):
    return {"type": "message", "role": "assistant", "content": text, **fields}


def kinds(response):
    return [item["type"] for item in response["output"]]


def missing(frame):
    """An error frame that says that the previous response is not there."""
    assert frame["type"] == "error" and frame["status"] == 400
    return frame["error"]["code"] == "previous_response_not_found" and bool(frame["error"]["message"])


def test_basic_response(create):
    completed(create(input=[user("Say hello in three words.")]))


def test_assistant_phase(create):
    said = [assistant("I look it up.", phase="commentary"), assistant("It is four.", phase="final_answer")]
    completed(create(input=[*said, user("Only the number.")]))


def test_response_output_phase_schema(create):
    """The suite holds a made-up response against the schema; here it is one of ours with phases added."""
    response = completed(create(input=[user("Say hello.")]))
    message = next(item for item in response["output"] if item["type"] == "message")
    labelled = [{**message, "id": f"msg_{phase}", "phase": phase} for phase in ("commentary", "final_answer")]
    check_against("ResponseResource", {**response, "output": labelled})


def test_streaming_response(post, model):
    status, events = post("/responses", {"model": model, "stream": True, "input": [user("Count from 1 to 5.")]})
    assert status == 200
    completed(check_stream(events))


def test_websocket_response(connect, model):
    completed(connect().ask(model=model, input=[user("Count from 1 to 3.")]))


def test_websocket_sequential_responses(connect, model):
    socket = connect()
    for word in ("first", "second"):
        completed(socket.ask(model=model, store=False, input=f"Say {word}."))


def test_websocket_continuation(connect, model):
    socket = connect()
    first = completed(socket.ask(model=model, store=False, input="Remember: cobalt."))
    completed(socket.ask(model=model, store=False, input="What was it?", previous_response_id=first["id"]))


def test_websocket_reconnect_store_false_recovery(connect, model):
    first = completed(connect().ask(model=model, store=False, input="Remember: copper."))
    other = connect()
    assert missing(other.ask(model=model, store=False, input="Go on.", previous_response_id=first["id"]))
    completed(other.ask(model=model, store=False, input=[user("Begin anew.")]))


def test_websocket_previous_response_not_found(connect, model):
    frame = connect().ask(model=model, store=False, input="Go on.", previous_response_id="resp_openresponses_missing_1")
    assert missing(frame)


def test_websocket_failed_continuation_evicts_cache(connect, model):
    socket = connect()
    first = completed(socket.ask(model=model, store=False, input="Remember: ember."))
    stray = {"type": "function_call_output", "call_id": "call_openresponses_missing", "output": "of no call"}
    failed = socket.ask(model=model, store=False, input=[stray], previous_response_id=first["id"])
    assert failed["type"] == "error" or failed["status"] == "failed"
    assert missing(socket.ask(model=model, store=False, input="Go on.", previous_response_id=first["id"]))


def test_websocket_compact_new_chain(post, connect, model):
    said = [user("Remember: slate."), assistant("OK."), user("Compress this.")]
    status, compacted = post("/responses/compact", {"model": model, "input": said})
    assert status == 200, compacted
    again = [*compacted["output"], user("Go on.")]
    completed(connect().ask(model=model, store=False, input=again, tools=[]))


def test_system_prompt(create):
    completed(create(input=[{"type": "message", "role": "system", "content": "Talk like a pirate."}, user("Hello.")]))


def test_tool_calling(create):
    assert "function_call" in kinds(create(input=[user("The weather in San Francisco?")], tools=[WEATHER]))


def test_image_input(create):
    picture = "data:image/png;base64," + base64.b64encode(png(8, 8)).decode()
    parts = [{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": picture}]
    completed(create(input=[user(parts)]))


def test_multi_turn(create):
    completed(create(input=[user("I am Alice."), assistant("Hello Alice!"), user("Who am I?")]))


def test_compact_response(post, model):
    said = [user("We launch on Tuesday."), assistant("Understood.")]
    status, compacted = post(
        "/responses/compact", {"model": model, "prompt_cache_key": "openresponses-compact-test", "input": said}
    )
    assert status == 200, compacted
    check_against("CompactResource", compacted)
    assert compacted["object"] == "response.compaction" and "compaction" in kinds(compacted)


def test_compact_missing_model(post):
    status, refused = post("/responses/compact", {"input": [user("Compact this.")]})
    assert status in (400, 422) and refused["error"]["message"]
