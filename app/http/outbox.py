"""From the pipeline, which runs in a thread of its own (a greenlet under gevent), to whoever writes to the client.

So everything that one read of the upstream brought can go out in one write, a silent upstream does not keep a heartbeat
from going out, and a client that left is noticed at the next heartbeat.
"""

from __future__ import annotations

import _thread
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from bridge.stream.numbering import Event

from ..context import ClientGone
from ..drain import carried

log = logging.getLogger("godex")


class Outbox:
    """Bytes from one producer to one consumer. The producer waits while the consumer is LIMIT bytes behind.

    Who waits, waits at a lock without a time-out, and is let through only when somebody waits at all: that is a tenth
    of what an Event costs, and no timer runs for a stream between two chunks. Silence is told by Heart, for all
    streams of the process together.
    """

    LIMIT = 256 * 1024

    def __init__(self) -> None:
        self._pieces: deque[bytes] = deque()
        self._put = 0  # bytes, counted by the producer alone
        self._taken = 0  # bytes, counted by the consumer alone
        self._waiting = False
        self._gate = threading.Lock()
        self._gate.acquire()
        self._room = threading.Event()
        self._ended = False
        self._abandoned = False
        self._silent_ticks = 0
        self._beat = False

    def put(self, data: bytes) -> None:
        """Raises ClientGone."""
        self._pieces.append(data)
        self._put += len(data)
        if self._waiting:
            self._wake()
        while self._put - self._taken > self.LIMIT and not self._abandoned:
            self._room.clear()
            if self._put - self._taken > self.LIMIT and not self._abandoned:
                self._room.wait(1)
        if self._abandoned:
            raise ClientGone

    @property
    def ended(self) -> bool:
        """The producer has put its last."""
        return self._ended

    def end(self) -> None:
        self._ended = True
        self._wake()

    def abandon(self) -> None:
        """The consumer leaves."""
        self._abandoned = True
        self._room.set()

    def tick(self) -> None:
        """Half a heartbeat has passed. After two without anything to take, the consumer is woken with nothing."""
        self._silent_ticks += 1
        if self._silent_ticks >= 2:
            self._silent_ticks = 0
            self._beat = True
            self._wake()

    def take(self) -> list[bytes] | None:
        """All there is, piece by piece; [] after a heartbeat of silence; None at the end."""
        while not self._pieces:
            if self._ended:
                return None if not self._pieces else self._taken_all()
            if self._beat:
                self._beat = False
                return []
            self._waiting = True
            if not (self._pieces or self._ended or self._beat):
                self._gate.acquire()  # may let through for nothing: the loop looks again
            self._waiting = False
        return self._taken_all()

    def _taken_all(self) -> list[bytes]:
        pieces = []
        while self._pieces:
            pieces.append(self._pieces.popleft())
        self._taken += sum(map(len, pieces))
        self._silent_ticks, self._beat = 0, False
        if not self._room.is_set():
            self._room.set()
        return pieces

    def _wake(self) -> None:
        self._waiting = False
        with suppress(RuntimeError):  # open already: somebody else woke the consumer
            self._gate.release()


class Heart:
    """Ticks for all outboxes of a process: one timer instead of one for every wait of every stream.

    A silent stream is told so between one and one and a half `interval` seconds after its last event.
    """

    def __init__(self, interval: float) -> None:
        self.interval = interval
        self._outboxes: set[Outbox] = set()
        self._running = False
        self._lock = threading.Lock()

    @contextmanager
    def watching(self, outbox: Outbox) -> Iterator[None]:
        with self._lock:
            self._outboxes.add(outbox)
            if not self._running:
                self._running = True
                threading.Thread(target=self._run, name="godex-heart", daemon=True).start()
        try:
            yield
        finally:
            with self._lock:
                self._outboxes.discard(outbox)

    def _run(self) -> None:
        while True:
            time.sleep(self.interval / 2)
            with self._lock:
                outboxes = list(self._outboxes)
                if not outboxes:
                    self._running = False
                    return
            for outbox in outboxes:
                outbox.tick()


def fill(outbox: Outbox, events: Iterator[Event], encode: Callable[[Event], bytes]) -> None:
    """Start the pipeline; it ends with the events, or soon after the consumer has left."""
    # A threading.Thread waits until it has started, and has a name and a state that nobody asks for: 70 µs to 36.
    _thread.start_new_thread(carried(_pump), (outbox, events, encode))


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
