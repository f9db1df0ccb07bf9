"""Counters and leases, the same over memory, SQLite, Redis and a Redis cluster."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from app.limits.ledger import Ledger
from app.limits.sqlite_ledger import SqliteLedger
from tests.app.limits.conftest import OpenLedger


def test_a_counter_counts_up_for_everybody(open_ledger: OpenLedger) -> None:
    one, other = open_ledger(), open_ledger()
    assert one.count("n") == 0
    assert [one.add("n", 3, 60), other.add("n", 4, 60), one.add("m", 1, 60)] == [3, 7, 1]
    assert other.count("n") == 7


def test_a_counter_ends_with_its_time(ledger: Ledger) -> None:
    ledger.add("n", 3, 1)
    time.sleep(1.1)
    assert ledger.count("n") == 0
    assert ledger.add("n", 2, 60) == 2


def test_no_more_leases_than_allowed_are_out(open_ledger: OpenLedger) -> None:
    one, other = open_ledger(), open_ledger()
    assert [one.take_lease("n", "a", 2, 60), other.take_lease("n", "b", 2, 60)] == [True, True]
    assert not one.take_lease("n", "c", 2, 60)
    assert other.take_lease("m", "c", 2, 60)
    other.return_lease("n", "a")
    assert one.take_lease("n", "c", 2, 60)


def test_a_lease_that_is_not_renewed_ends(ledger: Ledger) -> None:
    assert ledger.take_lease("n", "dies", 2, 0.4)
    assert ledger.take_lease("n", "lives", 2, 0.4)
    ledger.renew_leases([("n", "lives"), ("n", "unknown")], 60)
    time.sleep(0.5)
    assert ledger.take_lease("n", "new", 2, 60)
    assert not ledger.take_lease("n", "one too many", 2, 60)


def test_leases_taken_at_the_same_moment_are_counted_right(open_ledger: OpenLedger) -> None:
    handles = [open_ledger() for _ in range(4)]
    taken: list[bool] = []

    def take(handle: Ledger, number: int) -> None:
        for attempt in range(5):
            taken.append(handle.take_lease("n", f"{number}-{attempt}", 7, 60))

    threads = [threading.Thread(target=take, args=(handle, number)) for number, handle in enumerate(handles)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert taken.count(True) == 7


def test_old_rows_do_not_pile_up(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "limits.db")
    for number in range(5):
        ledger.add(f"n{number}", 1, 0)
        ledger.take_lease(f"n{number}", "a", 1, 0)
    time.sleep(0.01)
    ledger.add("last", 1, 60)
    ledger.take_lease("last", "a", 1, 60)
    kept = ledger._file.run(
        lambda connection: (
            connection.execute("SELECT name FROM counters").fetchall(),
            connection.execute("SELECT name FROM leases").fetchall(),
        )
    )
    assert kept == ([("last",)], [("last",)])
    ledger.close()
