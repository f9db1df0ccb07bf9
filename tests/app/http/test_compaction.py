"""context_management: the conversation is summarised first, and the answer goes on from the summary."""

from __future__ import annotations

import pytest

from tests.support.client import output_text
from tests.support.fake_upstream import answer, chunk, failure, sse
from tests.support.legality import check_chat_request

RUN = {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {}}}
LOW = [{"type": "compaction", "compact_threshold": 50}]
HIGH = [{"type": "compaction", "compact_threshold": 100_000}]
LONG = [
    {"role": "user", "content": f"question {'x' * 400}"},
    {"role": "assistant", "content": "yes"},
    {"role": "user", "content": "now"},
]


def make(gateway, stream, **fields):
    return gateway.stream(**fields).response if stream else gateway.create(**fields)


def sent(upstream, number=-1):
    check_chat_request(upstream.requests[number].body)
    return [(message["role"], message["content"]) for message in upstream.requests[number].body["messages"]]


def told(summary):
    return ("user", f"Summary of the conversation so far:\n\n{summary}")


def notes(response):
    return [(note["action"], note["subject"]) for note in response["godex"]["diagnostics"]]


@pytest.fixture(params=[False, True], ids=["sync", "stream"])
def stream(request):
    return request.param


def test_above_the_threshold_a_compaction_comes_first(gateway, upstream, stream):
    upstream.script("m", answer("SUMMARY"), answer("fine"))
    asked = {"instructions": "Be brief.", "input": LONG, "tools": [RUN], "context_management": LOW}
    made = make(gateway, stream, **asked)
    assert [item["type"] for item in made["output"]] == ["compaction", "message"]
    assert output_text(made) == "fine" and "SUMMARY" not in str(made)
    assert made["usage"]["total_tokens"] == 34, "both calls count"
    first, second = (request.body for request in upstream.requests)
    assert "tools" not in first and "tools" in second
    assert [message["content"] for message in first["messages"][:-1]] == ["Be brief.", LONG[0]["content"], "yes", "now"]
    assert sent(upstream) == [("system", "Be brief."), told("SUMMARY"), ("user", "now")]


def test_below_it_nothing_happens(gateway, upstream, stream):
    made = make(gateway, stream, input=LONG, context_management=HIGH)
    assert [item["type"] for item in made["output"]] == ["message"]
    assert len(upstream.requests) == 1


def test_a_chain_goes_on_from_the_compaction(gateway, upstream, stream):
    upstream.script("m", answer("one"), answer("SUMMARY"), answer("two"), answer("three"), answer("four"))
    first = make(gateway, stream, input=LONG[0]["content"], instructions="Be brief.")
    second = make(gateway, stream, input="b", previous_response_id=first["id"], context_management=LOW)
    assert sent(upstream) == [("system", "Be brief."), told("SUMMARY"), ("user", "b")]
    third = make(gateway, stream, input="c", previous_response_id=second["id"], context_management=LOW)
    goes_on = [("system", "Be brief."), told("SUMMARY"), ("assistant", "two"), ("user", "c")]
    assert sent(upstream) == goes_on, "the instructions of the turns that are gone still hold"
    gateway.client.delete(f"/v1/responses/{first['id']}")
    make(gateway, stream, input="d", previous_response_id=third["id"])
    assert sent(upstream) == [*goes_on, ("assistant", "three"), ("user", "d")]
    listed = gateway.client.get(f"/v1/responses/{third['id']}/input_items?order=asc").get_json()["data"]
    assert [item["type"] for item in listed] == ["message", "compaction", "message", "message"]


def test_a_chain_that_is_compacted_in_time_never_grows_too_deep(make_gateway, upstream):
    gateway = make_gateway(session={"backend": "memory", "max_depth": 3})
    upstream.script("m", *[answer("ok " * 60), answer("SUMMARY")] * 12)
    previous = None
    for _ in range(8):
        asked = {"input": "x" * 100, "previous_response_id": previous, "context_management": LOW}
        previous = gateway.create(**asked)["id"]


