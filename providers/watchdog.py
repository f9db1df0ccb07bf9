"""One thread per process that ends overdue upstream bodies.

A socket time-out on each read would start and stop a timer at every wait, a fifth of the cost of a slow stream.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from typing import Final, Protocol

NEVER: Final = float("inf")


class Watched(Protocol):
    def due(self, now: float) -> float:
        """When the present wait becomes too long, in time.monotonic() seconds."""

    def expire(self, now: float) -> None:
        """Called once, from the watchdog's thread, when that time has come. Must not block."""


class Watchdog:
    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._watched: set[Watched] = set()
        self._next_look = NEVER
        self._pid = 0  # the process whose thread runs: a fork takes the set along, but not the thread

    def watch(self, body: Watched) -> None:
        with self._changed:
            if self._pid != os.getpid():
                self._pid = os.getpid()
                self._watched.clear()
                threading.Thread(target=self._run, name="upstream-watchdog", daemon=True).start()
            self._watched.add(body)
            if body.due(time.monotonic()) < self._next_look:
                self._changed.notify()

    def forget(self, body: Watched) -> None:
        with self._changed:
            self._watched.discard(body)

    def _run(self) -> None:
        while True:
            with self._changed:
                now = time.monotonic()
                overdue = [body for body in self._watched if body.due(now) <= now]
                self._watched.difference_update(overdue)
                if not overdue:
                    # Reads only move a body's time forward: looking again at the earliest one is soon enough.
                    self._next_look = min((body.due(now) for body in self._watched), default=NEVER)
                    self._changed.wait(None if self._next_look == NEVER else self._next_look - now)
            for body in overdue:
                body.expire(now)


@functools.cache
def process_watchdog() -> Watchdog:
    """Made at first use, not at import: by then a gevent worker has patched `threading`."""
    return Watchdog()
