"""What is left of a conversation that is too long."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.plan.diagnostics import Diagnostics
from bridge.request.build import build_chat_request, plan_request
from bridge.request.estimate import message_tokens
from bridge.request.items import COMPACTION_HEADER
from bridge.request.truncate import truncated, with_summary
from bridge.spec import Capabilities
from tests.support.legality import check_chat_request

EVERYTHING = 10**9

texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=60)
PICTURE = {"type": "input_image", "image_url": "data:image/png;base64,AA=="}


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Items as clients send them: turns with instructions, tool loops, parallel calls and pictures in outputs."""
    items: list[dict[str, Any]] = []
    number = 0
    for _ in range(draw(st.integers(1, 6))):
        for kind in draw(st.lists(st.sampled_from(["system", "developer", "user", "assistant", "calls"]), max_size=6)):
            if kind != "calls":
                items.append({"type": "message", "role": kind, "content": draw(texts)})
                continue
            calls = [f"call_{number + offset}" for offset in range(draw(st.integers(1, 3)))]
            number += len(calls)
            items += [{"type": "function_call", "call_id": call, "name": "run", "arguments": "{}"} for call in calls]
            pictures = draw(st.booleans())
            for call in calls:
                output = [{"type": "input_text", "text": "seen"}, PICTURE] if pictures else draw(texts)
                items.append({"type": "function_call_output", "call_id": call, "output": output})
        items.append({"type": "message", "role": "user", "content": draw(texts)})
    return items


CAPABILITIES = [
    Capabilities(),
    Capabilities(system_rule="merge_first", strict_turns=True),
    Capabilities(tool_result_images="tool_message", instruction_role="developer"),
]


def messages_of(items: list[dict[str, Any]], caps: Capabilities = Capabilities()) -> list[dict[str, Any]]:
    request = {"model": "m", "input": items}
    plan = plan_request(request, items, caps, Diagnostics())
    chat = build_chat_request(request, items, plan, model="m", first_input=0, unseal=lambda _: None)
    return chat["messages"]


def size(messages: list[Any]) -> float:
    return sum(map(message_tokens, messages))


@given(conversations(), st.sampled_from(CAPABILITIES), st.floats(-10, 2000))
def test_what_is_left_is_legal_and_keeps_what_counts(items: list[dict[str, Any]], caps: Capabilities, excess: float):
    messages = messages_of(items, caps)
    kept = truncated(messages, excess)
    check_chat_request({"messages": kept})
    remaining = iter(messages)
    assert all(any(message is one for one in remaining) for message in kept), "the same messages in the same order"
    for role in ("system", "developer"):
        assert [m for m in kept if m["role"] == role] == [m for m in messages if m["role"] == role]
    assert kept[-1] is messages[-1]
    assert [m for m in kept if m["role"] == "user"][-1] is [m for m in messages if m["role"] == "user"][-1]
    if excess <= 0:
        assert kept == messages


@given(conversations(), st.floats(0, 2000))
def test_no_more_goes_than_must(items: list[dict[str, Any]], excess: float):
    messages = messages_of(items)
    kept = truncated(messages, excess)
    if size(messages) - size(kept) < excess:  # then nothing more may go
        assert kept == truncated(messages, EVERYTHING)
    assert len(truncated(messages, excess / 2)) >= len(kept)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def calls(number: int) -> list[dict[str, Any]]:
    call = {"id": f"call_{number}", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{number}", "content": "x"},
    ]


SYSTEM = {"role": "system", "content": "Be brief."}
TALK = [
    SYSTEM,
    user("a"),
    {"role": "assistant", "content": "one"},
    user("b"),
    *calls(1),
    SYSTEM,
    user("c"),
    *calls(2),
    *calls(3),
]


@pytest.mark.parametrize(
    ("excess", "left"),
    [
        (0, TALK),
        (1, [SYSTEM, *TALK[3:]]),
        (15, [SYSTEM, SYSTEM, *TALK[7:]]),
        (30, [SYSTEM, SYSTEM, user("c"), *calls(3)]),
        (EVERYTHING, [SYSTEM, SYSTEM, user("c"), *calls(3)]),
    ],
    ids=["enough room", "the oldest turn", "all older turns", "older calls of the newest turn", "all that may go"],
)
def test_the_oldest_goes_first(excess: float, left: list[dict[str, Any]]):
    assert truncated(TALK, excess) == left


@pytest.mark.parametrize("messages", [[], [SYSTEM], [user("a")], [SYSTEM, user("a")], calls(1)])
def test_what_is_short_already_stays_whole(messages: list[dict[str, Any]]):
    assert truncated(messages, EVERYTHING) == messages


SUMMARY = user(f"{COMPACTION_HEADER}\n\nThey met.")


# What it becomes where users in a row are joined, and the next one brought a picture.
SUMMARY_AND_PICTURE = {"role": "user", "content": [{"type": "text", "text": SUMMARY["content"]}, {"type": "image_url"}]}


@pytest.mark.parametrize("summary", [SUMMARY, SUMMARY_AND_PICTURE], ids=["text", "joined with a picture"])
def test_the_summary_of_what_was_compacted_stays(summary: dict[str, Any]) -> None:
    later = [user("a"), {"role": "assistant", "content": "one"}, user("b")]
    assert truncated([SYSTEM, summary, *later], EVERYTHING) == [SYSTEM, summary, user("b")]


def test_a_new_summary_takes_the_place_of_the_former() -> None:
    told = with_summary([SYSTEM, SUMMARY, user("a"), user("b")], "They talked.", Capabilities())
    assert told == [SYSTEM, user(f"{COMPACTION_HEADER}\n\nThey talked."), user("b")]


def test_pictures_go_with_the_call_that_made_them():
    pictures = {
        "role": "user",
        "content": [{"type": "text", "text": "[Output of run, call call_1]"}, {"type": "image_url"}],
    }
    talk = [user("a"), *calls(1), pictures, *calls(2)]
    assert truncated(talk, EVERYTHING) == [user("a"), *calls(2)]
