"""A compaction: the model's summary of a conversation becomes one sealed item instead of a message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from bridge.stream.deltas import Delta, EndDelta, FinishDelta, TextDelta, UsageDelta
from bridge.stream.machine import count, hold, note_end
from bridge.stream.numbering import Event
from bridge.stream.turn import Turn

Item = dict[str, Any]
Seal = Callable[[dict[str, Any]], str]

TRIGGER = "compaction_trigger"
REQUEST = (
    "Summarise the conversation so far for somebody who has to continue it and will see nothing but your summary. "
    "Keep the goal, every decision and its reason, the state of files and systems, the exact names, paths, commands, "
    "numbers and errors that may be needed again, what was tried and failed, and what is still to be done. "
    "Leave out pleasantries. Do not call tools; answer with the summary alone."
)


def asks_for_compaction(items: Iterable[Item]) -> bool:
    return any(item.get("type") == TRIGGER for item in items)


def summary_items(items: Iterable[Item]) -> list[Item]:
    """The conversation, with the request for a summary in place of the trigger."""
    request = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": REQUEST}]}
    return [*(item for item in items if item.get("type") != TRIGGER), request]


def compact(deltas: Iterable[Delta], turn: Turn, seal: Seal) -> Iterator[Event]:
    """The events of a response whose output is exactly one compaction item. Raises what `machine.respond` raises."""
    yield from turn.begin()
    summary = read_summary(deltas, turn)
    if summary:
        yield from give_compaction(turn, summary, seal)
    yield from turn.end()


def read_summary(deltas: Iterable[Delta], turn: Turn) -> str:
    """The text of the answer; what else it says is noted in the turn."""
    texts: list[str] = []
    for delta in deltas:
        if isinstance(delta, TextDelta):
            texts.append(delta.text)
        elif isinstance(delta, UsageDelta):
            count(turn, delta)
        elif isinstance(delta, FinishDelta):
            hold(turn, delta)
        elif isinstance(delta, EndDelta):
            note_end(turn, delta)
    return "".join(texts).strip()


def give_compaction(turn: Turn, summary: str, seal: Seal) -> list[Event]:
    return turn.give("cmp", {"type": "compaction", "encrypted_content": seal({"summary": summary})})
