"""From the pipeline, which runs in a thread of its own (a greenlet under gevent), to whoever writes to the client.

So everything that one read of the upstream brought can go out in one write, a silent upstream does not keep a heartbeat
from going out, and a client that left is noticed at the next heartbeat.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator

from bridge.stream.numbering import Event

from ..context import ClientGone

log = logging.getLogger("godex")


class Outbox:
    """Bytes from one producer to one consumer. The producer waits while the consumer is LIMIT bytes behind."""

    LIMIT = 256 * 1024

    def __init__(self) -> None:
        self._pieces: deque[bytes] = deque()
        self._put = 0  # bytes, counted by the producer alone
        self._taken = 0  # bytes, counted by the consumer alone
        self._waiting = False
        self._ready = threading.Event()
        self._room = threading.Event()
        self._ended = False
        self._abandoned = False

    def put(self, data: bytes) -> None:
        """Raises ClientGone."""
        self._pieces.append(data)
        self._put += len(data)
        if self._waiting:  # an Event costs more than all the rest: only where somebody sleeps
            self._ready.set()
        while self._put - self._taken > self.LIMIT and not self._abandoned:
            self._room.clear()
            if self._put - self._taken > self.LIMIT and not self._abandoned:
                self._room.wait(1)
        if self._abandoned:
            raise ClientGone

    def end(self) -> None:
        self._ended = True
        self._ready.set()

    def abandon(self) -> None:
        """The consumer leaves."""
        self._abandoned = True
        self._room.set()

    def take(self, timeout: float) -> list[bytes] | None:
        """All there is, piece by piece; [] when nothing came within `timeout` seconds; None at the end."""
        if not self._pieces and not self._ended:
            self._ready.clear()
            self._waiting = True
            if not self._pieces and not self._ended:
                self._ready.wait(timeout)
            self._waiting = False
        pieces = []
        while self._pieces:
            pieces.append(self._pieces.popleft())
        if not pieces:
            return None if self._ended and not self._pieces else []
        self._taken += sum(map(len, pieces))
        self._room.set()
        return pieces


def fill(outbox: Outbox, events: Iterator[Event], encode: Callable[[Event], bytes]) -> threading.Thread:
    """Start the pipeline; it ends with the events, or soon after the consumer has left."""
    thread = threading.Thread(target=_pump, args=(outbox, events, encode), name="godex-stream", daemon=True)
    thread.start()
    return thread


def _pump(outbox: Outbox, events: Iterator[Event], encode: Callable[[Event], bytes]) -> None:
    try:
        for event in events:
            outbox.put(encode(event))
    except ClientGone:
        pass
    except Exception as error:
        log.error("unexpected error in a stream", exc_info=error)  # the stages let none through: a bug in a stage
    finally:
        close = getattr(events, "close", None)
        if close is not None:
            close()  # stages and the upstream reader release what they hold
        outbox.end()
