"""Many rows in few statements, of which few are different."""

from __future__ import annotations

import sqlite3

import pytest

from app.sqlite_insert import MOST_VALUES, insert


@pytest.mark.parametrize("width", [1, 16, 600])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 63, 64, 500, 1000])
def test_all_rows_arrive_in_their_order(count: int, width: int) -> None:
    columns = ", ".join(f"c{number}" for number in range(width))
    asked: list[str] = []
    rows = [tuple(range(number, number + width)) for number in range(count)]
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE t ({columns})")
    if hasattr(connection, "setlimit"):
        connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, MOST_VALUES)
    connection.set_trace_callback(asked.append)
    insert(connection, f"INSERT INTO t ({columns})", rows)
    inserts = [statement for statement in asked if statement.startswith("INSERT")]
    assert connection.execute("SELECT * FROM t ORDER BY rowid").fetchall() == rows
    most = MOST_VALUES // width
    assert len(inserts) <= count / (most / 2) + most.bit_length()
    assert len({statement.count("(") for statement in inserts}) <= most.bit_length()
    connection.close()
