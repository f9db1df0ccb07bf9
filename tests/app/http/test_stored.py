"""What is left of a response: retrieve, delete, input items, cancel, compact, count."""

from __future__ import annotations

import pytest

from tests.support.client import check_error
from tests.support.fake_upstream import answer, chunk, sse

RUN = {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {}}}


def get(gateway, path, **headers):
    return gateway.client.get(f"/v1/responses/{path}", headers=headers)


@pytest.mark.parametrize("stream", [False, True])
def test_get_gives_exactly_what_create_gave(gateway, upstream, stream):
    upstream.script("m", answer("Hi", reasoning="why", calls=(("c", "run", '{"a":1}'),)))
    asked = {"tools": [RUN], "instructions": "Be brief.", "metadata": {"a": "b"}, "text": {"verbosity": "low"}}
    made = gateway.stream(**asked).response if stream else gateway.create(**asked)
    assert get(gateway, made["id"]).get_json() == made


@pytest.mark.parametrize(
    "reply", [answer("x", finish="length"), sse(chunk(content="x"), cut_after=1)], ids=["cut", "lost"]
)
def test_incomplete_and_failed_responses_can_be_looked_at(gateway, upstream, reply):
    upstream.script("m", reply)
    made = gateway.stream().response
    assert get(gateway, made["id"]).get_json() == made


def test_what_is_deleted_is_gone(gateway):
    made = gateway.create()
    reply = gateway.client.delete(f"/v1/responses/{made['id']}")
    assert reply.get_json() == {"id": made["id"], "object": "response", "deleted": True}
    check_error(get(gateway, made["id"]), 404)
    check_error(gateway.client.delete(f"/v1/responses/{made['id']}"), 404)
    assert gateway.refused(400, previous_response_id=made["id"])["code"] == "previous_response_not_found"


def test_store_false_leaves_nothing(gateway):
    check_error(get(gateway, gateway.create(store=False)["id"]), 404)


def test_another_key_sees_nothing(make_gateway):
    gateway = make_gateway(auth={"keys": ["key-a", "key-b"]})
    a, b = ({"Authorization": f"Bearer {key}"} for key in ("key-a", "key-b"))
    made = gateway.post(headers=a).get_json()["id"]
    assert get(gateway, made, **a).status_code == 200
    for path in (made, f"{made}/input_items"):
        check_error(get(gateway, path, **b), 404)
    check_error(gateway.client.delete(f"/v1/responses/{made}", headers=b), 404)
    check_error(gateway.client.post(f"/v1/responses/{made}/cancel", headers=b), 404)
    assert get(gateway, made, **a).status_code == 200


@pytest.mark.parametrize("path", ["resp_x", "x" * 500, "%F0%9F%98%80", "resp_x/input_items", "..%2F..%2Fetc"])
def test_odd_ids_are_not_found(gateway, path):
    check_error(get(gateway, path), 404)


def test_cancel_is_for_background_only(gateway):
    made = gateway.create()
    check_error(gateway.client.post(f"/v1/responses/{made['id']}/cancel"), 400)


def conversation(gateway, upstream):
    upstream.script("m", answer("one"), answer("two"))
    first = gateway.create(input="a")
    own = [
        {"role": "user", "content": "b"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "c"}]},
    ]
    return gateway.create(input=own, previous_response_id=first["id"])["id"]


def test_input_items_include_what_was_inherited(gateway, upstream):
    made = conversation(gateway, upstream)
    listed = get(gateway, f"{made}/input_items?order=asc").get_json()
    assert [item["content"][0]["text"] for item in listed["data"]] == ["a", "one", "b", "c"]
    assert all(item["id"] and item["type"] == "message" for item in listed["data"])
    assert listed["first_id"] == listed["data"][0]["id"] and listed["last_id"] == listed["data"][-1]["id"]
    assert listed["has_more"] is False
    again = get(gateway, f"{made}/input_items?order=asc").get_json()
    assert again == listed


def test_input_items_are_paged(gateway, upstream):
    made = conversation(gateway, upstream)
    newest = get(gateway, f"{made}/input_items?limit=2").get_json()
    assert [item["content"][0]["text"] for item in newest["data"]] == ["c", "b"] and newest["has_more"]
    rest = get(gateway, f"{made}/input_items?limit=2&after={newest['last_id']}").get_json()
    assert [item["content"][0]["text"] for item in rest["data"]] == ["one", "a"] and not rest["has_more"]
    back = get(gateway, f"{made}/input_items?limit=1&before={rest['last_id']}").get_json()
    assert [item["content"][0]["text"] for item in back["data"]] == ["one"]


