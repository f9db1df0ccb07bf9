"""The official SDK against gunicorn with two gevent workers."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import openai
import pytest
from pydantic import BaseModel

from tests.support.fake_upstream import answer, chunk, failure, sse
from tests.support.invariants import check_response, check_stream

pytestmark = pytest.mark.e2e

RUN = {
    "type": "function",
    "name": "add",
    "parameters": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    },
    "strict": True,
}


def test_create(client, upstream):
    upstream.script("create", answer("Hello"))
    response = client.responses.create(model="create", input="hi")
    check_response(response.to_dict())
    assert response.output_text == "Hello"
    assert response.usage is not None and response.usage.total_tokens == 17


def test_stream_helper(client, upstream):
    upstream.script("stream", answer("Hello wide world", reasoning="why"))
    with client.responses.stream(model="stream", input="hi") as stream:
        texts = [event.delta for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert "".join(texts) == final.output_text == "Hello wide world"
    assert [item.type for item in final.output] == ["reasoning", "message"]


def test_raw_stream(client, upstream):
    upstream.script("raw", answer("Hello"))
    events = [event.to_dict() for event in client.responses.create(model="raw", input="hi", stream=True)]
    assert check_stream(events)["status"] == "completed"


def test_parse_gives_a_pydantic_model(client, upstream):
    class Colour(BaseModel):
        name: str
        red: int

    upstream.script("parse", answer('{"name":"teal","red":0}'))
    parsed = client.responses.parse(model="parse", input="a colour", text_format=Colour).output_parsed
    assert parsed == Colour(name="teal", red=0)
    assert upstream.requests[-1].body["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_loop(client, upstream, stream):
    model = f"loop-{stream}"
    upstream.script(model, answer(calls=(("call_1", "add", '{"a":2,"b":3}'),)), answer("It is 5."))

    def ask(**fields):
        if not stream:
            return client.responses.create(model=model, tools=[RUN], **fields)
        with client.responses.stream(model=model, tools=[RUN], **fields) as events:
            return events.get_final_response()

    first = ask(input="2+3?")
    call = first.output[0]
    assert call.type == "function_call"
    result = sum(json.loads(call.arguments).values())
    output = {"type": "function_call_output", "call_id": call.call_id, "output": str(result)}
    second = ask(input=[output], previous_response_id=first.id)
    assert second.output_text == "It is 5."
    assert [m["role"] for m in upstream.requests[-1].body["messages"]] == ["user", "assistant", "tool"]


def test_a_conversation_over_both_workers(served, upstream):
    """Each turn opens a connection of its own, so that the kernel gives it to either worker."""
    upstream.script("talk", *(answer(f"answer {n}") for n in range(12)))
    previous = None
    for turn in range(12):
        with openai.OpenAI(base_url=f"{served.url}/v1", api_key="any", max_retries=0) as client:
            options = {"model": "talk", "input": f"turn {turn}", "previous_response_id": previous}
            if turn % 2:
                with client.responses.stream(**options) as stream:
                    previous = stream.get_final_response().id
            else:
                previous = client.responses.create(**options).id
    sent = upstream.requests[-1].body["messages"]
    assert [m["content"] for m in sent] == [
        text for turn in range(11) for text in (f"turn {turn}", f"answer {turn}")
    ] + ["turn 11"]


ERRORS = [
    (failure(429, "slow down"), openai.RateLimitError),
    (failure(400, "bad"), openai.BadRequestError),
    (failure(401, "key"), openai.AuthenticationError),
    (failure(403, "no"), openai.PermissionDeniedError),
    (failure(404, "The model does not exist", code="model_not_found"), openai.NotFoundError),
    (failure(500, "oops"), openai.InternalServerError),
]


@pytest.mark.parametrize(("reply", "kind"), ERRORS, ids=[kind.__name__ for _, kind in ERRORS])
@pytest.mark.parametrize("stream", [False, True])
def test_error_classes(client, upstream, reply, kind, stream):
    upstream.script("error", reply)
    with pytest.raises(kind) as raised:
        client.responses.create(model="error", input="x", stream=stream)
    assert raised.value.body["message"]


def test_a_failed_stream_is_an_event_and_not_an_exception(client, upstream):
    upstream.script("cut", sse(chunk(content="half"), cut_after=1))
    events = [event.to_dict() for event in client.responses.create(model="cut", input="x", stream=True)]
    assert check_stream(events)["status"] == "failed"


def test_fifty_streams_at_once(served, upstream):
    chunks = [chunk(content=f"{n} ") for n in range(20)]
    upstream.script("many", sse(*chunks, chunk(finish="stop"), pause=0.02), repeat=True)

    def one(number):
        with openai.OpenAI(base_url=f"{served.url}/v1", api_key="any", max_retries=0) as client:
            events = client.responses.create(model="many", input=str(number), stream=True)
            return check_stream([event.to_dict() for event in events])

    with ThreadPoolExecutor(50) as pool:
        responses = list(pool.map(one, range(50)))
    assert len({response["id"] for response in responses}) == 50
    assert all(response["status"] == "completed" for response in responses)
