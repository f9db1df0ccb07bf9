"""The async client of the official SDK: what the sync one does too, plus time-outs, retries, pictures, files."""

from __future__ import annotations

import asyncio
import base64
import json

import openai
import pytest
from pydantic import BaseModel

from tests.support.fake_upstream import answer, chunk, failure, sse
from tests.support.invariants import check_response, check_stream
from tests.support.pictures import png

pytestmark = pytest.mark.e2e


class Colour(BaseModel):
    name: str
    red: int


ADD = openai.pydantic_function_tool(Colour, name="paint", description="Paints.")
PAINT = {"type": "function", **{key: ADD["function"][key] for key in ("name", "description", "parameters", "strict")}}


def test_create_stream_and_continue(connected, upstream):
    upstream.script("async", answer("one"), answer("two", reasoning="why"), answer("three"))

    async def talk():
        async with connected() as client:
            first = await client.responses.create(model="async", input="a")
            check_response(first.to_dict())
            async with client.responses.stream(model="async", input="b", previous_response_id=first.id) as stream:
                kinds = [event.type async for event in stream]
                second = await stream.get_final_response()
            events = [
                event.to_dict()
                async for event in await client.responses.create(
                    model="async", input="c", previous_response_id=second.id, stream=True
                )
            ]
            return kinds, second, events

    kinds, second, events = asyncio.run(talk())
    assert "response.reasoning_summary_text.delta" in kinds and second.output_text == "two"
    assert check_stream(events)["output"][0]["content"][0]["text"] == "three"
    sent = [message["content"] for message in upstream.requests[-1].body["messages"]]
    assert sent == ["a", "one", "b", "two", "c"]


def test_parse(connected, upstream):
    upstream.script("aparse", answer('{"name":"teal","red":0}'), answer('{"name":"red","red":255}'))

    async def ask():
        async with connected() as client:
            parsed = await client.responses.parse(model="aparse", input="a colour", text_format=Colour)
            async with client.responses.stream(model="aparse", input="another", text_format=Colour) as stream:
                streamed = await stream.get_final_response()
            return parsed.output_parsed, streamed.output_parsed

    assert asyncio.run(ask()) == (Colour(name="teal", red=0), Colour(name="red", red=255))


@pytest.mark.parametrize("stream", [False, True], ids=["sync", "stream"])
def test_arguments_are_parsed_into_the_tools_model(connected, upstream, stream):
    model = f"aargs-{stream}"
    upstream.script(model, answer(calls=(("c", "paint", '{"name":"teal","red":0}'),)))

    async def ask():
        async with connected() as client:
            if stream:
                async with client.responses.stream(model=model, input="paint", tools=[PAINT]) as events:
                    return (await events.get_final_response()).output[0]
            return (await client.responses.parse(model=model, input="paint", tools=[PAINT])).output[0]

    call = asyncio.run(ask())
    assert json.loads(call.arguments) == {"name": "teal", "red": 0}


@pytest.mark.parametrize(
    "fault", [failure(429, "slow down"), failure(503, "busy"), failure(500, "oops")], ids=["429", "503", "500"]
)
def test_what_may_pass_is_retried(connected, upstream, fault):
    model = f"aretry-{fault.status}"
    upstream.script(model, fault, answer("Here."))

    async def ask():
        async with connected(max_retries=1) as client:
            return await client.responses.create(model=model, input="x")

    assert asyncio.run(ask()).output_text == "Here."


def test_what_cannot_pass_is_not_retried(connected, upstream):
    upstream.script("afinal", failure(400, "bad"))
    before = len(upstream.requests)

    async def ask():
        async with connected(max_retries=2) as client:
            await client.responses.create(model="afinal", input="x")

    with pytest.raises(openai.BadRequestError) as raised:
        asyncio.run(ask())
    assert "bad" in raised.value.message and raised.value.request_id
    assert len(upstream.requests) == before + 1


def test_a_client_that_loses_patience_frees_the_upstream(connected, upstream):
    upstream.script("aslow", sse(chunk(content="one"), stall_after=1))

    async def ask():
        async with connected(timeout=0.2) as client:
            await client.responses.create(model="aslow", input="x")

    with pytest.raises(openai.APITimeoutError):
        asyncio.run(ask())


def test_leaving_a_stream_early_frees_the_upstream(connected, upstream):
    upstream.script("aleave", sse(*[chunk(content="word ")] * 400, pause=0.05))

    async def ask():
        async with connected() as client, client.responses.stream(model="aleave", input="x") as stream:
            async for event in stream:
                if event.type == "response.output_text.delta":
                    return

    asyncio.run(ask())
    call = next(record for record in upstream.requests if record.model == "aleave")
    assert upstream.wait_for_outcome(upstream.requests.index(call)) == "client_gone"


def test_pictures_and_files_reach_the_model(connected, upstream):
    upstream.script("apics", answer("Red, and a note."))
    picture = "data:image/png;base64," + base64.b64encode(png(2, 2)).decode()
    note = "data:text/plain;base64," + base64.b64encode(b"remember the milk").decode()
    content = [
        {"type": "input_text", "text": "What is this?"},
        {"type": "input_image", "image_url": picture, "detail": "high"},
        {"type": "input_file", "filename": "note.txt", "file_data": note},
    ]

    async def ask():
        async with connected() as client:
            return await client.responses.create(model="apics", input=[{"role": "user", "content": content}])

    assert asyncio.run(ask()).output_text == "Red, and a note."
    text, image, file = upstream.requests[-1].body["messages"][0]["content"]
    assert text["text"] == "What is this?"
    assert image["image_url"] == {"url": picture, "detail": "high"}
    assert "remember the milk" in file["text"]


def test_stored_responses_can_be_read_and_deleted(connected, upstream):
    upstream.script("astore", answer("Kept."))

    async def run():
        async with connected() as client:
            made = await client.responses.create(model="astore", input="keep")
            read = await client.responses.retrieve(made.id)
            assert read.to_dict() == made.to_dict()
            items = [item async for item in await client.responses.input_items.list(made.id)]
            assert [item.type for item in items] == ["message"]
            await client.responses.delete(made.id)
            with pytest.raises(openai.NotFoundError):
                await client.responses.retrieve(made.id)
            with pytest.raises(openai.BadRequestError) as gone:
                await client.responses.create(model="astore", input="more", previous_response_id=made.id)
            return gone.value

    assert asyncio.run(run()).code == "previous_response_not_found"


def test_models_are_listed(connected):
    async def listed():
        async with connected() as client:
            return [model.id async for model in client.models.list()], await client.models.retrieve("up/any")

    names, one = asyncio.run(listed())
    assert names == [] and one.owned_by == "up"


def test_twenty_at_once(connected, upstream):
    upstream.script("amany", answer("Hello", delay=0.1), repeat=True)

    async def ask():
        async with connected() as client:
            asked = [client.responses.create(model="amany", input=str(number)) for number in range(20)]
            return await asyncio.gather(*asked)

    responses = asyncio.run(ask())
    assert len({response.id for response in responses}) == 20
    assert {response.output_text for response in responses} == {"Hello"}