def test_stateless_clients_append_the_output_and_go_on(gateway, upstream, stream):
    upstream.script("m", answer("SUMMARY"), answer("fine"), answer("later"))
    asked = {"context_management": LOW, "store": False}
    rules = {"role": "developer", "content": "Rules"}
    made = make(gateway, stream, input=[rules, *LONG], **asked)
    following = [*made["output"], {"role": "user", "content": "next"}]
    make(gateway, stream, input=[rules, *LONG, *following], **asked)
    assert len(upstream.requests) == 3, "what the compaction stands for does not count again"
    assert sent(upstream) == [("system", "Rules"), told("SUMMARY"), ("assistant", "fine"), ("user", "next")]
    whole = sent(upstream)
    upstream.script("m", answer("later"))
    make(gateway, stream, input=[rules, *following], store=False)
    assert sent(upstream) == whole, "clients may drop it themselves"


def test_a_conversation_goes_on_from_the_compaction(gateway, upstream, stream):
    upstream.script("m", answer("SUMMARY"), answer("fine"), answer("later"))
    body = {"items": [{"role": "user", "content": "x" * 400}, {"role": "assistant", "content": "yes"}]}
    one = gateway.client.post("/v1/conversations", json=body).get_json()["id"]
    make(gateway, stream, input="now", conversation=one, context_management=LOW)
    make(gateway, stream, input="next", conversation=one, context_management=LOW)
    assert sent(upstream) == [told("SUMMARY"), ("assistant", "fine"), ("user", "next")]
    kinds = [i["type"] for i in gateway.client.get(f"/v1/conversations/{one}/items?order=asc").get_json()["data"]]
    assert kinds == ["message"] * 3 + ["compaction"] + ["message"] * 3


def test_a_tool_loop_keeps_its_last_calls(gateway, upstream, stream):
    calls = (("call_1", "run", "{}"), ("call_2", "run", '{"a":1}'))
    upstream.script("m", answer(calls=calls), answer("SUMMARY"), answer("done"))
    first = make(gateway, stream, input=[*LONG[:2], {"role": "user", "content": "go " * 50}], tools=[RUN])
    outputs = [{"type": "function_call_output", "call_id": item["call_id"], "output": "42"} for item in first["output"]]
    made = make(gateway, stream, input=outputs, tools=[RUN], previous_response_id=first["id"], context_management=LOW)
    assert output_text(made) == "done"
    assert [role for role, _ in sent(upstream)] == ["user", "user", "assistant", "tool", "tool"]
    assert sent(upstream)[0] == told("SUMMARY")


def test_strict_upstreams_get_no_two_users_in_a_row(make_gateway, upstream):
    gateway = make_gateway({"capabilities": {"strict_turns": True}})
    upstream.script("m", answer("SUMMARY"), answer("fine"))
    gateway.create(input=LONG, context_management=LOW)
    assert sent(upstream) == [("user", told("SUMMARY")[1] + "\n\nnow")]


@pytest.mark.parametrize("items", [[LONG[0]], "x" * 400], ids=["one item", "a string"])
def test_a_single_turn_is_not_compacted(gateway, upstream, items):
    made = gateway.create(input=items, context_management=LOW)
    assert [item["type"] for item in made["output"]] == ["message"]
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("summary", [answer(""), answer("half", finish="length"), failure(400, "no summary today")])
def test_without_a_summary_the_whole_conversation_is_answered(gateway, upstream, stream, summary):
    upstream.script("m", summary, answer("fine"))
    made = make(gateway, stream, input=LONG, context_management=LOW, headers={"x-godex-diagnostics": "1"})
    assert [item["type"] for item in made["output"]] == ["message"] and output_text(made) == "fine"
    assert sent(upstream) == [(item["role"], item["content"]) for item in LONG]
    assert notes(made) == [("ignored", "context_management")]


