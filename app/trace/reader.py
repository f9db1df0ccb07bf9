"""Questions to a trace file, for `godex trace`. It may be written to meanwhile."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from .rows import CLIENT_GONE, COLUMNS

Record = dict[str, Any]

TERMINAL: Final = ("response.completed", "response.incomplete", "response.failed")
_WITHOUT_PAYLOAD: Final = ", ".join(("id", *(column for column in COLUMNS if column != "payload")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One response. status: as it ended, "refused" by its upstream, CLIENT_GONE, or "" while it runs. Seconds."""

    began: float  # Unix time
    request_id: str
    response_id: str
    provider: str
    model: str
    caller: str
    stream: bool
    status: str
    duration: float | None
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    error: str | None


class TraceReader:
    """Raises FileNotFoundError for a file that is not there, sqlite3.Error for one that is no trace."""

    def __init__(self, path: str | Path) -> None:
        if not Path(path).is_file():
            raise FileNotFoundError(f"there is no trace at {path}")
        self._connection = sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True, timeout=5)
        self._connection.row_factory = sqlite3.Row

    def close(self) -> None:
        self._connection.close()

    def summaries(
        self, *, since: float = 0, provider: str | None = None, model: str | None = None
    ) -> Iterator[Summary]:
        """The newest first."""
        query = f"""
            SELECT {_WITHOUT_PAYLOAD} FROM records
            WHERE kind = 'request' AND side = 'client' AND created_at >= ?
              AND (? IS NULL OR provider = ?) AND (? IS NULL OR model = ?)
            ORDER BY id DESC
        """
        for asked in self._connection.execute(query, (since, provider, provider, model, model)):
            yield self._summary(asked)

    def summary(self, response_id: str) -> Summary | None:
        query = f"SELECT {_WITHOUT_PAYLOAD} FROM records WHERE kind = 'request' AND side = 'client' AND response_id = ?"
        asked = self._connection.execute(query, (response_id,)).fetchone()
        return None if asked is None else self._summary(asked)

    def records(self, some_id: str) -> list[Record]:
        """Everything about a response id, or about a request id, in order of time."""
        query = """
            SELECT * FROM records WHERE response_id = :id OR response_id IN (
                SELECT response_id FROM records WHERE request_id = :id AND kind = 'request' AND side = 'client'
            ) ORDER BY created_at, id
        """
        return [dict(row) for row in self._connection.execute(query, {"id": some_id})]

    def all_records(self, *, since: float = 0) -> Iterator[Record]:
        query = "SELECT * FROM records WHERE created_at >= ? ORDER BY id"
        return (dict(row) for row in self._connection.execute(query, (since,)))

    def ended(self, after_id: int) -> Iterator[tuple[int, str]]:
        """(id of the row that says so, response id) of what ended after that row."""
        marks = ", ".join("?" * (len(TERMINAL) + 1))
        query = f"""
            SELECT id, response_id FROM records WHERE id > ? AND (event_name IN ({marks}) AND kind = 'event'
              OR kind = 'error' AND event_name = 'request') AND side IS NOT 'upstream' ORDER BY id
        """
        for row in self._connection.execute(query, (after_id, *TERMINAL, CLIENT_GONE)):
            yield row["id"], row["response_id"]

    def last_id(self) -> int:
        return int(self._connection.execute("SELECT COALESCE(MAX(id), 0) FROM records").fetchone()[0])

    def _summary(self, asked: sqlite3.Row) -> Summary:
        marks = ", ".join("?" * (len(TERMINAL) + 1))
        query = f"""
            SELECT {_WITHOUT_PAYLOAD} FROM records
            WHERE response_id = ? AND (kind IN ('usage', 'error') OR kind = 'event' AND event_name IN ({marks}))
            ORDER BY created_at, id
        """
        rows = self._connection.execute(query, (asked["response_id"], *TERMINAL, CLIENT_GONE)).fetchall()
        usage = next((row for row in rows if row["kind"] == "usage"), None)
        errors = [row for row in rows if row["kind"] == "error"]
        end = next((row for row in reversed(rows) if row["kind"] == "event"), None)
        status = ""
        if end is not None:
            status = end["event_name"].removeprefix("response.")
        elif errors:
            end, status = errors[-1], "refused"
        return Summary(
            began=asked["created_at"],
            request_id=asked["request_id"],
            response_id=asked["response_id"],
            provider=asked["provider"],
            model=asked["model"],
            caller=asked["caller"],
            stream=bool(asked["stream"]),
            status=status,
            duration=None if end is None else end["created_at"] - asked["created_at"],
            input_tokens=usage["input_tokens"] if usage else None,
            cached_tokens=usage["cached_tokens"] if usage else None,
            output_tokens=usage["output_tokens"] if usage else None,
            error=(errors[-1]["code"] or errors[-1]["error_type"]) if errors else None,
        )
