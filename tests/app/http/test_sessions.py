"""previous_response_id as clients use it."""

from __future__ import annotations

import pytest

from tests.support.fake_upstream import answer, chunk, sse

RUN = {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {}}}


def messages(upstream, number=-1):
    return [(message["role"], message["content"]) for message in upstream.requests[number].body["messages"]]


def test_a_conversation_of_three_turns(gateway, upstream):
    upstream.script("m", answer("one"), answer("two"), answer("three"))
    first = gateway.create(input="a")
    second = gateway.stream(input="b", previous_response_id=first["id"]).response
    third = gateway.create(input="c", previous_response_id=second["id"])
    assert third["previous_response_id"] == second["id"]
    assert messages(upstream) == [
        ("user", "a"),
        ("assistant", "one"),
        ("user", "b"),
        ("assistant", "two"),
        ("user", "c"),
    ]


def test_a_tool_loop_with_the_output_alone(gateway, upstream):
    upstream.script("m", answer(calls=(("call_1", "run", '{"q":"1"}'),)), answer("done"))
    first = gateway.create(input="go", tools=[RUN])
    output = {"type": "function_call_output", "call_id": first["output"][0]["call_id"], "output": "42"}
    gateway.create(input=[output], previous_response_id=first["id"], tools=[RUN])
    assert [role for role, _ in messages(upstream)] == ["user", "assistant", "tool"]


def test_two_continuations_of_one_parent(gateway, upstream):
    first = gateway.create(input="a")
    gateway.create(input="b", previous_response_id=first["id"])
    gateway.create(input="c", previous_response_id=first["id"])
    assert [text for role, text in messages(upstream) if role == "user"] == ["a", "c"]


INSTRUCTIONS = [
    ("replay", ["A", None, "B"], [("system", "A"), "u", "a", "u", "a", ("system", "B"), "u"]),
    ("replay", ["A", "A", "A"], [("system", "A"), "u", "a", "u", "a", "u"]),
    ("replay", ["A", "B", "A"], [("system", "A"), "u", "a", ("system", "B"), "u", "a", ("system", "A"), "u"]),
    ("current", ["A", None, "B"], [("system", "B"), "u", "a", "u", "a", "u"]),
    ("current", ["A", "B", None], ["u", "a", "u", "a", "u"]),
]


@pytest.mark.parametrize(("rule", "given", "expected"), INSTRUCTIONS)
def test_instructions_by_rule(make_gateway, upstream, rule, given, expected):
    gateway = make_gateway(session={"backend": "memory", "instructions": rule})
    previous = None
    for instructions in given:
        previous = gateway.create(input="x", instructions=instructions, previous_response_id=previous)["id"]
    shown = [(role, text) if role == "system" else role[0] for role, text in messages(upstream)]
    assert shown == expected


@pytest.mark.parametrize("stream", [False, True])
def test_an_unknown_parent_is_refused_before_the_upstream_is_asked(gateway, upstream, stream):
    error = gateway.refused(400, previous_response_id="resp_missing", stream=stream)
    assert error["code"] == "previous_response_not_found"
    assert error["godex_code"] == "session.chain.not_found"
    assert error["param"] == "previous_response_id"
    assert upstream.requests == []


def test_what_was_not_stored_cannot_be_continued(gateway):
    first = gateway.create(store=False)
    assert first["store"] is False
    assert gateway.refused(400, previous_response_id=first["id"])["code"] == "previous_response_not_found"


def test_a_failed_response_cannot_be_continued(gateway, upstream):
    upstream.script("m", sse(chunk(content="half"), cut_after=1))
    failed = gateway.stream().response
    assert gateway.refused(400, previous_response_id=failed["id"])["godex_code"] == "session.chain.unavailable"


def test_incomplete_turns_continue_where_that_is_allowed(make_gateway, upstream):
    upstream.script("m", answer("par", finish="length"), answer("rest"))
    gateway = make_gateway(session={"backend": "memory", "include_incomplete": True})
    first = gateway.create(input="a")
    assert first["status"] == "incomplete"
    gateway.create(input="go on", previous_response_id=first["id"])
    assert messages(upstream)[1] == ("assistant", "par")


def test_incomplete_turns_are_unavailable_by_default(gateway, upstream):
    upstream.script("m", answer("par", finish="length"))
    first = gateway.create()
    assert gateway.refused(400, previous_response_id=first["id"])["godex_code"] == "session.chain.unavailable"


def test_the_depth_is_limited(make_gateway):
    gateway = make_gateway(session={"backend": "memory", "max_depth": 2})
    first = gateway.create()
    second = gateway.create(previous_response_id=first["id"])
    third = gateway.create(previous_response_id=second["id"])
    assert gateway.refused(400, previous_response_id=third["id"])["godex_code"] == "session.chain.depth_exceeded"


def test_responses_belong_to_the_key_that_made_them(make_gateway):
    gateway = make_gateway(auth={"keys": ["key-a", "key-b"]})
    a, b = ({"Authorization": f"Bearer {key}"} for key in ("key-a", "key-b"))
    first = gateway.post(headers=a).get_json()
    assert gateway.post(headers=a, previous_response_id=first["id"]).status_code == 200
    foreign = gateway.post(headers=b, previous_response_id=first["id"])
    assert foreign.get_json()["error"]["code"] == "previous_response_not_found"


def test_a_store_that_is_away_fails_only_what_needs_it(make_gateway):
    gateway = make_gateway(session={"backend": "redis", "redis": {"url": "redis://127.0.0.1:9/0"}})
    assert gateway.refused(503, previous_response_id="resp_x")["godex_code"] == "session.store.unavailable"
    gateway.create()


def test_a_strict_store_fails_the_response_that_it_could_not_save(make_gateway):
    session = {"backend": "redis", "redis": {"url": "redis://127.0.0.1:9/0"}, "on_save_error": "fail"}
    gateway = make_gateway(session=session)
    assert gateway.stream().response["status"] == "failed"
    assert gateway.refused(503)["godex_code"] == "session.store.unavailable"


def test_the_stored_response_is_there_when_the_terminal_event_goes_out(gateway, upstream):
    reply = gateway.client.post("/v1/responses", json={"model": "m", "input": "a", "stream": True})
    for piece in reply.response:  # read until the terminal event, no further
        if b"event: response.completed" in piece:
            break
    import json

    terminal = next(line for line in piece.decode().split("\n") if '"response.completed"' in line)
    response_id = json.loads(terminal.removeprefix("data: "))["response"]["id"]
    gateway.create(input="b", previous_response_id=response_id)
    reply.close()