def test_an_upstream_that_is_away_is_an_error(gateway, upstream, stream):
    upstream.script("m", failure(503, "overloaded"))
    gateway.refused(503, input=LONG, context_management=LOW, stream=stream)
    assert len(upstream.requests) == 1


def test_a_refusal_of_the_answer_fails_the_response(gateway, upstream):
    upstream.script("m", answer("SUMMARY"), failure(429, "slow down"))
    made = gateway.stream(input=LONG, context_management=LOW).response
    assert made["status"] == "failed" and made["error"]["code"] == "rate_limit_exceeded"
    upstream.script("m", answer("SUMMARY"), failure(429, "slow down"))
    assert gateway.refused(429, input=LONG, context_management=LOW)["code"] == "rate_limit_exceeded"


def test_a_summary_that_is_cut_off_fails_the_response(gateway, upstream):
    upstream.script("m", sse(chunk(content="half"), cut_after=1))
    assert gateway.stream(input=LONG, context_management=LOW).response["status"] == "failed"


def test_a_repaired_answer_keeps_the_compaction(gateway, upstream):
    upstream.script("m", answer("SUMMARY"), answer("no json"), answer('{"a":1}'))
    form = {"type": "json_schema", "name": "x", "strict": True, "schema": {"type": "object"}}
    made = gateway.create(input=LONG, text={"format": form}, context_management=LOW)
    assert [item["type"] for item in made["output"]] == ["compaction", "message"]
    assert output_text(made) == '{"a":1}' and len(upstream.requests) == 3


def test_a_known_window_stands_in_for_the_threshold(make_gateway, upstream):
    gateway = make_gateway({"capabilities": {"context_window": 60}})
    upstream.script("m", answer("SUMMARY"), answer("fine"))
    made = gateway.create(input=LONG, context_management=[{"type": "compaction"}])
    assert made["output"][0]["type"] == "compaction"


@pytest.mark.parametrize(
    "entry", [{"type": "compaction"}, {"type": "compaction", "compact_threshold": None}, {"type": "x"}]
)
def test_what_cannot_be_served_is_said_to_be_ignored(gateway, upstream, entry):
    made = gateway.create(input=LONG, context_management=[entry], headers={"x-godex-diagnostics": "1"})
    assert notes(made) == [("ignored", "context_management")]
    assert len(upstream.requests) == 1


WRONG = [
    ({}, "context_management"),
    ([5], "context_management[0]"),
    ([{}], "context_management[0].type"),
    ([{"type": 5}], "context_management[0].type"),
    ([{"type": "compaction", "compact_threshold": "50"}], "context_management[0].compact_threshold"),
    ([{"type": "compaction", "compact_threshold": 0}], "context_management[0].compact_threshold"),
    ([{"type": "compaction", "compact_threshold": True}], "context_management[0].compact_threshold"),
]


@pytest.mark.parametrize(("value", "param"), WRONG)
def test_what_is_wrong_is_named(gateway, value, param):
    assert gateway.refused(400, context_management=value)["param"] == param


def test_counting_tokens_compacts_nothing(gateway, upstream):
    def count(**fields):
        return gateway.client.post(
            "/v1/responses/input_tokens", json={"model": "m", "input": LONG, **fields}
        ).get_json()

    assert count(context_management=LOW) == count()
    assert upstream.requests == []


def test_a_client_that_leaves_during_the_answer_stops_the_second_call(gateway, upstream):
    upstream.script("m", answer("SUMMARY"), sse(chunk(content="half"), stall_after=1))
    body = {"model": "m", "input": LONG, "context_management": LOW, "stream": True}
    reply = gateway.client.post("/v1/responses", json=body)
    for piece in reply.response:
        if b"output_text.delta" in piece:
            break
    reply.close()
    assert upstream.wait_for_outcome() == "client_gone"
