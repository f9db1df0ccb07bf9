"""The Agents SDK: loops, streams, handoffs, structured output, sessions."""

from __future__ import annotations

import asyncio
import json

import pytest
from agents import (
    Agent,
    ModelSettings,
    OpenAIConversationsSession,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    SQLiteSession,
    ToolOutputImage,
    function_tool,
)
from openai.types.shared import Reasoning
from pydantic import BaseModel

from tests.support.fake_upstream import answer, chunk, sse

pytestmark = pytest.mark.e2e

QUIET = RunConfig(tracing_disabled=True)  # traces would go to OpenAI


@function_tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@function_tool
def fail() -> str:
    """Always fails."""
    raise ValueError("no luck")


@function_tool
def photograph() -> ToolOutputImage:
    """Takes a picture."""
    return ToolOutputImage(image_url="data:image/png;base64,AAAA")


@pytest.fixture
def client(connected):
    return connected()


@pytest.fixture
def agent(client):
    """agent(model, **options): an agent whose model is asked through the gateway."""

    def make(model, **options):
        options = {"name": "Helper", "instructions": "Be brief.", **options}
        return Agent(model=OpenAIResponsesModel(model=model, openai_client=client), **options)

    return make


@pytest.fixture
def finish(client):
    """Runs a coroutine to its end, in a loop of its own that also closes the client's connections."""

    async def run(work):
        async with client:
            return await work

    return lambda work: asyncio.run(run(work))


def roles(upstream):
    return [message["role"] for message in upstream.requests[-1].body["messages"]]


def test_a_plain_run(agent, finish, upstream):
    upstream.script("ag-plain", answer("Hello."))
    result = finish(Runner.run(agent("ag-plain"), "Hi", run_config=QUIET))
    assert result.final_output == "Hello."
    assert roles(upstream) == ["system", "user"]
    assert result.context_wrapper.usage.total_tokens == 17


def test_a_tool_loop(agent, finish, upstream):
    upstream.script(
        "ag-loop",
        answer(calls=(("c1", "add", '{"a":2,"b":3}'), ("c2", "add", '{"a":4,"b":5}'))),
        answer(calls=(("c3", "fail", "{}"),)),
        answer("5 and 9."),
    )
    helper = agent("ag-loop", tools=[add, fail])
    result = finish(Runner.run(helper, "Add.", run_config=QUIET))
    assert result.final_output == "5 and 9."
    assert roles(upstream) == ["system", "user", "assistant", "tool", "tool", "assistant", "tool"]
    outputs = [m["content"] for m in upstream.requests[-1].body["messages"] if m["role"] == "tool"]
    assert outputs[:2] == ["5", "9"] and "error" in outputs[2]


def test_a_tool_loop_with_reasoning(agent, finish, upstream):
    upstream.script(
        "ag-think",
        answer(reasoning="I add.", calls=(("c1", "add", '{"a":2,"b":3}'),)),
        answer("Five.", reasoning="Done."),
    )
    settings = ModelSettings(
        store=False,
        response_include=["reasoning.encrypted_content"],
        reasoning=Reasoning(effort="high", summary="auto"),
    )
    helper = agent("ag-think", tools=[add], model_settings=settings)
    result = finish(Runner.run(helper, "Add.", run_config=QUIET))
    assert result.final_output == "Five."
    assert [item.type for item in result.new_items] == [
        "reasoning_item",
        "tool_call_item",
        "tool_call_output_item",
        "reasoning_item",
        "message_output_item",
    ]


def test_a_streamed_tool_loop(agent, finish, upstream):
    upstream.script(
        "ag-stream",
        answer("I will add.", calls=(("c1", "add", '{"a":2,"b":3}'),)),
        answer("It is five."),
    )
    helper = agent("ag-stream", tools=[add])

    async def run():
        result = Runner.run_streamed(helper, "Add.", run_config=QUIET)
        texts, names = [], []
        async for event in result.stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                texts.append(event.data.delta)
            elif event.type == "run_item_stream_event":
                names.append(event.name)
        return result.final_output, "".join(texts), names

    final, text, names = finish(run())
    assert final == "It is five." and text == "I will add.It is five."
    assert names == ["message_output_created", "tool_called", "tool_output", "message_output_created"]


def test_a_handoff(agent, finish, upstream):
    upstream.script("ag-front", answer(calls=(("h", "transfer_to_adder", "{}"),)))
    upstream.script("ag-adder", answer(calls=(("c", "add", '{"a":2,"b":3}'),)), answer("Five."))
    adder = agent("ag-adder", name="Adder", tools=[add])
    front = agent("ag-front", name="Front", handoffs=[adder])
    result = finish(Runner.run(front, "Add.", run_config=QUIET))
    assert result.final_output == "Five." and result.last_agent.name == "Adder"


def test_an_agent_as_a_tool(agent, finish, upstream):
    upstream.script("ag-boss", answer(calls=(("t", "count", '{"input":"2+3"}'),)), answer("It said 5."))
    upstream.script("ag-worker", answer("5"))
    worker = agent("ag-worker").as_tool("count", "Counts.", run_config=QUIET)
    result = finish(Runner.run(agent("ag-boss", tools=[worker]), "Add.", run_config=QUIET))
    assert result.final_output == "It said 5."
    assert upstream.requests[-1].body["messages"][-1]["content"] == "5"


