"""A conversation that grows too long: Codex has it summarised, in its own way or by the gateway's compaction item."""

from __future__ import annotations

import json

import pytest

from tests.e2e.codex.calls import command
from tests.support.fake_upstream import Answer, answer

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

BOTH_WAYS = pytest.mark.parametrize("websockets", [False, True], ids=["post", "websocket"])
FULL = {"prompt_tokens": 95_000, "completion_tokens": 100, "total_tokens": 95_100}  # of a window of 100,000
TRIGGER = {"name": "OpenAI"}  # under this name Codex sends a compaction_trigger item


def text_of(chat):
    return json.dumps(chat["messages"])


@BOTH_WAYS
def test_compaction_in_mid_turn(codex, websockets):
    run = codex(
        "Work.",
        answer(calls=(command("a", "echo one"),), usage=FULL),
        answer("One was echoed."),
        answer("Done."),
        endpoint={"supports_websockets": websockets},
    )
    assert run.answer == "Done."
    working, summing_up, going_on = run.requests
    assert working["tools"] and "tools" not in summing_up
    assert summing_up["messages"][-1]["role"] == "user"
    assert "One was echoed." in text_of(going_on) and going_on["tools"] == working["tools"]
    assert not any(message["role"] == "tool" for message in going_on["messages"])


@BOTH_WAYS
def test_compaction_before_a_resumed_turn(codex, websockets):
    endpoint = {"supports_websockets": websockets}
    first = codex("Work.", answer("Worked.", usage=FULL), endpoint=endpoint)
    second = codex(
        "More.",
        answer("They worked."),
        answer("More done."),
        arguments=("resume", first.thread),
        endpoint=endpoint,
    )
    assert second.answer == "More done."
    summing_up, going_on = second.requests
    assert "tools" not in summing_up and "Worked." in text_of(summing_up)
    assert "They worked." in text_of(going_on) and going_on["messages"][-1]["content"] == "More."


@BOTH_WAYS
@pytest.mark.parametrize("provider", ["up", "deepseek"])
def test_compaction_by_trigger(codex, provider, websockets):
    run = codex(
        "Work.",
        answer("I look.", reasoning="Look first.", calls=(command("a", "echo one"),), usage=FULL),
        answer("Goal: work. One was echoed.", reasoning="Sum up."),
        answer("Done.", reasoning="So."),
        provider=provider,
        endpoint={**TRIGGER, "supports_websockets": websockets},
        entry={"context_window": 100_000},
    )
    assert run.answer == "Done."
    _, summing_up, going_on = run.requests
    assert "tools" not in summing_up
    assert "One was echoed." in text_of(going_on)


def test_a_triggered_compaction_outlives_the_process(codex):
    first = codex(
        "Work.",
        answer(calls=(command("a", "echo one"),), usage=FULL),
        answer("Goal: work. One was echoed."),
        answer("Done."),
        endpoint=TRIGGER,
    )
    second = codex("More.", answer("More done."), arguments=("resume", first.thread), endpoint=TRIGGER)
    assert second.answer == "More done."
    assert "One was echoed." in text_of(second.requests[0])


def test_an_overlong_conversation_is_shortened_until_its_summary_fits(codex):
    too_long = Answer(status=400, body={"error": {"message": "Maximum context length is 100 tokens."}})
    run = codex(
        "Work.",
        answer(calls=(command("a", "echo one"),), usage=FULL),
        too_long,
        answer("Summary."),
        answer("Done."),
    )
    assert run.answer == "Done."
    assert len(run.requests[2]["messages"]) < len(run.requests[1]["messages"])


def test_a_session_with_a_model_of_unknown_window_is_compacted_too(codex):
    run = codex(
        "Work.",
        answer(calls=(command("a", "echo one"),), usage={"prompt_tokens": 127_000, "completion_tokens": 100}),
        answer("One was echoed."),
        answer("Done."),
        provider="deepseek",
    )
    assert run.answer == "Done." and len(run.requests) == 3
