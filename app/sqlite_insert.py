"""Many rows into SQLite in few statements.

sqlite3 lets go of the interpreter's lock for each statement, and getting it back from a busy worker takes longer than
a row does: with one statement a row, a sixth of a worker's CPU went into the trace.
"""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

MOST_VALUES: Final = 999  # of one statement, before SQLite 3.32


def insert(connection: sqlite3.Connection, into: str, rows: Sequence[Sequence[Any]]) -> None:
    """In their order. into: `INSERT INTO table (a, b)`; each row has a value for each of its columns."""
    start = 0
    while start < len(rows):
        count = at_once(len(rows) - start, len(rows[0]))
        some = rows[start : start + count]
        connection.execute(_statement(into, len(rows[0]), count), tuple(chain.from_iterable(some)))
        start += count


def at_once(count: int, width: int) -> int:
    """How many of `count` rows of `width` values go into the next statement: a power of two, so that the statements
    that a connection keeps prepared are few (one for each number took 36 MB)."""
    return 1 << (min(count, MOST_VALUES // width).bit_length() - 1)


@functools.lru_cache(maxsize=256)
def _statement(into: str, width: int, count: int) -> str:
    row = f"({', '.join('?' * width)})"
    return f"{into} VALUES {', '.join([row] * count)}"
