"""The trace in one SQLite file, shared by all workers of a machine."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from ..private_file import make_private_file
from ..sqlite_insert import insert
from .rows import COLUMNS, COLUMNS_OF, COMMON, Row

BUSY_TIMEOUT: Final = 5.0  # seconds to wait for another worker's batch; nobody waits for the writer
PURGE_BATCH: Final = 2000  # rows: other workers get their turn between two batches

TABLE = f"CREATE TABLE IF NOT EXISTS records (id INTEGER PRIMARY KEY, {', '.join(COLUMNS)})"
INDEXES = """
    CREATE INDEX IF NOT EXISTS records_by_response ON records (response_id);
    CREATE INDEX IF NOT EXISTS requests ON records (request_id) WHERE kind = 'request' AND side = 'client';
"""
# Ids grow with time, so the oldest rows are the first ones, and no index over time has to be kept.
DELETE = """
    DELETE FROM records WHERE created_at < :before
      AND id <= (SELECT MAX(id) FROM (SELECT id FROM records ORDER BY id LIMIT :batch))
"""


def _insert(columns: tuple[str, ...]) -> tuple[str, Callable[[Row], tuple[Any, ...]]]:
    """The statement's head, and what takes its values from a row."""
    return f"INSERT INTO records ({', '.join(columns)})", attrgetter(*columns)


_INSERTS: Final = {kind: _insert((*COMMON, *columns)) for kind, columns in COLUMNS_OF.items()}


class SqliteSink:
    """Opened at first use, after the fork. One caller at a time. Both calls raise sqlite3.Error or OSError."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._connection: sqlite3.Connection | None = None

    def write(self, rows: Sequence[Row]) -> None:
        """All of them or none."""
        connection = self._opened()
        with connection:
            for kind, (into, values) in _INSERTS.items():  # empty columns cost as much as full ones
                insert(connection, into, [values(row) for row in rows if row.kind == kind])

    def purge(self, before: float) -> int:
        """Removes what is older than `before` (Unix seconds); gives the number of rows."""
        connection = self._opened()
        removed, batch = 0, PURGE_BATCH
        while batch == PURGE_BATCH:
            with connection:
                batch = connection.execute(DELETE, {"before": before, "batch": PURGE_BATCH}).rowcount
            removed += batch
        return removed

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            make_private_file(self._path)  # prompts are nobody else's business
            connection = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT, check_same_thread=False)
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute(TABLE)
                present = {row[1] for row in connection.execute("PRAGMA table_info(records)")}
                for column in COLUMNS:  # the file may be of a former release
                    if column not in present:
                        connection.execute(f"ALTER TABLE records ADD COLUMN {column}")
                connection.executescript(INDEXES)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection
