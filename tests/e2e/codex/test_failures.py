"""An upstream that fails: what Codex makes of it. It repeats what may pass, and only that."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.e2e.codex.calls import command, fragment
from tests.support.fake_upstream import Answer, answer, body, chunk, failure, sse

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

BOTH_WAYS = pytest.mark.parametrize("websockets", [False, True], ids=["post", "websocket"])
ONCE_MORE = {"stream_max_retries": 1}

PASSING = {
    "429 with a hint": failure(429, "Slow down.", headers={"Retry-After": "1"}),
    "429 with half a second": failure(429, "Slow down.", headers={"Retry-After": "0.5"}),
    "429 without a hint": failure(429, "Slow down."),
    "503": failure(503, "Overloaded.", headers={"Retry-After": "1"}),
    "502 of a proxy": Answer(status=502, body="<html><body>Bad Gateway</body></html>"),
    "a connection that is dropped": answer(drop=True),
    "a reset in the text": sse(chunk(content="Half an "), chunk(content="answer"), cut_after=1, reset=True),
    "an early end": sse(chunk(content="Half an "), done=False, framing="close"),
    "an error in the stream": sse(chunk(content="Half"), {"error": {"message": "The engine died.", "code": 500}}),
    "garbage": sse("data: {broken\n\n", done=False),
    "an empty stream": sse(done=False),
}


@BOTH_WAYS
@pytest.mark.parametrize(("number", "fault"), [*enumerate(PASSING.values())], ids=PASSING)
def test_what_may_pass_is_repeated(codex, number, fault, websockets):
    run = codex(
        "Work.",
        fault,
        answer("Whole answer."),
        provider=f"spare{number}",
        endpoint={**ONCE_MORE, "supports_websockets": websockets},
    )
    assert run.status == 0, run.events
    assert run.answer == "Whole answer."
    assert len(run.requests) == 2


def context_length(message, **fields):
    return Answer(status=400, body={"error": {"message": message, "type": "invalid_request_error", **fields}})


FINAL = {
    "quota": (failure(429, "You exceeded your current quota.", code="insufficient_quota"), "Quota exceeded"),
    "no money": (failure(402, "Insufficient Balance"), "Quota exceeded"),
    "a bad request": (failure(400, "Tool schema is not acceptable here."), "Tool schema is not acceptable here."),
    "context, in OpenAI's words": (
        context_length("Maximum context length is 8192 tokens.", code="context_length_exceeded"),
        "context window",
    ),
    "context, in vLLM's words": (
        context_length("This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."),
        "context window",
    ),
    "context, in llama.cpp's words": (
        context_length("the request exceeds the available context size", code=400, type="exceed_context_size_error"),
        "context window",
    ),
    "a length cut": (answer("Half an answer", finish="length"), "max_output_tokens"),
}


@BOTH_WAYS
@pytest.mark.parametrize(("fault", "words"), FINAL.values(), ids=FINAL)
def test_what_cannot_pass_is_said_once(codex, fault, words, websockets):
    run = codex("Work.", fault, provider="spare11", endpoint={**ONCE_MORE, "supports_websockets": websockets})
    assert words in run.failure
    assert len(run.requests) == 1


def test_a_refused_key_names_the_provider_and_shows_no_key(codex):
    run = codex("Work.", *[failure(401, "Bad key sk-upstream-secret")] * 2, provider="spare11", endpoint=ONCE_MORE)
    assert "spare11" in run.failure
    assert "sk-upstream-secret" not in json.dumps(run.events) + run.log


def half_call(**how):
    whole = json.dumps({"cmd": "echo half > half.txt"})
    return sse(
        chunk(tool_calls=[fragment(0, "h", "exec_command", whole[:-1])]),
        chunk(tool_calls=[fragment(0, arguments=whole[-1:])]),
        **how,
    )


HALF_CALLS = {
    "reset": half_call(cut_after=1, reset=True),
    "closed": half_call(cut_after=1),
    "ended without a reason": sse(
        chunk(tool_calls=[fragment(0, "h", "exec_command", '{"cmd": "echo half > half.txt')]), done=False
    ),
    "error": sse(
        chunk(tool_calls=[fragment(0, "h", "exec_command", '{"cmd": "echo half > half.txt')]),
        {"error": {"message": "The engine died."}},
    ),
}


@BOTH_WAYS
@pytest.mark.parametrize(("number", "fault"), [*enumerate(HALF_CALLS.values())], ids=HALF_CALLS)
def test_half_a_call_does_not_run(codex, number, fault, websockets):
    run = codex(
        "Work.",
        fault,
        answer(calls=(command("w", "echo whole > whole.txt"),)),
        answer("Done."),
        provider=f"spare{number}",
        endpoint={**ONCE_MORE, "supports_websockets": websockets},
    )
    assert run.answer == "Done."
    assert not (codex.folder / "half.txt").exists()
    assert (codex.folder / "whole.txt").exists()


def test_a_call_that_the_token_limit_cut_does_not_run(codex):
    cut = sse(
        chunk(tool_calls=[fragment(0, "h", "exec_command", '{"cmd": "echo half > half.txt')]), chunk(finish="length")
    )
    run = codex("Work.", cut, endpoint=ONCE_MORE)
    assert "max_output_tokens" in run.failure
    assert not (codex.folder / "half.txt").exists()


def test_a_whole_call_before_the_break_ran_and_its_output_is_kept(codex):
    """Codex runs a call as soon as it is done; the repeated request must carry it."""
    broken = sse(
        chunk(tool_calls=[fragment(0, "a", "exec_command", '{"cmd": "echo first > first.txt"}')]),
        chunk(content="And"),
        chunk(content=" then"),
        cut_after=2,
    )
    run = codex("Work.", broken, answer("Done."), provider="spare10", endpoint=ONCE_MORE)
    assert run.answer == "Done."
    assert (codex.folder / "first.txt").exists()
    called, output = run.requests[-1]["messages"][-2:]
    assert called["tool_calls"][0]["id"] == output["tool_call_id"] == "a"


def test_a_body_in_place_of_a_stream_is_an_answer_too(codex):
    message = {"role": "assistant", "content": "Whole."}
    run = codex("Work.", body({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}))
    assert run.answer == "Whole."


def test_three_at_once(codex):
    codex.upstream.script(
        codex.upstream_model,
        *[answer(calls=(command("c", "echo x >> all.txt"),), delay=0.3)] * 3,
        *[answer("Done.", delay=0.3)] * 3,
    )
    with ThreadPoolExecutor(3) as pool:
        runs = list(pool.map(lambda number: codex(f"Task {number}."), range(3)))
    assert [run.status for run in runs] == [0, 0, 0]
    assert [run.answer for run in runs] == ["Done."] * 3
    assert (codex.folder / "all.txt").read_text() == "x\n" * 3


@BOTH_WAYS
@pytest.mark.parametrize("silent", [False, True], ids=["speaking", "silent"])
def test_a_killed_client_frees_the_upstream(codex, silent, websockets):
    words = [chunk(content=f"word {number} ") for number in range(400)]
    fault = sse(*words, pause=0.05, stall_after=2 if silent else None)
    codex.upstream.script(codex.upstream_model, fault)
    process = codex.start("Talk.", endpoint={"supports_websockets": websockets})
    call = wait_for_call(codex)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    threading.Event().wait(2)  # the promise: within two seconds
    assert call.outcome == "client_gone"


def wait_for_call(codex):
    """The upstream's record of the call, once it has begun to answer."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        for record in codex.upstream.requests:
            if record.model == codex.upstream_model and record.chunks_sent >= 2:
                return record
        time.sleep(0.02)
    raise AssertionError("the upstream was not asked")
