from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.sessions.record import CorruptRecord, decode, encode
from app.sessions.session import make_session, request_snapshot, response_object

from .builders import OWNER, TOOL, message, response, session

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=8,
)
objects = st.dictionaries(st.text(), json_values, max_size=3)
requests = st.fixed_dictionaries(
    {"model": st.text(min_size=1)},
    optional={
        "input": st.one_of(st.none(), st.text(), st.lists(objects, max_size=3)),
        "instructions": st.one_of(st.none(), st.text()),
        "tools": st.one_of(st.none(), st.lists(objects, max_size=3)),
        "tool_choice": st.one_of(st.none(), st.text(), objects),
        "parallel_tool_calls": st.one_of(st.none(), st.booleans()),
        "reasoning": st.one_of(st.none(), objects),
        "text": st.one_of(st.none(), objects),
        "truncation": st.one_of(st.none(), st.text()),
        "something_new": json_values,
    },
)
responses = st.fixed_dictionaries(
    {
        "id": st.text(min_size=1),
        "created_at": st.integers(),
        "status": st.text(),
        "output": st.lists(objects, max_size=3),
    },
    optional=dict.fromkeys(
        ("usage", "error", "incomplete_details", "instructions", "tools", "text", "metadata", "new_field"), json_values
    ),
)


@given(requests, responses, st.text(), st.randoms())
def test_a_response_object_comes_back_exactly_in_its_order(
    request: dict[str, Any], given_response: dict[str, Any], owner: str, random: Any
) -> None:
    fields = list(given_response.items())
    random.shuffle(fields)
    given_response = dict(fields)
    before = json.dumps(given_response)
    stored = make_session(request, given_response, owner)
    assert json.dumps(response_object(stored)) == before
    again = decode(encode(stored), check_rest=True)
    assert again == stored
    assert json.dumps(response_object(again)) == before
    assert json.dumps(given_response) == before


@given(requests, responses)
def test_the_request_snapshot_is_what_was_sent(request: dict[str, Any], given_response: dict[str, Any]) -> None:
    stored = decode(encode(make_session(request, given_response, OWNER)))
    fields = ("input", "instructions", "model", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "text")
    sent = {name: request[name] for name in (*fields, "truncation") if request.get(name) is not None}
    snapshot = request_snapshot(stored)
    assert snapshot.keys() == sent.keys()
    for name, value in sent.items():
        assert snapshot[name] == value or snapshot[name] == given_response[name]


def test_nothing_big_is_stored_twice() -> None:
    request = {
        "model": "m",
        "input": "the-input",
        "instructions": "the-instructions",
        "tools": [{**TOOL, "description": "the-description"}],
        "text": {"format": {"type": "json_schema", "name": "n", "schema": {"title": "the-schema"}}},
        "metadata": {"k": "the-metadata"},
    }
    shown_tool = {**TOOL, "description": "the-description", "strict": None}
    shown_format = {**request["text"]["format"], "description": None, "strict": False}
    given_response = response(
        "resp_1",
        instructions="the-instructions",
        tools=[shown_tool],
        text={"format": shown_format, "verbosity": "medium"},
        metadata={"k": "the-metadata"},
        output=[message("the-output")],
    )
    stored = make_session(request, given_response, OWNER)
    record = encode(stored)
    for needle in ("input", "instructions", "description", "schema", "metadata", "output"):
        assert record.count(f'"the-{needle}"'.encode()) == 1, needle
    assert json.dumps(response_object(decode(record))) == json.dumps(given_response)
    assert request_snapshot(stored)["tools"] == [shown_tool]


def test_a_setting_that_the_response_shows_differently_is_kept_as_sent() -> None:
    stored = session("resp_1", request={"tools": [TOOL], "tool_choice": "required"}, tools=[], tool_choice="auto")
    assert request_snapshot(stored)["tools"] == [TOOL]
    assert request_snapshot(stored)["tool_choice"] == "required"
    assert response_object(stored)["tools"] == []


def test_a_session_says_what_the_response_object_says() -> None:
    given_response = response("resp_2", "resp_1", status="incomplete", completed_at=None, metadata={"a": "b"})
    given_response["incomplete_details"] = {"reason": "max_output_tokens"}
    stored = make_session({"model": "m", "conversation": {"id": "conv_1"}}, given_response, OWNER)
    assert (stored.id, stored.previous_response_id, stored.conversation_id) == ("resp_2", "resp_1", "conv_1")
    assert (stored.created_at, stored.completed_at, stored.status) == (1_700_000_000, None, "incomplete")
    assert stored.response["incomplete_details"] == {"reason": "max_output_tokens"}
    assert stored.metadata == {"a": "b"}
    assert stored.owner == OWNER


def test_the_output_text_is_that_of_all_text_parts() -> None:
    call = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "n", "arguments": "{}"}
    refusal = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}
    assert session("r", output=[message("one "), call, refusal, message("two")]).output_text == "one two"


def test_fields_of_newer_writers_are_ignored_and_those_of_older_ones_defaulted() -> None:
    stored = session("resp_1")
    head, rest = encode(stored).split(b"\n")
    fields = json.loads(head)
    newer = json.dumps({**fields, "v": 99, "from_the_future": [1], "response": {**fields["response"], "cost": 3}})
    assert decode(newer.encode() + b"\n" + rest) == stored
    for name in ("v", "conversation_id", "completed_at", "metadata"):
        del fields[name]
    for name in ("usage", "error", "incomplete_details"):
        del fields["response"][name]
    older = decode(json.dumps(fields).encode() + b"\n" + rest)
    assert (older.id, older.metadata, older.completed_at, older.response["usage"]) == ("resp_1", {}, None, None)
    assert older.response["output"] == stored.response["output"]


def test_the_record_names_its_schema_version() -> None:
    assert json.loads(encode(session("resp_1")).split(b"\n")[0])["v"] == 1


@given(st.integers(min_value=0), st.binary(max_size=4))
def test_a_record_damaged_anywhere_is_read_or_refused(at: int, inserted: bytes) -> None:
    whole = encode(session("resp_1"))
    at %= len(whole)
    for damaged in (whole[:at], whole[:at] + inserted + whole[at + len(inserted) :]):
        try:
            found = decode(damaged, check_rest=True)
        except CorruptRecord:
            continue
        response_object(found)
        request_snapshot(found)


@pytest.mark.parametrize("record", [b"", b"\n", b"1", b"null\n{}", b"\xff\n{}"])
def test_what_is_no_record_is_refused(record: bytes) -> None:
    with pytest.raises(CorruptRecord):
        decode(record)
