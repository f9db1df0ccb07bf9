"""Reasoning: shown as a summary, and given back to upstreams that want it."""

from __future__ import annotations

import pytest

from tests.e2e.codex.calls import command
from tests.support.fake_upstream import answer, failure

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

BOTH_WAYS = pytest.mark.parametrize("websockets", [False, True], ids=["post", "websocket"])


def refusing(then, *reasoning):
    """An upstream that answers only when the history's calls come with their reasoning, as DeepSeek's does."""

    def play(chat):
        given = [message.get("reasoning_content") for message in chat["messages"] if message["role"] == "assistant"]
        if given != list(reasoning):
            return failure(400, f"The reasoning_content must be passed back: {given}")
        return then

    return play


@BOTH_WAYS
def test_reasoning_is_shown_and_replayed_with_its_calls(codex, websockets):
    run = codex(
        "Work.",
        answer("First.", reasoning="I should look.", calls=(command("a", "echo one"),)),
        refusing(answer(reasoning="And again.", calls=(command("b", "echo two"),)), "I should look."),
        refusing(answer("Done.", reasoning="That is all."), "I should look.", "And again."),
        provider="deepseek",
        endpoint={"supports_websockets": websockets},
    )
    assert run.answer == "Done."
    assert [item["text"] for item in run.items("reasoning")] == ["I should look.", "And again.", "That is all."]


def test_reasoning_is_replayed_in_a_resumed_session(codex):
    first = codex(
        "Work.",
        answer(reasoning="I should look.", calls=(command("a", "echo one"),)),
        answer("Done.", reasoning="That is all."),
        provider="deepseek",
    )
    second = codex(
        "More.",
        refusing(answer("More done.", reasoning="Sure."), "I should look.", "That is all."),
        provider="deepseek",
        arguments=("resume", first.thread),
    )
    assert second.answer == "More done."


@pytest.mark.parametrize(
    ("asked", "sent"), [("high", ("high", "enabled")), ("none", (None, "disabled")), ("xhigh", ("high", "enabled"))]
)
def test_the_effort_becomes_one_that_the_model_knows(codex, asked, sent):
    run = codex("Work.", answer("Done."), provider="deepseek", config={"model_reasoning_effort": asked})
    chat = run.requests[0]
    assert (chat.get("reasoning_effort"), chat["thinking"]["type"]) == sent


def test_switched_off_summaries_do_not_stop_the_turn(codex):
    run = codex(
        "Work.",
        answer(reasoning="I should look.", calls=(command("a", "echo one"),)),
        refusing(answer("Done."), "I should look."),
        provider="deepseek",
        config={"model_reasoning_summary": "none"},
    )
    assert run.answer == "Done."
