"""Rows that wait to be written: so many at most, events giving way first."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from .rows import Row

MAX_BYTES: Final = 64 * 1024 * 1024  # of payloads that could not be written


class RowQueue:
    """Many put, one takes. No locks: a deque needs none."""

    def __init__(self, max_count: int) -> None:
        self._max_count = max_count
        self._events: deque[Row] = deque()
        self._others: deque[Row] = deque()
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._events) + len(self._others)

    def put(self, row: Row) -> None:
        (self._events if row.kind == "event" else self._others).append(row)
        if len(self) > self._max_count:
            self._drop()

    def take(self) -> list[Row]:
        """All there are, oldest first."""
        rows = [rows.popleft() for rows in (self._events, self._others) for _ in range(len(rows))]
        return sorted(rows, key=attrgetter("number"))

    def give_back(self, rows: Iterable[Row]) -> None:
        """Encoded rows that could not be written; put back in front as far as there is room."""
        size = 0
        for row in reversed(list(rows)):
            (self._events if row.kind == "event" else self._others).appendleft(row)
            size += len(row.payload or "")
        while len(self) > self._max_count or (size > MAX_BYTES and len(self)):
            size -= self._drop()

    def _drop(self) -> int:
        """The oldest event; another kind of row only where there is no event. Gives its bytes."""
        try:
            row = (self._events or self._others).popleft()
        except IndexError:  # taken meanwhile
            return 0
        self.dropped += 1
        return len(row.payload or "") if row.encoded else 0
