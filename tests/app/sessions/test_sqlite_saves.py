"""Saves that share a transaction: each by the rules of a save alone, in few statements."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.sessions.ids import new_response_id
from app.sessions.record import encode
from app.sessions.sqlite_saves import Save, save_together
from app.sessions.sqlite_schema import connect
from app.sessions.store import UNSET
from bridge.errors import STORE_CONFLICT

from .builders import session

TTL = 1000.0


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    opened = connect(tmp_path / "sessions.db")
    yield opened
    opened.close()


def save(response_id: str, previous: str | None = None, *, now: float = 0.0, **options: Any) -> Save:
    one = session(response_id, previous)
    settings = {"overwrite": False, "expected_previous_response_id": UNSET, **options}
    return Save(one, encode(one), now=now, ttl=TTL, **settings)


def rows(connection: sqlite3.Connection, columns: str) -> list[tuple[Any, ...]]:
    return connection.execute(f"SELECT {columns} FROM responses ORDER BY id").fetchall()


def test_each_save_hears_of_its_own_fate(connection: sqlite3.Connection) -> None:
    assert save_together(connection, [save("resp_a")]) == [None]
    refusals = save_together(connection, [save("resp_b"), save("resp_a"), save("resp_c"), save("resp_b")])
    assert [getattr(refusal, "code", None) for refusal in refusals] == [None, STORE_CONFLICT, None, STORE_CONFLICT]
    assert rows(connection, "id") == [("resp_a",), ("resp_b",), ("resp_c",)]


def test_a_group_that_is_refused_as_a_whole_changes_nothing(connection: sqlite3.Connection) -> None:
    save_together(connection, [save("resp_a")])
    before = rows(connection, "*")
    (refusal,) = save_together(connection, [save("resp_a", now=5)])
    assert refusal is not None and rows(connection, "*") == before


def test_of_two_under_one_id_the_later_stays(connection: sqlite3.Connection) -> None:
    later = save("resp_a", "resp_p", overwrite=True)
    assert save_together(connection, [save("resp_a"), later]) == [None, None]
    assert rows(connection, "id, previous_response_id, record") == [("resp_a", "resp_p", later.record)]


def test_an_expired_response_gives_its_place_away(connection: sqlite3.Connection) -> None:
    save_together(connection, [save("resp_a")])
    assert save_together(connection, [save("resp_a", now=TTL)]) == [None]
    assert rows(connection, "expires_at") == [(2 * TTL,)]


def test_a_chain_within_a_group_is_renewed_as_one_over_several(connection: sqlite3.Connection) -> None:
    """A turn takes over its parent's renewed_at; once that is long ago, the whole chain lives on."""
    save_together(connection, [save("resp_a"), save("resp_b", "resp_a", now=50)])
    assert rows(connection, "id, renewed_at, expires_at") == [("resp_a", 0, TTL), ("resp_b", 0, TTL + 50)]
    save_together(connection, [save("resp_c", "resp_b", now=200), save("resp_d", "resp_c", now=210)])
    assert [row[0] for row in rows(connection, "id")] == ["resp_a", "resp_b", "resp_c", "resp_d"]
    assert {expires_at for (expires_at,) in rows(connection, "expires_at")} == {TTL + 210}


def test_a_group_takes_hardly_more_statements_than_one_save(connection: sqlite3.Connection) -> None:
    asked: list[str] = []
    connection.set_trace_callback(asked.append)
    counts = []
    for size in (1, 8, 64, 63):
        asked.clear()
        save_together(connection, [save(new_response_id(None), new_response_id(None)) for _ in range(size)])
        counts.append(len([statement for statement in asked if not statement.lstrip().startswith("--")]))
    assert counts == [4, 4, 4, 9]  # begin, look, write (1, 8, 64, 32 + 16 + 8 + 4 + 2 + 1 rows), commit
