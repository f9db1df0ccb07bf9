"""Saves that share a transaction: each by the rules of a save alone, in few statements."""

from __future__ import annotations

import random
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
    assert [row[0] for row in rows(connection, "expires_at")] == [TTL + 200, TTL + 200, TTL + 200, TTL + 210]


def test_an_expired_turn_does_not_come_back_to_life(connection: sqlite3.Connection) -> None:
    save_together(connection, [save("resp_a"), save("resp_b", "resp_a", now=50)])
    save_together(connection, [save("resp_c", "resp_b", now=TTL)])
    assert rows(connection, "id, expires_at") == [("resp_a", TTL), ("resp_b", 2 * TTL), ("resp_c", 2 * TTL)]


@pytest.mark.parametrize("seed", range(30))
def test_a_group_does_what_its_saves_would_do_one_by_one(seed: int, tmp_path: Path) -> None:
    """Also where ids repeat, turns expire, and chains are renewed between two saves of a group."""
    dice = random.Random(seed)
    together, alone = connect(tmp_path / "together.db"), connect(tmp_path / "alone.db")
    now = 0.0
    ids = [f"resp_{number}" for number in range(12)]
    for _ in range(8):
        now += dice.choice([0, 1, 50, 150, 600])
        group = []
        for _ in range(dice.randint(1, 9)):
            response_id = dice.choice(ids)
            parent = dice.choice([None, *(one for one in ids if one != response_id)])
            expected = dice.choice([UNSET, UNSET, None, parent])
            options = {"overwrite": dice.random() < 0.5, "expected_previous_response_id": expected}
            group.append(save(response_id, parent, now=now, **options))
        in_turn = [str(save_together(alone, [one])[0]) for one in group]
        assert [str(refusal) for refusal in save_together(together, group)] == in_turn
        assert rows(together, "*") == rows(alone, "*")
    together.close()
    alone.close()


def test_a_group_takes_hardly_more_statements_than_one_save(connection: sqlite3.Connection) -> None:
    asked: list[str] = []
    connection.set_trace_callback(asked.append)
    counts = []
    for size in (1, 8, 64, 63):
        asked.clear()
        save_together(connection, [save(new_response_id(None), new_response_id(None)) for _ in range(size)])
        counts.append(len([statement for statement in asked if not statement.lstrip().startswith("--")]))
    assert counts == [2, 2, 2, 2]  # look at the parents, write
