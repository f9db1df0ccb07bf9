"""The body of one upstream answer: read as it arrives, watched, stoppable from outside, given back to the pool."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any, Final

import requests

from bridge.errors import UPSTREAM_TIMEOUT, ProviderError
from providers.dechunk import READ_SIZE, Dechunker
from providers.upstream_errors import upstream_errors
from providers.watchdog import Watchdog

LINGER: Final = 0.2  # seconds in which the end of a body must follow its last event for the connection to be kept


class UpstreamBody:
    """One reader iterates over reads() and calls close() at the end; stop() may come from any thread or greenlet."""

    def __init__(
        self, provider: str, response: requests.Response, *, idle: float, deadline: float, watchdog: Watchdog
    ) -> None:
        """idle: seconds of silence allowed; deadline: time.monotonic() at which the whole body must be there."""
        self._provider = provider
        self._raw: Any = response.raw
        self._idle = idle
        self._deadline = deadline
        self._watchdog = watchdog
        self._waiting_since: float | None = None  # None while nobody waits: a slow client is not a silent upstream
        self._lock = threading.Lock()
        self._closed = False
        self._stopped = False
        self._expired: ProviderError | None = None
        self._dechunker = _dechunker(self._raw)
        self._source: Iterator[bytes] = iter(self._dechunker) if self._dechunker is not None else iter(self._read1, b"")
        _without_timeout(self._raw)
        watchdog.watch(self)

    @property
    def stopped(self) -> bool:
        """stop() was called: the end of the reads says nothing about the answer."""
        return self._stopped

    def reads(self) -> Iterator[bytes]:
        """What each read brings. After stop() they just end. Raises ProviderError: time-outs, broken connections."""
        try:
            with upstream_errors(self._provider):
                while True:
                    self._waiting_since = time.monotonic()
                    data = next(self._source, b"")
                    self._waiting_since = None
                    if not data:
                        break
                    yield data
        except Exception:
            # A socket that was shut down under its reader ends the reads in many ways: OSError, ValueError (TLS), …
            if self._expired is None and not self._stopped:
                raise
        if self._expired is not None:
            raise self._expired

    def stop(self) -> None:
        """End the reads, also one that waits. The reader closes: closing under a read breaks the reader's buffer."""
        self._stopped = True
        self._shut_down()

    def due(self, now: float) -> float:
        since = self._waiting_since
        return min(self._deadline, (now if since is None else since) + self._idle)

    def expire(self, now: float) -> None:
        late = now >= self._deadline
        what = "did not finish its answer in the time allowed" if late else f"sent nothing for {self._idle:g} seconds"
        self._expired = ProviderError(
            UPSTREAM_TIMEOUT, f"{self._provider} {what}", provider=self._provider, phase="total" if late else "idle"
        )
        self._shut_down()

    def close(self, *, ended: bool = False) -> None:
        """Keep the connection if the body was read to its end, else close it. Safe to repeat.

        ended: the upstream said its last word, so that the end of the body may be waited for, a moment long.
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._watchdog.forget(self)
        broken = self._stopped or self._expired is not None
        if ended and not broken and not self._complete:
            self._await_end()
        if self._dechunker is not None and self._dechunker.complete and not broken:
            self._raw._fp.close()  # http.client: the response is read, the connection is free
        else:
            self._raw.close()
        self._raw.release_conn()

    @property
    def _complete(self) -> bool:
        return self._dechunker.complete if self._dechunker is not None else self._raw.connection is None

    def _read1(self) -> bytes:
        data: bytes = self._raw.read1(READ_SIZE, decode_content=True)
        return data

    def _await_end(self) -> None:
        socket = getattr(self._raw.connection, "sock", None)
        if socket is None:
            return
        with contextlib.suppress(Exception):  # too late or broken: the connection is closed then
            socket.settimeout(LINGER)
            next(self._source, b"")

    def _shut_down(self) -> None:
        with self._lock:  # once closed, the socket may serve somebody else's request
            if not self._closed:
                # RuntimeError, ValueError: released or never a socket. OSError: the peer was faster.
                with contextlib.suppress(RuntimeError, ValueError, OSError):
                    self._raw.shutdown()


def _dechunker(raw: Any) -> Dechunker | None:
    """For a chunked body that is not compressed; else urllib3 reads: a length, an open end, gzip, a mock."""
    reader: Any = getattr(getattr(raw, "_fp", None), "fp", None)
    plain = (raw.headers.get("content-encoding") or "identity").lower() == "identity"
    return Dechunker(reader) if raw.chunked and plain and hasattr(reader, "read1") else None


def _without_timeout(raw: Any) -> None:
    """The time-out for the head ends here: from now on the watchdog counts.

    http.client has let go of the socket of an answer that ends with its connection: there it stays as a second limit.
    """
    socket = getattr(raw.connection, "sock", None)
    if socket is not None:
        socket.settimeout(None)
