"""truncation: what happens to a conversation that is too long for the model."""

from __future__ import annotations

import pytest

from bridge.request.items import COMPACTION_HEADER
from tests.support.client import output_text
from tests.support.fake_upstream import answer, failure
from tests.support.legality import check_chat_request

TOO_LONG = failure(400, "This model's maximum context length is 8192 tokens", code="context_length_exceeded")
TALK = [
    item
    for turn in range(10)
    for item in ({"role": "user", "content": f"question {turn} {'x' * 400}"}, {"role": "assistant", "content": "yes"})
]
ASKED = {"instructions": "Be brief.", "input": [*TALK, {"role": "user", "content": "now"}]}


def lengths(upstream):
    for request in upstream.requests:
        check_chat_request(request.body)
        messages = request.body["messages"]
        assert (messages[0]["content"], messages[-1]["content"]) == ("Be brief.", "now")
    return [len(request.body["messages"]) for request in upstream.requests]


def notes(response):
    return [(note["action"], note["subject"]) for note in response["godex"]["diagnostics"]]


@pytest.mark.parametrize("stream", [False, True])
def test_auto_drops_turns_until_the_upstream_takes_the_rest(gateway, upstream, stream):
    upstream.script("m", TOO_LONG, TOO_LONG, answer("fine"))
    asked = {**ASKED, "truncation": "auto", "headers": {"x-godex-diagnostics": "1"}}
    made = gateway.stream(**asked).response if stream else gateway.create(**asked)
    assert output_text(made) == "fine" and made["truncation"] == "auto"
    assert lengths(upstream) == [22, 14, 10]
    assert notes(made) == [("degraded", "truncation")] * 2


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("truncation", ["disabled", None])
def test_without_auto_the_error_passes(gateway, upstream, truncation, stream):
    upstream.script("m", TOO_LONG)
    error = gateway.refused(400, **ASKED, truncation=truncation, stream=stream)
    assert error["code"] == "context_length_exceeded"
    assert lengths(upstream) == [22]


def test_tries_are_bounded(gateway, upstream):
    upstream.script("m", TOO_LONG, repeat=True)
    assert gateway.refused(400, **ASKED, truncation="auto")["code"] == "context_length_exceeded"
    assert lengths(upstream) == [22, 14, 10, 4, 2]


def test_what_cannot_be_shortened_is_asked_once(gateway, upstream):
    upstream.script("m", TOO_LONG, repeat=True)
    asked = {"instructions": "Be brief.", "input": "now", "truncation": "auto"}
    assert gateway.refused(400, **asked)["code"] == "context_length_exceeded"
    assert lengths(upstream) == [2]


def test_other_refusals_are_not_answered_with_less(gateway, upstream):
    upstream.script("m", failure(400, "bad"))
    gateway.refused(400, **ASKED, truncation="auto")
    assert lengths(upstream) == [22]


@pytest.mark.parametrize(("window", "output", "left"), [(500, None, 8), (500, 200, 6), (5000, None, 22), (10, None, 2)])
def test_a_known_window_is_not_even_tried_to_exceed(make_gateway, upstream, window, output, left):
    gateway = make_gateway({"capabilities": {"context_window": window}})
    gateway.create(**ASKED, truncation="auto", max_output_tokens=output)
    assert lengths(upstream) == [left]


def test_a_known_window_changes_nothing_without_auto(make_gateway, upstream):
    gateway = make_gateway({"capabilities": {"context_window": 100}})
    gateway.create(**ASKED)
    assert lengths(upstream) == [22]


def test_a_tool_loop_keeps_its_question_and_its_last_calls(gateway, upstream):
    items = [{"role": "user", "content": "go"}]
    for number in range(12):
        items.append({"type": "function_call", "call_id": f"c{number}", "name": "run", "arguments": "{}"})
        items.append({"type": "function_call_output", "call_id": f"c{number}", "output": "x" * 400})
    upstream.script("m", *[TOO_LONG] * 4, answer("done"))
    gateway.create(input=items, truncation="auto")
    for request in upstream.requests:
        check_chat_request(request.body)
    last = upstream.requests[-1].body["messages"]
    assert [message["role"] for message in last] == ["user", "assistant", "tool"]
    assert last[2]["tool_call_id"] == "c11"


def test_what_was_left_out_once_is_still_stored(gateway, upstream):
    upstream.script("m", TOO_LONG, answer("fine"), answer("later"))
    first = gateway.create(**ASKED, truncation="auto")
    gateway.create(input="again", previous_response_id=first["id"])
    assert len(upstream.requests[-1].body["messages"]) == 22 + 2


@pytest.mark.parametrize(("strict", "roles"), [(True, ["system", "user"]), (False, ["system", "user", "user"])])
def test_what_follows_a_summary_joins_it_where_turns_must_alternate(make_gateway, upstream, strict, roles):
    gateway = make_gateway({"capabilities": {"context_window": 10, "strict_turns": strict}})
    summary = {"role": "user", "content": f"{COMPACTION_HEADER}\n\nThey met."}
    talk = [summary, {"role": "assistant", "content": "yes"}, *TALK, {"role": "user", "content": "now"}]
    gateway.create(instructions="Be brief.", input=talk, truncation="auto")
    messages = upstream.requests[-1].body["messages"]
    assert [message["role"] for message in messages] == roles
    assert "\n\n".join(message["content"] for message in messages[1:]) == f"{COMPACTION_HEADER}\n\nThey met.\n\nnow"
