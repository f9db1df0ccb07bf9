"""Shortens a conversation that is too long for a model: whole turns go, from the middle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bridge.protocol.chat import ChatMessage
from bridge.request.estimate import message_tokens
from bridge.request.items import COMPACTION_HEADER, INSTRUCTION_ROLES
from bridge.request.messages import shows_output, strict_turns
from bridge.spec import Capabilities

Run = list[int]  # places of messages that stay or go together


def truncated(messages: Sequence[ChatMessage], excess: float, *, summary_stays: bool = True) -> list[ChatMessage]:
    """The messages without as many of them as make up `excess` tokens (estimated), or as may go at all.

    A turn is a message of the user with everything up to the next one. The oldest turns go first; when only the newest
    is left, the oldest calls in it go, each with its outputs. What stays: instructions, wherever they stand; unless
    told otherwise, the summary of what was compacted; the newest message of the user; and what followed it last. So a
    legal conversation stays one, and the order is that of before.
    """
    gone: set[int] = set()
    for run in _in_order_of_going(messages, summary_stays):
        if excess <= 0:
            break
        gone.update(run)
        excess -= sum(message_tokens(messages[place]) for place in run)
    return [message for place, message in enumerate(messages) if place not in gone]


def with_summary(messages: Sequence[ChatMessage], summary: str, caps: Capabilities) -> list[ChatMessage]:
    """What `truncated` always keeps, with the summary of everything in place of the rest: behind the instructions at
    the front.
    """
    kept = truncated(messages, float("inf"), summary_stays=False)  # the new one tells what the former told
    front = 0
    while front < len(kept) and kept[front]["role"] in INSTRUCTION_ROLES:
        front += 1
    told: ChatMessage = {"role": "user", "content": f"{COMPACTION_HEADER}\n\n{summary}"}
    shortened = [*kept[:front], told, *kept[front:]]
    return strict_turns(shortened) if caps.strict_turns else shortened


def _in_order_of_going(messages: Sequence[ChatMessage], summary_stays: bool) -> Iterator[Run]:
    turns = _turns(messages, summary_stays)
    if not turns:
        return
    yield from turns[:-1]
    groups = _groups(messages, turns[-1])
    if messages[turns[-1][0]]["role"] == "user":
        groups = groups[1:]  # the first one is the user's message
    yield from groups[:-1]


def _turns(messages: Sequence[ChatMessage], summary_stays: bool) -> list[Run]:
    turns: list[Run] = []
    for place, message in enumerate(messages):
        if message["role"] in INSTRUCTION_ROLES or (summary_stays and _is_summary(message)):
            continue
        if not turns or (message["role"] == "user" and not shows_output(message)):
            turns.append([])
        turns[-1].append(place)
    return turns


def _is_summary(message: ChatMessage) -> bool:
    if message["role"] != "user":
        return False
    content = message["content"]
    if isinstance(content, list):  # joined with the message behind it
        content = content[0].get("text") if content else ""
    return str(content).startswith(COMPACTION_HEADER)


def _groups(messages: Sequence[ChatMessage], turn: Run) -> list[Run]:
    """A message of the assistant stands with the outputs of its calls, and with the pictures of these outputs."""
    groups: list[Run] = []
    for place in turn:
        message = messages[place]
        if not groups or not (message["role"] == "tool" or shows_output(message)):
            groups.append([])
        groups[-1].append(place)
    return groups
