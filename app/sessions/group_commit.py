"""Writes that arrive while another one is under way share the next transaction.

One commit costs SQLite more than the rows in it, and two writers of one process only wait for each other: with 16
clients this took a save from 0.30 ms of CPU to 0.11.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from typing import Final

from bridge.errors import GodeXError

from .sqlite_schema import transaction
from .store import unavailable

Work = Callable[[sqlite3.Connection], None]  # refuses, with a GodeXError, before it changes anything
Run = Callable[[Callable[[sqlite3.Connection], "list[GodeXError | None]"]], "list[GodeXError | None]"]

LARGEST_GROUP: Final = 64  # writes; bounds how long the first of them waits


class _Write:
    __slots__ = ("work", "error", "leads", "_gate")

    def __init__(self, work: Work) -> None:
        self.work = work
        self.error: BaseException | None = unavailable("sqlite", "the write was given up")
        self.leads = False
        self._gate = threading.Lock()
        self._gate.acquire()

    def wait(self) -> None:
        self._gate.acquire()

    def wake(self) -> None:
        self._gate.release()


class GroupCommit:
    """run: takes work to a connection, off the event loop. Whoever finds nobody writing leads: writes its own and all
    that wait, wakes them, and hands the lead to the first that came meanwhile."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._waiting: list[_Write] = []
        self._busy = False
        self._lock = threading.Lock()

    def write(self, work: Work) -> None:
        """Returns when the work is committed. Raises what it raised, or what kept its group from being written."""
        own = _Write(work)
        with self._lock:
            self._waiting.append(own)
            own.leads, self._busy = not self._busy, True
        if not own.leads:
            own.wait()  # until it is written, or until it is its turn to lead
        if own.leads:
            self._lead()
        if own.error is not None:
            raise own.error

    def _lead(self) -> None:
        with self._lock:
            group, self._waiting = self._waiting[:LARGEST_GROUP], self._waiting[LARGEST_GROUP:]
        try:
            for write, error in zip(group, self._run(lambda connection: _together(connection, group)), strict=True):
                write.error = error
        except Exception as error:
            for write in group:
                write.error = error
        finally:  # also when the leader itself is killed: the others must not wait for ever
            for write in group:
                if not write.leads:
                    write.wake()
            self._hand_over()

    def _hand_over(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting[0].leads = True
                self._waiting[0].wake()
            else:
                self._busy = False


def _together(connection: sqlite3.Connection, group: list[_Write]) -> list[GodeXError | None]:
    """One transaction; a write that is refused leaves the others alone (a savepoint each would cost half a row)."""
    errors: list[GodeXError | None] = []
    with transaction(connection):
        for write in group:
            changes = connection.total_changes
            try:
                write.work(connection)
                errors.append(None)
            except GodeXError as error:
                if connection.total_changes != changes:
                    raise AssertionError("a write was refused after it had changed something") from error
                errors.append(error)
    return errors
