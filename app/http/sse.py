"""Events → bytes on the wire, heartbeats, and what a lost client means.

The pipeline runs in a thread of its own (a greenlet under gevent) and fills an outbox; the response body empties it.
So everything that one read of the upstream brought goes out in one write, a silent upstream does not keep the
heartbeat from going out, and a client that left is noticed at the next heartbeat: the upstream call is then cancelled.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator

import orjson

from bridge.stream.numbering import Event

from ..context import ClientGone

log = logging.getLogger("godex")

HEARTBEAT = b": ping\n\n"
DONE = b"data: [DONE]\n\n"


def encode(event: Event) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (event["type"].encode(), orjson.dumps(event))


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

    def take(self, timeout: float) -> bytes | None:
        """All there is; b"" when nothing came within `timeout` seconds; None at the end."""
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
            return None if self._ended and not self._pieces else b""
        data = b"".join(pieces)
        self._taken += len(data)
        self._room.set()
        return data


def stream_body(
    events: Iterator[Event],
    *,
    heartbeat: float,
    cancel: Callable[[], None],
    still_in_progress: Callable[[], Event],
    patience: float = 120.0,
) -> Iterator[bytes]:
    """The body of an event stream.

    heartbeat  seconds of silence after which a comment goes out
    cancel     stops the upstream; called when the client is gone
    patience   seconds of silence after which one more `response.in_progress` goes out: Codex counts events only
    """
    outbox = Outbox()
    pump = threading.Thread(target=_pump, args=(events, outbox), name="godex-stream", daemon=True)
    pump.start()
    silence = 0.0
    try:
        while True:
            data = outbox.take(heartbeat)
            if data is None:
                yield DONE
                return
            if data:
                silence = 0.0
                yield data
                continue
            silence += heartbeat
            if silence >= patience:
                silence = 0.0
                yield encode(still_in_progress())
            else:
                yield HEARTBEAT
    finally:  # also on GeneratorExit, when the server could not write
        outbox.abandon()
        if pump.is_alive():
            cancel()


def _pump(events: Iterator[Event], outbox: Outbox) -> None:
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
