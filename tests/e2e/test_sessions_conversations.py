"""The Conversations API with the official SDK, over both workers of a served gateway."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import openai
import pytest

from tests.support.fake_upstream import answer

pytestmark = pytest.mark.e2e


def test_the_whole_life_of_a_conversation(client, upstream):
    upstream.script("life", answer("Hello Ann"), answer("Ann"))
    made = client.conversations.create(
        metadata={"topic": "demo"}, items=[{"type": "message", "role": "user", "content": "I am Ann."}]
    )
    assert (made.object, made.metadata) == ("conversation", {"topic": "demo"})
    assert client.conversations.retrieve(made.id) == made
    assert client.conversations.update(made.id, metadata={"topic": "names"}).metadata == {"topic": "names"}

    first = client.responses.create(model="life", input="Hello", conversation=made.id)
    assert first.conversation is not None and first.conversation.id == made.id
    with client.responses.stream(model="life", input="Who am I?", conversation={"id": made.id}) as stream:
        assert stream.get_final_response().output_text == "Ann"
    assert [message["content"] for message in upstream.requests[-1].body["messages"]] == [
        "I am Ann.", "Hello", "Hello Ann", "Who am I?",
    ]  # fmt: skip

    added = client.conversations.items.create(made.id, items=[{"role": "user", "content": "Thanks"}])
    item = client.conversations.items.retrieve(added.data[0].id, conversation_id=made.id)
    assert item == added.data[0]
    pages = client.conversations.items.list(made.id, order="asc", limit=2)
    texts = [item.content[0].text for item in pages]  # the SDK turns the pages by itself
    assert texts == ["I am Ann.", "Hello", "Hello Ann", "Who am I?", "Ann", "Thanks"]
    assert client.conversations.items.delete(item.id, conversation_id=made.id).id == made.id
    assert len(list(client.conversations.items.list(made.id))) == 5

    gone = client.conversations.delete(made.id)
    assert (gone.id, gone.object, gone.deleted) == (made.id, "conversation.deleted", True)
    for call in (
        lambda: client.conversations.retrieve(made.id),
        lambda: client.conversations.items.list(made.id),
        lambda: client.responses.create(model="life", input="x", conversation=made.id),
    ):
        with pytest.raises(openai.NotFoundError):
            call()


def test_twenty_turns_change_workers_and_miss_nothing(served, upstream):
    upstream.script("turns", *(answer(f"answer {n}") for n in range(20)))

    def sdk():
        return openai.OpenAI(base_url=f"{served.url}/v1", api_key="any", max_retries=0)

    with sdk() as client:
        one = client.conversations.create().id
    for turn in range(20):
        with sdk() as client:  # a connection of its own: the kernel gives it to either worker
            client.responses.create(model="turns", input=f"turn {turn}", conversation=one)
    sent = [message["content"] for message in upstream.requests[-1].body["messages"]]
    assert sent == [text for turn in range(19) for text in (f"turn {turn}", f"answer {turn}")] + ["turn 19"]


def test_turns_at_once_are_each_whole_and_in_order(served, upstream):
    upstream.script("crowd", answer("yes"), repeat=True)

    def ask(number):
        with openai.OpenAI(base_url=f"{served.url}/v1", api_key="any", max_retries=0) as client:
            client.responses.create(model="crowd", input=f"question {number}", conversation=one)

    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="any", max_retries=0) as client:
        one = client.conversations.create().id
        with ThreadPoolExecutor(10) as pool:
            list(pool.map(ask, range(30)))
        items = list(client.conversations.items.list(one, order="asc", limit=100))
    assert [item.role for item in items] == ["user", "assistant"] * 30
    assert {item.content[0].text for item in items[::2]} == {f"question {n}" for n in range(30)}
