"""Writes that arrive while another one is under way share the next transaction.

One commit costs SQLite more than the rows in it, and two writers of one process only wait for each other: with 16
clients this took a save from 0.30 ms of CPU to 0.11.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from bridge.errors import GodeXError, SessionError

from .store import unavailable

T = TypeVar("T")

LARGEST_GROUP: Final = 64  # writes; bounds how long the first of them waits, and the values of one SQL statement


class _Write(Generic[T]):
    __slots__ = ("what", "error", "leads", "_gate")

    def __init__(self, what: T) -> None:
        self.what = what
        self.error: BaseException | None = unavailable("sqlite", "the write was given up")
        self.leads = False
        self._gate = threading.Lock()
        self._gate.acquire()

    def wait(self) -> None:
        self._gate.acquire()

    def wake(self) -> None:
        self._gate.release()


class GroupCommit(Generic[T]):
    """Whoever finds nobody writing leads: writes its own and all that wait, wakes them, and hands the lead to the first
    that came meanwhile.

    write_all  writes a group as one transaction; for each write None, or why it was refused. Raises for the whole group
    """

    def __init__(self, write_all: Callable[[Sequence[T]], list[GodeXError | None]]) -> None:
        self._write_all = write_all
        self._waiting: list[_Write[T]] = []
        self._busy = False
        self._lock = threading.Lock()

    def write(self, what: T) -> None:
        """Returns when it is committed. Raises why it was refused, or what kept its group from being written.

        Whoever waits in here may be interrupted (drain.py throws an error into it), which must not touch the others.
        """
        own = _Write(what)
        with self._lock:
            self._waiting.append(own)
            own.leads, self._busy = not self._busy, True
        try:
            if not own.leads:
                own.wait()  # until it is written, or until it is its turn to lead
            if own.leads:
                self._lead()
        finally:
            with self._lock:
                if own in self._waiting:  # interrupted before its group was taken: it gives up
                    self._waiting.remove(own)
            if own.leads:
                self._hand_over()
        if own.error is not None:
            raise own.error

    def _lead(self) -> None:
        with self._lock:
            group, self._waiting = self._waiting[:LARGEST_GROUP], self._waiting[LARGEST_GROUP:]
        try:
            for write, error in zip(group, self._write_all([write.what for write in group]), strict=True):
                write.error = error
        except SessionError as error:
            for write in group:
                write.error = error
        finally:  # of anything else only the leader hears: the others' writes were given up
            for write in group:
                if not write.leads:
                    write.wake()

    def _hand_over(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting[0].leads = True
                self._waiting[0].wake()
            else:
                self._busy = False
