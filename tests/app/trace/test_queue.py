"""What gives way when rows come faster than they can be written."""

from __future__ import annotations

from app.trace import queue
from app.trace.queue import RowQueue
from app.trace.rows import Row


def row(kind: str, name: str, payload: str | None = None) -> Row:
    return Row(
        kind=kind,  # type: ignore[arg-type]
        created_at=1.0,
        request_id="",
        response_id="",
        provider="",
        model="",
        caller="",
        event_name=name,
        payload=payload,
        encoded=True,
    )


def names(rows: RowQueue) -> list[str | None]:
    return [one.event_name for one in rows.take()]


def test_rows_come_out_as_they_came_in() -> None:
    rows = RowQueue(10)
    for kind, name in (("request", "1"), ("event", "2"), ("usage", "3"), ("event", "4")):
        rows.put(row(kind, name))
    assert names(rows) == ["1", "2", "3", "4"]
    assert len(rows) == 0


def test_the_oldest_event_gives_way_and_is_counted() -> None:
    rows = RowQueue(3)
    for kind, name in (("request", "1"), ("event", "2"), ("event", "3"), ("usage", "4"), ("error", "5")):
        rows.put(row(kind, name))
    assert rows.dropped == 2
    assert names(rows) == ["1", "4", "5"]


def test_without_events_the_oldest_row_gives_way() -> None:
    rows = RowQueue(2)
    for name in "123":
        rows.put(row("request", name))
    assert (rows.dropped, names(rows)) == (1, ["2", "3"])


def test_what_could_not_be_written_comes_before_what_is_new() -> None:
    rows = RowQueue(10)
    rows.put(row("event", "old"))
    taken = rows.take()
    rows.put(row("event", "new"))
    rows.give_back(taken)
    assert names(rows) == ["old", "new"]


def test_what_is_given_back_may_not_be_heavy(monkeypatch) -> None:
    monkeypatch.setattr(queue, "MAX_BYTES", 250)
    rows = RowQueue(100)
    rows.give_back([row("request", "0", "x" * 100), *(row("event", str(n), "x" * 100) for n in range(1, 5))])
    assert rows.dropped == 3
    assert names(rows) == ["0", "4"]
