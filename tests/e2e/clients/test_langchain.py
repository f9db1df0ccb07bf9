"""LangChain's ChatOpenAI over the Responses API."""

from __future__ import annotations

import asyncio
import json

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from openai import BadRequestError, RateLimitError
from pydantic import BaseModel

from tests.e2e.codex.calls import fragment
from tests.support.fake_upstream import answer, chunk, failure, sse

pytestmark = pytest.mark.e2e


class Colour(BaseModel):
    """A colour."""

    name: str
    red: int


@tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@pytest.fixture
def chat(base_url):
    """chat(model, **options): a chat model behind the gateway."""

    def make(model, **options):
        fixed = {"use_responses_api": True, "output_version": "responses/v1", "max_retries": 0}
        return ChatOpenAI(model=model, base_url=base_url, api_key="any", **{**fixed, **options})

    return make


def whole(chunks):
    """A stream put together."""
    total = None
    for piece in chunks:
        total = piece if total is None else total + piece
    return total


def test_invoke(chat, upstream):
    upstream.script("lc-plain", answer("Hello."))
    said = chat("lc-plain").invoke([SystemMessage("Be brief."), HumanMessage("Hi")])
    assert said.text == "Hello."
    assert said.usage_metadata["total_tokens"] == 17
    assert said.response_metadata["status"] == "completed"
    assert [message["role"] for message in upstream.requests[-1].body["messages"]] == ["system", "user"]


def test_stream(chat, upstream):
    upstream.script("lc-stream", answer("Hello wide world", reasoning="think a bit"))
    chunks = list(chat("lc-stream").stream("Hi"))
    said = whole(chunks)
    assert len(chunks) > 3
    assert said.text == "Hello wide world"
    assert said.usage_metadata["total_tokens"] == 17
    (thought,) = [block for block in said.content_blocks if block["type"] == "reasoning"]
    assert thought["reasoning"] == "think a bit"


@pytest.mark.parametrize("streamed", [False, True], ids=["sync", "stream"])
def test_a_tool_loop(chat, upstream, streamed):
    name = f"lc-loop-{streamed}"
    upstream.script(
        name,
        answer("I add.", reasoning="Add.", calls=(("c1", "add", '{"a":2,"b":3}'), ("c2", "add", '{"a":4,"b":5}'))),
        answer("5 and 9."),
    )
    model = chat(name).bind_tools([add])

    def ask(messages):
        return whole(model.stream(messages)) if streamed else model.invoke(messages)

    history = [HumanMessage("Add.")]
    asked = ask(history)
    assert [(call["id"], call["args"]) for call in asked.tool_calls] == [
        ("c1", {"a": 2, "b": 3}),
        ("c2", {"a": 4, "b": 5}),
    ]
    history += [asked, *(add.invoke(call) for call in asked.tool_calls)]
    assert all(isinstance(message, ToolMessage) for message in history[2:])
    assert ask(history).text == "5 and 9."
    sent = upstream.requests[-1].body["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "tool"]
    assert sent[1]["content"] == "I add." and [message["content"] for message in sent[2:]] == ["5", "9"]


def test_interleaved_calls_are_put_together(chat, upstream):
    upstream.script(
        "lc-woven",
        sse(
            chunk(tool_calls=[fragment(0, "c1", "add", "")]),
            chunk(tool_calls=[fragment(1, "c2", "add", "")]),
            chunk(tool_calls=[fragment(0, arguments='{"a":2,')]),
            chunk(tool_calls=[fragment(1, arguments='{"a":4,')]),
            chunk(tool_calls=[fragment(0, arguments='"b":3}')]),
            chunk(tool_calls=[fragment(1, arguments='"b":5}')]),
            chunk(finish="tool_calls"),
        ),
    )
    asked = whole(chat("lc-woven").bind_tools([add]).stream("Add."))
    assert [call["args"] for call in asked.tool_calls] == [{"a": 2, "b": 3}, {"a": 4, "b": 5}]


@pytest.mark.parametrize("method", ["json_schema", "function_calling", "json_mode"])
def test_structured_output(chat, upstream, method):
    name = f"lc-shape-{method}"
    data = '{"name":"teal","red":0}'
    upstream.script(name, answer(calls=(("c", "Colour", data),)) if method == "function_calling" else answer(data))
    shaped = chat(name).with_structured_output(Colour, method=method)
    assert shaped.invoke("A colour, as JSON.") == Colour(name="teal", red=0)


def test_a_conversation_by_previous_response_id(chat, upstream):
    upstream.script("lc-chain", answer("Hello Ann."), answer("Ann."))
    model = chat("lc-chain", use_previous_response_id=True)
    first = model.invoke([HumanMessage("I am Ann.")])
    second = model.invoke([HumanMessage("I am Ann."), first, HumanMessage("Who am I?")])
    assert second.text == "Ann."
    contents = [message["content"] for message in upstream.requests[-1].body["messages"]]
    assert contents == ["I am Ann.", "Hello Ann.", "Who am I?"]


def test_a_conversation_that_the_client_keeps(chat, upstream):
    upstream.script("lc-local", answer("Hello Ann.", reasoning="Greet."), answer("Ann."))
    model = chat("lc-local", store=False, include=["reasoning.encrypted_content"])
    first = model.invoke([HumanMessage("I am Ann.")])
    second = model.invoke([HumanMessage("I am Ann."), first, HumanMessage("Who am I?")])
    assert second.text == "Ann."
    contents = [message["content"] for message in upstream.requests[-1].body["messages"]]
    assert contents == ["I am Ann.", "Hello Ann.", "Who am I?"]


def test_a_picture(chat, upstream):
    upstream.script("lc-picture", answer("Red."))
    picture = {"type": "image", "base64": "AAAA", "mime_type": "image/png"}
    said = chat("lc-picture").invoke([HumanMessage([{"type": "text", "text": "What is it?"}, picture])])
    assert said.text == "Red."
    assert "data:image/png;base64,AAAA" in json.dumps(upstream.requests[-1].body["messages"])


def test_async(chat, upstream):
    upstream.script("lc-async", answer("one"), answer("two three"))

    async def ask():
        model = chat("lc-async")
        first = await model.ainvoke("a")
        second = whole([piece async for piece in model.astream("b")])
        await model.root_async_client.close()
        return first.text, second.text

    assert asyncio.run(ask()) == ("one", "two three")


@pytest.mark.parametrize(
    ("fault", "kind"), [(failure(429, "slow down"), RateLimitError), (failure(400, "bad"), BadRequestError)]
)
def test_errors_keep_their_class(chat, upstream, fault, kind):
    upstream.script("lc-error", fault)
    with pytest.raises(kind):
        chat("lc-error").invoke("x")


def test_a_forced_tool(chat, upstream):
    upstream.script("lc-force", answer(calls=(("c", "add", '{"a":2,"b":3}'),)))
    said = chat("lc-force").bind_tools([add], tool_choice="add").invoke("Add.")
    assert isinstance(said, AIMessage) and said.tool_calls[0]["name"] == "add"
    assert upstream.requests[-1].body["tool_choice"] == {"type": "function", "function": {"name": "add"}}


def test_a_cut_stream_is_an_error_and_not_an_answer(chat, upstream):
    upstream.script("lc-cut", sse(chunk(content="Half an"), cut_after=1))
    with pytest.raises(Exception, match="before its answer was complete"):
        whole(chat("lc-cut").stream("x"))
