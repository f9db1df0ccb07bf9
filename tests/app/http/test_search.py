"""The web search of a provider that has one."""

from __future__ import annotations

import pytest

from tests.support.fake_upstream import answer, body, chunk, sse

FOUND = [{"title": "A", "link": "https://a.example", "refer": "ref_1"}]


@pytest.fixture
def gateway(make_gateway):
    return make_gateway({"spec": "zhipu"})


@pytest.mark.parametrize("where", ["first", "last"])
def test_a_search_is_an_item_and_its_sources_are_cited(gateway, upstream, where):
    chunks = [chunk(content="It is "), chunk(content="so [1]."), chunk(finish="stop")]
    chunks[0 if where == "first" else -1]["web_search"] = FOUND
    upstream.script("m", sse(*chunks))
    streamed = gateway.stream(tools=[{"type": "web_search"}])
    kinds = [item["type"] for item in streamed.response["output"]]
    assert sorted(kinds) == ["message", "web_search_call"]
    assert (kinds[0] == "web_search_call") is (where == "first")
    message = next(item for item in streamed.response["output"] if item["type"] == "message")
    assert [note["url"] for note in message["content"][0]["annotations"]] == ["https://a.example"]
    assert "response.output_text.annotation.added" in streamed.kinds
    assert upstream.requests[0].body["tools"][0]["type"] == "web_search"


def test_a_sync_search(gateway, upstream):
    message = {"role": "assistant", "content": "so"}
    upstream.script(
        "m", body({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "web_search": FOUND})
    )
    made = gateway.create(tools=[{"type": "web_search"}])
    assert [item["type"] for item in made["output"]] == ["web_search_call", "message"]
    upstream.script("m", answer("next"))
    gateway.create(input="go on", previous_response_id=made["id"])  # its items are understood as history


def test_a_search_that_may_not_leave_the_cache_is_left_out(gateway, upstream):
    reply = gateway.post(tools=[{"type": "web_search", "external_web_access": False}])
    assert "ignored=1" in reply.headers["x-godex-compat"]
    assert "tools" not in upstream.requests[0].body