PAGES = ["limit=0", "limit=101", "limit=x", "limit=-1", "limit=%F0", "order=up", "after=nothing", "before=nothing"]


@pytest.mark.parametrize("query", PAGES)
def test_wrong_pages_are_named(gateway, query):
    made = gateway.create()["id"]
    error = check_error(get(gateway, f"{made}/input_items?{query}"), 400)
    assert error["param"] == query.partition("=")[0]


def test_an_empty_list_has_empty_ids(gateway, upstream):
    first = gateway.create()
    made = gateway.create(input=[], previous_response_id=first["id"])["id"]
    assert get(gateway, f"{made}/input_items?limit=1&order=asc").get_json()["data"]
    empty = gateway.create(input=[{"type": "additional_tools", "tools": []}, {"role": "user", "content": "x"}])["id"]
    assert len(get(gateway, f"{empty}/input_items").get_json()["data"]) == 2


# Compaction


def compacted(gateway, **fields):
    body = {"model": "m", "input": "long story", **fields}
    return gateway.client.post("/v1/responses/compact", json=body)


def test_a_conversation_becomes_one_sealed_item_that_opens_again(gateway, upstream):
    upstream.script("m", answer("SUMMARY"), answer("ok"))
    made = compacted(gateway).get_json()
    assert made["object"] == "response.compaction" and made["usage"]["total_tokens"] == 17
    assert [item["type"] for item in made["output"]] == ["compaction"]
    assert "SUMMARY" not in str(made)
    gateway.create(input=[*made["output"], {"role": "user", "content": "go on"}])
    assert "SUMMARY" in upstream.requests[-1].body["messages"][0]["content"]
    check_error(get(gateway, made["id"]), 404)


def test_compaction_of_a_chain(gateway, upstream):
    upstream.script("m", answer("one"), answer("S"))
    first = gateway.create(input="a")
    assert compacted(gateway, input=None, previous_response_id=first["id"]).status_code == 200
    assert [m["content"] for m in upstream.requests[-1].body["messages"]][:2] == ["a", "one"]


@pytest.mark.parametrize("stream", [False, True])
def test_the_trigger_compacts_in_line(gateway, upstream, stream):
    upstream.script("m", answer("SUMMARY"))
    items = [
        {"role": "user", "content": "a"},
        {"type": "additional_tools", "tools": [RUN]},
        {"type": "compaction_trigger"},
    ]
    asked = {"input": items, "tools": [RUN], "text": {"format": {"type": "json_object"}}}
    made = gateway.stream(**asked).response if stream else gateway.create(**asked)
    assert [item["type"] for item in made["output"]] == ["compaction"]
    sent = upstream.requests[-1].body
    assert "tools" not in sent and "response_format" not in sent
    assert [message["role"] for message in sent["messages"]] == ["user", "user"]


def test_a_compaction_of_another_key_does_not_open(make_gateway, upstream):
    gateway = make_gateway(auth={"keys": ["key-a", "key-b"]})
    a, b = ({"Authorization": f"Bearer {key}"} for key in ("key-a", "key-b"))
    made = gateway.client.post("/v1/responses/compact", json={"model": "m", "input": "x"}, headers=a).get_json()
    body = {"model": "m", "input": made["output"]}
    assert gateway.post(body, headers=a).status_code == 200
    assert check_error(gateway.post(body, headers=b), 400)["code"] == "invalid_encrypted_content"


@pytest.mark.parametrize(
    ("body", "param"), [({"input": "x"}, "model"), ({"model": "m"}, "input"), ({"model": "m", "input": 5}, "input")]
)
def test_compaction_checks_its_input(gateway, body, param):
    reply = gateway.client.post("/v1/responses/compact", json=body)
    assert check_error(reply, 400)["param"] == param


def test_tokens_are_estimated_and_said_to_be(gateway, upstream):
    def count(text):
        reply = gateway.client.post("/v1/responses/input_tokens", json={"model": "m", "input": text})
        assert reply.headers["x-godex-input-tokens"] == "estimate"
        assert reply.get_json()["object"] == "response.input_tokens"
        return reply.get_json()["input_tokens"]

    assert 0 < count("hello") < count("hello " * 100) < count("你好世界" * 200)
    assert upstream.requests == []
