"""Broken upstreams: each ends as the contract says, sync and stream, in one terminal event or one HTTP error."""

from __future__ import annotations

import pytest

from app.context import Caller
from app.drain import current
from app.pipelines.begin import begin
from app.pipelines.stream import answer_stream
from tests.support.client import check_error, output_text, read_events
from tests.support.fake_upstream import Answer, answer, body, chunk, failure, sse
from tests.support.invariants import check_stream

RUN = {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {}}}
HTML = "<html><body><h1>502 Bad Gateway</h1></body></html>"

# (what, the answer, status, code): refused before a byte was answered, so both ways get an HTTP error
REFUSALS = [
    ("401", failure(401, "bad key sk-upstream-secret"), 401, "provider_authentication"),
    ("403", failure(403, "not yours"), 403, "provider_authentication"),
    ("402", failure(402, "pay first"), 429, "insufficient_quota"),
    ("used-up quota", failure(429, "You exceeded your current quota", code="insufficient_quota"), 429, "insufficient_quota"),
    ("429", failure(429, "slow down"), 429, "rate_limit_exceeded"),
    ("unknown model", failure(404, "The model `m` does not exist", code="model_not_found"), 404, "model_not_found"),
    ("500", failure(500, "oops"), 502, "provider.upstream.server_error"),
    ("HTML 502", Answer(status=502, body=HTML), 502, "provider.upstream.server_error"),
    ("503", failure(503, "overloaded"), 503, "server_is_overloaded"),
    ("529", failure(529, "overloaded"), 503, "server_is_overloaded"),
    ("504", failure(504, "too slow"), 504, "provider.upstream.timeout"),
    ("400 keeps its words", failure(400, "bad tool", code="weird_code", param="tools"), 400, "weird_code"),
    ("too long", failure(400, "This model's maximum context length is 8192 tokens"), 400, "context_length_exceeded"),
    ("an error stream with a status", sse("data: {\"error\": {\"message\": \"no\"}}\n\n", status=401), 401, "provider_authentication"),
]  # fmt: skip


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("reply", "status", "code"), [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS])
def test_refusals_are_http_errors(gateway, upstream, reply, status, code, stream):
    upstream.script("m", reply)
    error = gateway.refused(status, stream=stream)
    assert error["code"] == code
    assert "sk-upstream-secret" not in error["message"]


@pytest.mark.parametrize(("given", "told"), [("7", "7"), ("0.5", "1"), (None, "1")])
def test_every_429_says_when_to_come_back_in_whole_seconds(gateway, upstream, given, told):
    upstream.script("m", failure(429, "slow down", headers={"Retry-After": given} if given else {}))
    reply = gateway.post()
    assert check_error(reply, 429)["type"] == "rate_limit_error"
    assert reply.headers["Retry-After"] == told


def test_nobody_listens(make_gateway):
    gateway = make_gateway({"endpoint": {"base_url": "http://127.0.0.1:9/v1"}})
    for stream in (False, True):
        assert gateway.refused(502, stream=stream)["godex_code"] == "provider.upstream.unreachable"


@pytest.mark.parametrize("stream", [False, True])
def test_no_answer_is_a_timeout(make_gateway, upstream, stream):
    gateway = make_gateway({"timeouts": {"first_byte": 0.3}})
    upstream.script("m", Answer(body={}, stall=True))
    assert gateway.refused(504, stream=stream)["godex_code"] == "provider.upstream.timeout"


HALF = [chunk(content="half")]
CALL = [
    chunk(tool_calls=[{"index": 0, "id": "c", "type": "function", "function": {"name": "run", "arguments": '{"a'}}])
]
LOST = {"error": {"message": "worker limit reached", "code": 500}}

