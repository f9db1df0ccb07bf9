"""The requests in progress in this process, and how they end when the process has to stop.

A worker that stops (worker.py) lets them run on for as long as `server.graceful_timeout` allows. Then each one is
interrupted: a stream ends with `response.failed` and [DONE], any other request with 503 and Retry-After. The same table
tells the worker which clients do not send or read what they should.

One table for the process, whichever applications it holds: they stop together.
"""

from __future__ import annotations

import functools
import math
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from typing import Any, Final

from bridge.errors import CLIENT_GONE, DRAINING, REQUEST_TIMEOUT, GodeXError, ServerError

NEVER: Final = math.inf
RETRY_AFTER: Final = 1  # seconds: another worker or replica listens already
# A request must be here within HEAD_START seconds and those that its body takes at SLOWEST bytes a second.
HEAD_START: Final = 30.0
SLOWEST: Final = 64 * 1024
WRITE_PATIENCE: Final = 60.0  # seconds for which a client may leave unread what is sent to it


class InProgress:
    """One request, from its head to the last byte of its answer.

    began    reading of time.monotonic()
    headers  for its answer, whatever that will be
    stop     ends its answer with an error; None while there is no answer that could be ended
    due      reading of time.monotonic() by which its body must be here, or what is being written taken; else NEVER
    asks     the upstream has not begun to answer: nothing is written, so only a look at the socket tells that the
             client has left
    rests    nothing is being asked (a WebSocket between two frames): it need not be spared when the process is to stop
    """

    __slots__ = (
        "_client",
        "_answered",
        "_error",
        "_greenlet",
        "_written",
        "asks",
        "began",
        "due",
        "headers",
        "rests",
        "span",
        "stop",
    )

    def __init__(self, client: Any = None, greenlet: Any = None) -> None:
        """client: its socket; greenlet: the one that serves the request. None where they are not ours to touch."""
        self.began = time.monotonic()
        self.headers: dict[str, str] = {}
        self.span: Any = None  # see spans.py
        self.stop: Callable[[GodeXError], None] | None = None
        self.due = NEVER
        self.asks = False
        self.rests = False
        self._client = client
        self._greenlet = greenlet
        self._answered = False
        self._error: GodeXError | None = None
        self._written = False

    def reads_body(self, length: int) -> None:
        """length: bytes."""
        self.due = time.monotonic() + HEAD_START + length / SLOWEST

    def calls_upstream(self) -> None:
        """The request is here; until the upstream answers, an interruption is an error where the call waits.

        Raises the error of an interruption that came before.
        """
        self.stop = None
        self.due = NEVER
        self._answered = False
        if self._error is not None:
            raise self._error
        self.asks = True

    def answered(self) -> None:
        """The upstream's whole answer is here. What is left, such as storing it, takes a moment and is not interrupted:
        an error thrown into it would come out wherever it waits."""
        self.asks = False
        self._answered = True

    def streams(self, stop: Callable[[GodeXError], None]) -> None:
        """The upstream has begun to answer, and `stop` ends that."""
        self.stop = stop
        self.asks = False

    def writes(self, length: int = 0) -> None:
        """So many bytes (0 = unknown) are handed to the client: from now on it is too late for an error."""
        self._written = True
        self.asks = False
        self.due = time.monotonic() + WRITE_PATIENCE + length / SLOWEST

    def interrupt(self, error: GodeXError) -> None:
        """Returns at once; without gevent a request that waits for its upstream's first word cannot be interrupted."""
        self._error = error
        if self.stop is not None:
            self.stop(error)
        elif self._greenlet is not None:
            sys.modules["gevent"].get_hub().loop.run_callback(self._raise, error)

    def late(self) -> None:
        """`due` has passed: the client sends its body too slowly, or does not read its answer."""
        self.due = NEVER
        if self._written or self.stop is not None:
            self.cut()
        else:
            self.interrupt(ServerError(REQUEST_TIMEOUT, "the request did not arrive in time"))

    def left(self) -> bool:
        """The client has closed its side. What it sent beyond this request (pipelining) tells that it is there."""
        if self._client is None:
            return False
        try:
            with socket.fromfd(self._client.fileno(), self._client.family, self._client.type) as twin:
                twin.settimeout(0)
                return twin.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except (OSError, ValueError):
            return True

    def cut(self) -> None:
        """Take the connection down: whoever reads from it or writes to it notices."""
        if self._client is not None:
            cut_connection(self._client)

    def _raise(self, error: GodeXError) -> None:
        """In the hub. By now the upstream may have answered."""
        too_late = self._answered or self._written or self.stop is not None
        if not too_late and not self._greenlet.dead:
            self._greenlet.throw(error)


class Drain:
    """draining   the process is to stop; no new connection comes in
    over       the time is up: what still comes in is refused
    """

    def __init__(self) -> None:
        self.draining = False
        self.over = False
        self._running: set[InProgress] = set()

    def __len__(self) -> int:
        return len(self._running)

    @property
    def streams(self) -> int:
        """How many requests are being answered by an upstream just now."""
        return sum(request.stop is not None for request in tuple(self._running))

    def enter(self, client: Any) -> InProgress:
        """A request begins, in the greenlet or thread that serves it. client: its socket.

        Raises ServerError DRAINING.
        """
        if self.over:
            raise draining()
        request = InProgress(client, _present_greenlet())
        self._running.add(request)
        _CURRENT.set(request)
        return request

    @contextmanager
    def resting(self) -> Iterator[None]:
        """While the present request waits for more from its client. Raises ServerError DRAINING."""
        if self.draining:
            raise draining()
        request = current()
        request.stop, request.due = None, NEVER
        request.rests = True
        try:
            yield
        finally:
            request.rests = False

    def leave(self, request: InProgress) -> None:
        self._running.discard(request)

    def begin(self) -> None:
        self.draining = True
        for request in tuple(self._running):
            if request.rests:
                request.interrupt(draining())

    def interrupt_all(self) -> None:
        self.over = True
        for request in tuple(self._running):
            request.interrupt(draining())

    def look_after(self, now: float) -> None:
        """now: reading of time.monotonic()."""
        for request in tuple(self._running):
            if request.due < now:
                request.late()
            elif request.asks and request.left():
                request.interrupt(ServerError(CLIENT_GONE, "the client left before it was answered"))


def cut_connection(client: Any) -> None:
    """client: a socket. Whoever reads from it finds its end."""
    # Through a twin: a gevent socket would raise an error of its own in the greenlet that waits for it.
    try:
        with socket.fromfd(client.fileno(), client.family, client.type) as twin:
            twin.shutdown(socket.SHUT_RDWR)
    except (OSError, ValueError):
        return  # the client was faster


def draining() -> ServerError:
    return ServerError(DRAINING, "This gateway process is stopping; send the request again.", retry_after=RETRY_AFTER)


def current() -> InProgress:
    """The request that this greenlet or thread serves; outside of one, a request that nobody can interrupt."""
    return _CURRENT.get(None) or InProgress()


def carried(call: Callable[..., None]) -> Callable[..., None]:
    """`call` for another thread, where the present request is to be the current one too."""
    context = Context()
    context.run(_CURRENT.set, current())
    return functools.partial(context.run, call)


def _present_greenlet() -> Any:
    """None in a plain thread."""
    gevent = sys.modules.get("gevent")
    greenlet = gevent.getcurrent() if gevent is not None else None
    return greenlet if hasattr(greenlet, "kill") else None


_CURRENT: ContextVar[InProgress] = ContextVar("godex_request")
process_drain: Final = Drain()
