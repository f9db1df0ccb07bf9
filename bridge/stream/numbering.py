"""The two counters of a response: events are numbered without gaps, items in order of appearance."""

from __future__ import annotations

from typing import Any

Event = dict[str, Any]


class Numbering:
    __slots__ = ("_sequence", "_outputs")

    def __init__(self) -> None:
        self._sequence = -1
        self._outputs = -1

    def next_sequence(self) -> int:
        self._sequence += 1
        return self._sequence

    def next_output_index(self) -> int:
        self._outputs += 1
        return self._outputs

    def event(self, kind: str, **fields: Any) -> Event:
        """A Responses event with the next sequence number."""
        self._sequence += 1
        return {"type": kind, "sequence_number": self._sequence, **fields}