def test_a_structured_answer(agent, finish, upstream):
    class Colour(BaseModel):
        name: str
        red: int

    upstream.script("ag-shape", answer('{"name":"teal","red":0}'))
    result = finish(Runner.run(agent("ag-shape", output_type=Colour), "A colour.", run_config=QUIET))
    assert result.final_output == Colour(name="teal", red=0)


def test_a_forced_tool(agent, finish, upstream):
    upstream.script("ag-force", answer(calls=(("c", "add", '{"a":2,"b":3}'),)))
    helper = agent(
        "ag-force", tools=[add], model_settings=ModelSettings(tool_choice="add"), tool_use_behavior="stop_on_first_tool"
    )
    assert finish(Runner.run(helper, "Add.", run_config=QUIET)).final_output == "5"
    assert upstream.requests[-1].body["tool_choice"] == {"type": "function", "function": {"name": "add"}}


def test_a_picture_from_a_tool(agent, finish, upstream):
    upstream.script("ag-photo", answer(calls=(("c", "photograph", "{}"),)), answer("Nothing to see."))
    result = finish(Runner.run(agent("ag-photo", tools=[photograph]), "Look.", run_config=QUIET))
    assert result.final_output == "Nothing to see."
    assert "data:image/png" in json.dumps(upstream.requests[-1].body["messages"][-1])


def test_a_conversation_by_previous_response_id(agent, finish, upstream):
    upstream.script("ag-chain", answer("Hello Ann."), answer(calls=(("c", "add", '{"a":2,"b":3}'),)), answer("Ann."))
    helper = agent("ag-chain", tools=[add])

    async def talk():
        first = await Runner.run(helper, "I am Ann.", run_config=QUIET, auto_previous_response_id=True)
        return await Runner.run(
            helper,
            "Who am I?",
            run_config=QUIET,
            previous_response_id=first.last_response_id,
            auto_previous_response_id=True,
        )

    assert finish(talk()).final_output == "Ann."
    contents = [message["content"] for message in upstream.requests[-1].body["messages"]]
    assert contents == ["Be brief.", "I am Ann.", "Hello Ann.", "Who am I?", "", "5"]


def test_a_conversation_by_a_session_of_the_client(agent, finish, upstream):
    upstream.script("ag-local", answer("Hello Ann."), answer("Ann."))
    helper, session = agent("ag-local"), SQLiteSession("ann")

    async def talk():
        await Runner.run(helper, "I am Ann.", run_config=QUIET, session=session)
        return await Runner.run(helper, "Who am I?", run_config=QUIET, session=session)

    assert finish(talk()).final_output == "Ann."
    session.close()
    assert roles(upstream) == ["system", "user", "assistant", "user"]


def test_a_conversation_that_the_gateway_keeps(agent, client, finish, upstream):
    upstream.script(
        "ag-kept",
        answer(calls=(("c", "add", '{"a":2,"b":3}'),), reasoning="Add."),
        answer("Hello Ann.", reasoning="Greet."),
        answer("Ann."),
    )
    helper, session = agent("ag-kept", tools=[add]), OpenAIConversationsSession(openai_client=client)

    async def talk():
        await Runner.run(helper, "I am Ann.", run_config=QUIET, session=session)
        return await Runner.run(helper, "Who am I?", run_config=QUIET, session=session)

    assert finish(talk()).final_output == "Ann."
    contents = [message["content"] for message in upstream.requests[-1].body["messages"]]
    assert contents == ["Be brief.", "I am Ann.", "", "5", "Hello Ann.", "Who am I?"]


def test_a_conversation_by_its_id(agent, client, finish, upstream):
    upstream.script("ag-conv", answer("Hello Ann."), answer("Ann."))
    helper = agent("ag-conv")

    async def talk():
        conversation = (await client.conversations.create()).id
        await Runner.run(helper, "I am Ann.", run_config=QUIET, conversation_id=conversation)
        return await Runner.run(helper, "Who am I?", run_config=QUIET, conversation_id=conversation)

    assert finish(talk()).final_output == "Ann."
    contents = [message["content"] for message in upstream.requests[-1].body["messages"]]
    assert contents == ["Be brief.", "I am Ann.", "Hello Ann.", "Who am I?"]


def test_run_sync(agent, client, upstream):
    upstream.script("ag-sync", answer("Hello."))
    loop = asyncio.new_event_loop()  # run_sync takes the thread's own one and leaves it open
    asyncio.set_event_loop(loop)
    try:
        assert Runner.run_sync(agent("ag-sync"), "Hi", run_config=QUIET).final_output == "Hello."
        loop.run_until_complete(client.close())
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def test_a_cut_stream_is_an_error_and_not_an_answer(agent, finish, upstream):
    upstream.script("ag-cut", sse(chunk(content="Half an"), cut_after=1))

    async def run():
        result = Runner.run_streamed(agent("ag-cut"), "Hi", run_config=QUIET)
        async for _ in result.stream_events():
            pass

    with pytest.raises(Exception, match="before its answer was complete"):
        finish(run())
