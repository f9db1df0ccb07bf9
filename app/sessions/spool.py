"""Writes that could not be made because the store was away wait here, and are made when it is back."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bridge.errors import SessionError

from ..logs import fields
from .store import LOG

SHORTEST_WAIT = 0.25  # seconds between two attempts; doubled after each failure
LONGEST_WAIT = 2.0  # what waits here is unknown to other processes: the shorter that time, the better
CLOSING_WAIT = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Waiting:
    """One write.

    key      tells it from others; a later one of the same key takes its place
    content  what will be written, for those who look here first
    size     bytes
    send     makes it, and says whether it was made: False when something stands in the way that no repetition changes.
             Raises SessionError while the store is away
    """

    key: str
    content: Any
    size: int
    send: Callable[[], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpoolCounters:
    waiting: int
    waiting_bytes: int
    delivered: int
    dropped: int  # for want of room, or still waiting when the process ended
    conflicts: int


class Spool:
    """Keeps at most `max_count` writes and `max_bytes`, in this process; a full one drops its oldest.

    A thread delivers in the background, oldest first, so that parents come before children and turns in order. It lives
    while there is work.
    """

    def __init__(self, *, max_count: int, max_bytes: int) -> None:
        self.delivering = threading.Lock()  # held while a write is on its way to the store
        self._max_count = max_count
        self._max_bytes = max_bytes
        self._waiting: OrderedDict[str, Waiting] = OrderedDict()
        self._bytes = 0
        self._delivered = self._dropped = self._conflicts = 0
        self._lock = threading.RLock()
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._give_up_at: float | None = None  # reading of time.monotonic(), once closing

    @property
    def counters(self) -> SpoolCounters:
        with self._lock:
            return SpoolCounters(
                waiting=len(self._waiting),
                waiting_bytes=self._bytes,
                delivered=self._delivered,
                dropped=self._dropped,
                conflicts=self._conflicts,
            )

    @property
    def idle(self) -> bool:
        """Nothing waits, and nobody works."""
        return self._thread is None and not self._waiting

    def get(self, key: str) -> Any:
        """The content of what waits under this key, or None."""
        with self._lock:
            one = self._waiting.get(key)
        return one.content if one is not None else None

    def contents(self) -> list[Any]:
        """Of all that waits, oldest first."""
        with self._lock:
            return [one.content for one in self._waiting.values()]

    def add(self, one: Waiting) -> None:
        with self._lock:
            self.remove(one.key)
            self._waiting[one.key] = one
            self._bytes += one.size
            while len(self._waiting) > self._max_count or self._bytes > self._max_bytes:
                oldest = next(iter(self._waiting))
                self.remove(oldest)
                self._dropped += 1
                LOG.error("response lost: the spool is full", extra=fields(response_id=oldest))
            if self._thread is None and self._waiting:
                self._thread = threading.Thread(target=self._deliver, name="godex-session-spool", daemon=True)
                self._thread.start()

    def remove(self, key: str) -> None:
        with self._lock:
            if one := self._waiting.pop(key, None):
                self._bytes -= one.size

    def hurry(self) -> None:
        """The store has just answered: what waits need not wait longer."""
        if self._waiting:
            self._wake.set()

    def close(self, timeout: float) -> None:
        """Deliver what still waits, for `timeout` seconds at most."""
        with self._lock:
            self._give_up_at = time.monotonic() + timeout
            thread = self._thread
        self._wake.set()
        if thread is not None:
            thread.join(timeout)
        with self._lock:
            lost = len(self._waiting)
            self._dropped += lost
            self._waiting.clear()
            self._bytes = 0
        if lost:
            LOG.error("responses lost: the store did not come back before the end", extra=fields(count=lost))

    def _deliver(self) -> None:
        wait = SHORTEST_WAIT
        while one := self._next():
            if self._try(one):
                wait = SHORTEST_WAIT
                continue
            if self._give_up_at is None:
                self._wake.wait(wait)
                self._wake.clear()
                wait = min(2 * wait, LONGEST_WAIT)
            else:
                time.sleep(CLOSING_WAIT)

    def _next(self) -> Waiting | None:
        """The oldest; None, and this thread is done, when there is none or the time to close is over."""
        with self._lock:
            over = self._give_up_at is not None and time.monotonic() >= self._give_up_at
            if over or not self._waiting:
                self._thread = None
                return None
            return next(iter(self._waiting.values()))

    def _try(self, one: Waiting) -> bool:
        """False when the store is still away."""
        delivered = dropped = conflicts = 0
        try:
            with self.delivering:
                if not self._still_waits(one):  # deleted or replaced meanwhile
                    return True
                if one.send():
                    delivered = 1
                else:
                    conflicts = 1
        except SessionError as error:
            LOG.warning("store still away", extra=fields(error.to_log_entry(), waiting=len(self._waiting)))
            return False
        except Exception:  # a bug must not stop the thread, nor be tried for ever
            LOG.exception("response lost", extra=fields(response_id=one.key))
            dropped = 1
        with self._lock:
            if self._still_waits(one):
                self.remove(one.key)
            self._delivered += delivered
            self._dropped += dropped
            self._conflicts += conflicts
        return True

    def _still_waits(self, one: Waiting) -> bool:
        with self._lock:
            return self._waiting.get(one.key) is one
