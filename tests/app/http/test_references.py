"""item_reference: a client names a stored item instead of sending it, as the Vercel AI SDK does by default."""

from __future__ import annotations

import pytest

from tests.support.fake_upstream import answer

RUN = {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {}}}


def to(item):
    return {"type": "item_reference", "id": item["id"]}


def user(text):
    return {"role": "user", "content": text}


def sent(upstream):
    return [(message["role"], message["content"]) for message in upstream.requests[-1].body["messages"]]


def first_turn(gateway, upstream, **fields):
    upstream.script("m", answer("one", reasoning="hm"), answer("two"), answer("three"))
    return gateway.create(input=[user("a")], **fields)


@pytest.mark.parametrize("stream", [False, True])
def test_items_of_a_stored_response_are_found_by_their_ids(gateway, upstream, stream):
    first = first_turn(gateway, upstream)
    asked = {"input": [user("a"), *map(to, first["output"]), user("b")]}
    gateway.stream(**asked) if stream else gateway.create(**asked)
    assert sent(upstream) == [("user", "a"), ("assistant", "one"), ("user", "b")]


def test_a_tool_loop_by_references(gateway, upstream):
    upstream.script("m", answer(calls=(("call_1", "run", '{"q":"1"}'),)), answer("done"))
    first = gateway.create(input=[user("go")], tools=[RUN])
    output = {"type": "function_call_output", "call_id": first["output"][0]["call_id"], "output": "42"}
    gateway.create(input=[user("go"), to(first["output"][0]), output], tools=[RUN])
    assert [role for role, _ in sent(upstream)] == ["user", "assistant", "tool"]


def test_the_type_may_be_left_out(gateway, upstream):
    first = first_turn(gateway, upstream)
    gateway.create(input=[{"id": first["output"][1]["id"]}, {"id": first["output"][1]["id"], "type": None}, user("b")])
    assert sent(upstream) == [("assistant", "one\n\none"), ("user", "b")]


def test_items_of_the_input_are_found_under_the_ids_that_the_list_shows(gateway, upstream):
    first = first_turn(gateway, upstream)
    listed = gateway.client.get(f"/v1/responses/{first['id']}/input_items").get_json()["data"]
    gateway.create(input=[*map(to, listed), user("b")])
    assert sent(upstream) == [("user", "a"), ("user", "b")]


def test_items_are_found_along_a_chain(gateway, upstream):
    first = first_turn(gateway, upstream)
    second = gateway.create(input="b", previous_response_id=first["id"])
    gateway.create(input=[to(first["output"][1]), user("c")], previous_response_id=second["id"])
    assert [text for _, text in sent(upstream)] == ["a", "one", "b", "two\n\none", "c"]


def test_items_are_found_in_a_conversation(gateway, upstream):
    items = [{"role": "user", "content": "kept"}]
    one = gateway.client.post("/v1/conversations", json={"items": items}).get_json()["id"]
    (item,) = gateway.client.get(f"/v1/conversations/{one}/items").get_json()["data"]
    gateway.create(input=[to(item)], conversation=one)
    assert sent(upstream) == [("user", "kept"), ("user", "kept")]


def test_a_conversation_takes_stored_items_by_reference(gateway, upstream):
    first = first_turn(gateway, upstream)
    body = {"items": [to(first["output"][1])]}
    one = gateway.client.post("/v1/conversations", json=body).get_json()["id"]
    gateway.create(input="b", conversation=one)
    assert sent(upstream) == [("assistant", "one"), ("user", "b")]


def test_later_turns_need_the_first_response_no_more(gateway, upstream):
    first = first_turn(gateway, upstream)
    second = gateway.create(input=[user("a"), to(first["output"][1]), user("b")])
    gateway.client.delete(f"/v1/responses/{first['id']}")
    gateway.create(input="c", previous_response_id=second["id"])
    assert [text for _, text in sent(upstream)] == ["a", "one", "b", "two", "c"]
    listed = gateway.client.get(f"/v1/responses/{second['id']}/input_items?order=asc").get_json()["data"]
    assert listed[1] == first["output"][1]


UNKNOWN = ["msg_x", "", "msg_" + "0" * 51, "msg_" + "f" * 48 + "000i", "😀", "x" * 10_000, "resp_" + "0" * 48]


@pytest.mark.parametrize("unknown", UNKNOWN, ids=range(len(UNKNOWN)))
def test_what_is_not_stored_is_refused_with_its_place(gateway, upstream, unknown):
    error = gateway.refused(400, input=[user("a"), {"type": "item_reference", "id": unknown}])
    assert error["param"] == "input[1].id"
    assert upstream.requests == []


def test_another_keys_items_are_not_found(make_gateway, upstream):
    gateway = make_gateway(auth={"keys": ["key-a", "key-b"]})
    a, b = ({"Authorization": f"Bearer {key}"} for key in ("key-a", "key-b"))
    item = gateway.post(headers=a).get_json()["output"][0]
    body = {"model": "m", "input": [to(item), user("b")]}
    assert gateway.post(body, headers=a).status_code == 200
    assert gateway.post(body, headers=b).status_code == 400


@pytest.mark.parametrize("how", ["deleted", "not stored"])
def test_what_is_gone_is_refused(gateway, how):
    first = gateway.create(store=how == "deleted")
    gateway.client.delete(f"/v1/responses/{first['id']}")
    assert gateway.refused(400, input=[to(first["output"][0]), user("b")])["param"] == "input[0].id"


def test_a_store_that_is_away_is_said_to_be(make_gateway):
    gateway = make_gateway(session={"backend": "redis", "redis": {"url": "redis://127.0.0.1:9/0"}})
    known = {"type": "item_reference", "id": "msg_" + "0" * 51}
    assert gateway.refused(503, input=[known])["godex_code"] == "session.store.unavailable"
    assert gateway.refused(400, input=[{**known, "id": "msg_x"}])["param"] == "input[0].id"  # whom nobody need ask


def test_ids_of_items_fit_clients(gateway, upstream):
    upstream.script("m", answer("x", reasoning="y", calls=((None, "run", "{}"), (None, "run", "{}"))))
    output = gateway.create(tools=[RUN])["output"]
    assert all(len(item["id"]) <= 64 for item in output)
    assert len({item["id"] for item in output}) == 4
    response_digits = {item["id"].partition("_")[2][:48] for item in output}
    assert len(response_digits) == 1
    assert not any(digits in item.get("call_id", "") for item in output for digits in response_digits)


def test_a_repaired_answer_reuses_no_id(gateway, upstream):
    upstream.script("m", answer("no json"), answer('{"a":1}'))
    form = {"type": "json_schema", "name": "x", "strict": True, "schema": {"type": "object"}}
    made = gateway.create(text={"format": form})
    assert len(upstream.requests) == 2
    assert made["output"][0]["id"].endswith("001")