# (what, the stream, words of the error, whether text arrived)
BROKEN = [
    ("cut in text, by FIN", sse(*HALF, cut_after=1), "closed the connection", True),
    ("cut in text, by RST", sse(*HALF, cut_after=1, reset=True), "", True),
    ("cut in arguments", sse(*CALL, cut_after=1), "", False),
    ("ended in text", sse(*HALF, done=False), "broke off", True),
    ("ended in text, by closing", sse(*HALF, done=False, framing="close"), "broke off", True),
    ("ended in arguments", sse(*CALL), "broke off", False),
    ("an error in the stream", sse(*HALF, LOST), "worker limit reached", True),
    ("an error at once", sse(LOST), "worker limit reached", False),
    ("nothing but [DONE]", sse(), "without an answer", False),
    ("nothing at all", sse(done=False), "", False),
    ("garbage", sse("data: {not json\n\n" * 5), "unusable", False),
    ("content after the end", sse(*HALF, chunk(finish="stop"), *HALF), "after its finish reason", True),
    ("a finish reason that means failure", sse(*HALF, chunk(finish="network_error")), "network_error", True),
    ("a call without a name", sse(chunk(tool_calls=[{"index": 0, "id": "c", "function": {"arguments": "{}"}}]), chunk(finish="stop")),
     "without a name", False),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "words", "spoke"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_broken_streams_end_in_one_failed_event_with_the_cause(gateway, upstream, reply, words, spoke):
    upstream.script("m", reply)
    streamed = gateway.stream(tools=[RUN])
    assert streamed.response["status"] == "failed"
    assert words in streamed.response["error"]["message"]
    assert ("response.output_text.delta" in streamed.kinds) is spoke
    assert streamed.response["output"] == []


def test_a_stalled_stream_fails_after_its_idle_time(make_gateway, upstream):
    gateway = make_gateway({"timeouts": {"idle": 0.3}})
    upstream.script("m", sse(*HALF, stall_after=1))
    response = gateway.stream().response
    assert response["status"] == "failed"
    assert "sent nothing for 0.3 seconds" in response["error"]["message"]


def test_a_broken_chunk_between_good_ones_is_passed_over(gateway, upstream):
    upstream.script(
        "m", sse(*HALF, "data: {broken\n\n", ": keep-alive\n\n", chunk(content=" whole"), chunk(finish="stop"))
    )
    assert output_text(gateway.stream().response) == "half whole"


BODIES = [
    ("no JSON", Answer(body="hello"), 502),
    ("HTML with 200", Answer(body=HTML), 502),
    ("another JSON", body({"hello": 1}), 502),
    ("no choices", body({"choices": []}), 502),
    ("an error with 200", body({"error": {"message": "insufficient balance", "code": "x"}}), 429),
    ("cut in the middle", answer("x" * 2000, cut_after=0), 502),
    ("an empty body", Answer(body=""), 502),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "status"), [row[1:] for row in BODIES], ids=[row[0] for row in BODIES])
def test_broken_bodies_are_errors_of_the_gateway(gateway, upstream, reply, status):
    upstream.script("m", reply)
    gateway.refused(status)


def test_an_empty_answer_that_ended_in_order_is_an_answer(gateway, upstream):
    empty = answer("", finish="stop")
    upstream.script("m", empty, empty)
    assert gateway.create()["output"] == gateway.stream().response["output"] == []


def test_a_bug_in_a_stage_is_one_failed_event_and_no_word_of_it(gateway, monkeypatch):
    from app.sessions.memory_store import MemoryStore

    def broken(*args, **kwargs):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(MemoryStore, "resolve_chain", broken)
    error = gateway.refused(500, previous_response_id="resp_x")
    assert "secret detail" not in error["message"]


@pytest.mark.parametrize("split", [1, 2, 7])
@pytest.mark.parametrize("crlf", [False, True])
def test_framing_does_not_matter(gateway, upstream, split, crlf):
    chunks = [chunk(content="héllo 中😀"), *CALL, chunk(tool_calls=[{"index": 0, "function": {"arguments": '":1}'}}]),
              chunk(finish="tool_calls")]  # fmt: skip
    upstream.script("m", sse(*chunks, split=split, crlf=crlf), sse(*chunks))
    odd, plain = gateway.stream(tools=[RUN]), gateway.stream(tools=[RUN])
    assert odd.kinds == plain.kinds
    assert output_text(odd.response) == "héllo 中😀"


def test_the_error_reply_of_a_stream_is_no_stream(gateway, upstream):
    upstream.script("m", failure(500, "oops"))
    assert gateway.post(stream=True).mimetype == "application/json"


def test_a_stream_that_fails_still_ends_with_done(gateway, upstream):
    upstream.script("m", sse(*HALF, cut_after=1))
    events = read_events(gateway.post(stream=True).get_data())
    check_stream(events)


def test_a_whole_answer_is_stored_whether_its_client_waits_or_not(gateway, monkeypatch):
    """An interruption would come out of whatever the save waits for, and that may be shared with other requests."""
    store, seen = gateway.client.application.extensions["godex"].store, []
    save = store.save

    def looked_at(*args, **options):
        seen.append(current().asks)
        save(*args, **options)

    monkeypatch.setattr(store, "save", looked_at)
    gateway.create()
    assert seen == [False]


def test_a_stream_that_is_given_up_before_it_is_read_is_closed(gateway, upstream):
    """Its client leaves while it hears of the response's begin: nobody has asked the upstream for a word yet."""
    upstream.script("m", sse(chunk(content="half"), stall_after=1))
    request = {"model": "m", "input": "hi", "stream": True}
    context, begun = begin(gateway.client.application.extensions["godex"], request, Caller(), request_id="req_1")
    events = answer_stream(begun, context)
    assert next(events)["type"] == "response.created"
    events.close()
    assert upstream.wait_for_outcome() == "client_gone"
