"""Where the pipeline reports what happened to a request, and the writer behind it.

Reporting costs a row object and a deque's append. A background thread (a greenlet under gevent) hashes, redacts and
writes in batches, off the event loop; a database that is away costs rows, never an answer.
"""

from __future__ import annotations

import atexit
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from bridge.stream.numbering import Event

from ..config.model import TraceConfig
from ..logs import fields
from ..sessions.off_hub import off_hub
from .queue import RowQueue
from .redact import Redact, redactor
from .rows import Row, chunk_row, end_rows, error_row, event_row, request_rows
from .sqlite_sink import SqliteSink

if TYPE_CHECKING:
    from ..context import ResponsesContext

log = logging.getLogger("godex")

PURGE_INTERVAL: Final = 3600.0  # seconds
RETRY_WAIT: Final = 5.0  # seconds after a failed write

T = TypeVar("T")


class Recorder(Protocol):
    """What the pipeline tells. No method blocks or raises: a trace never costs a client its answer.

    captures  payloads are kept: only then is it told of each chunk and each delta (see stages.trace_events), else of
              items and the end
    """

    captures: bool

    @property
    def waiting(self) -> int:
        """Rows that are not written yet."""

    @property
    def written(self) -> int:
        """So far."""

    @property
    def dropped(self) -> int:
        """For want of room, so far."""

    def request(self, context: ResponsesContext, *, again: bool = False) -> None:
        """The chat request goes up; again: for one more round of the same answer."""

    def refused(self, context: ResponsesContext, error: Exception) -> None:
        """The upstream did not accept it."""

    def chunks(self, context: ResponsesContext, chunks: Iterator[T]) -> Iterator[T]:
        """What the upstream says, passed through."""

    def event(self, context: ResponsesContext, event: Event, *, whole: bool) -> None:
        """The client hears this; whole: the payload counts too."""

    def finished(self, context: ResponsesContext, response: dict[str, Any] | None) -> None:
        """The response ended; None: its client left."""

    def close(self, timeout: float = 5.0) -> None: ...


class NullRecorder:
    """Records nothing."""

    captures = False
    waiting = written = dropped = 0

    def request(self, context: ResponsesContext, *, again: bool = False) -> None:
        pass

    def refused(self, context: ResponsesContext, error: Exception) -> None:
        pass

    def chunks(self, context: ResponsesContext, chunks: Iterator[T]) -> Iterator[T]:
        return chunks

    def event(self, context: ResponsesContext, event: Event, *, whole: bool) -> None:
        pass

    def finished(self, context: ResponsesContext, response: dict[str, Any] | None) -> None:
        pass

    def close(self, timeout: float = 5.0) -> None:
        pass


class TraceRecorder:
    """Records into a SQLite file. secrets: keys in use, which no payload may show."""

    def __init__(self, config: TraceConfig, secrets: tuple[str, ...] = ()) -> None:
        self.captures = config.capture_payload
        self.written = 0
        self.failed_writes = 0
        self._config = config
        self._redact: Redact | None = redactor(secrets) if config.capture_payload else None
        self._queue = RowQueue(config.max_queue_size)
        self._sink = SqliteSink(config.path)
        self._some = threading.Event()  # there is a row
        self._enough = threading.Event()  # there is a batch, or no time to wait for one
        self._closed = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._pid = 0  # the process whose thread runs: a fork does not take it along
        self._next_purge = 0.0
        self._complained = False

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @property
    def dropped(self) -> int:
        return self._queue.dropped

    def request(self, context: ResponsesContext, *, again: bool = False) -> None:
        for row in request_rows(context, again=again):
            self._put(row)

    def refused(self, context: ResponsesContext, error: Exception) -> None:
        self._put(error_row(context, error, "request"))

    def chunks(self, context: ResponsesContext, chunks: Iterator[T]) -> Iterator[T]:
        return self._recorded(context, chunks) if self.captures else chunks

    def _recorded(self, context: ResponsesContext, chunks: Iterator[T]) -> Iterator[T]:
        for chunk in chunks:
            self._put(chunk_row(context, chunk))
            yield chunk

    def event(self, context: ResponsesContext, event: Event, *, whole: bool) -> None:
        self._put(event_row(context, event, whole=whole))

    def finished(self, context: ResponsesContext, response: dict[str, Any] | None) -> None:
        for row in end_rows(context, response):
            self._put(row)

    def close(self, timeout: float = 5.0) -> None:
        """Write what waits, for `timeout` seconds at most."""
        self._closed.set()
        self._some.set()
        self._enough.set()
        if self._thread is not None and self._pid == os.getpid():
            self._thread.join(timeout)
        atexit.unregister(self.close)

    def _put(self, row: Row) -> None:
        self._queue.put(row)
        if not self._some.is_set():
            self._some.set()
            if self._pid != os.getpid():
                self._start()
        if len(self._queue) >= self._config.batch_size and not self._enough.is_set():
            self._enough.set()

    def _start(self) -> None:
        with self._starting:
            if self._pid == os.getpid():
                return
            self._pid = os.getpid()
            self._thread = threading.Thread(target=self._run, name="godex-trace", daemon=True)
            self._thread.start()
        atexit.register(self.close)  # for servers that close nothing

    def _run(self) -> None:
        while not self._closed.is_set() or self._queue:
            self._some.wait()
            self._enough.wait(self._config.flush_interval)
            self._some.clear()
            self._enough.clear()
            if not self._write(self._queue.take()) and self._closed.is_set():
                break
        off_hub(self._sink.close)

    def _write(self, rows: list[Row]) -> bool:
        """False when the database is away; the rows wait on, as far as there is room."""
        size = self._config.batch_size
        left = list(rows)
        try:
            off_hub(lambda: self._encode(rows))
            while left:
                batch = left[:size]
                off_hub(lambda batch=batch: self._sink.write(batch))  # type: ignore[misc]
                self.written += len(batch)
                del left[:size]
            if time.time() >= self._next_purge:
                self._next_purge = time.time() + PURGE_INTERVAL
                off_hub(lambda: self._sink.purge(time.time() - self._config.retention))
        except (sqlite3.Error, OSError) as error:
            self._failed(error, left)
            return False
        except Exception:  # a bug must not stop the thread
            self._queue.dropped += len(left)
            log.exception("trace rows lost")
        self._complained = False
        return True

    def _encode(self, rows: list[Row]) -> None:
        for row in rows:
            row.encode(self._redact)

    def _failed(self, error: Exception, left: list[Row]) -> None:
        self.failed_writes += 1
        self._queue.give_back(left)
        if not self._complained:
            self._complained = True  # once, until it works again
            log.error("the trace cannot be written", extra=fields(path=self._config.path, error=str(error)))
        if left and not self._closed.is_set():
            self._closed.wait(RETRY_WAIT)
            self._some.set()
