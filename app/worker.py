"""gunicorn's gevent worker with an orderly end, and with patience for idle connections but not for bad clients.

On TERM, which gunicorn also sends for HUP:

    0 s                         no new connections; what is in progress goes on
    5 s                         idle connections are closed
    graceful_timeout - 2 s      what is still in progress is interrupted (drain.py)
    graceful_timeout - 0.5 s    what is left, such as a client that does not read, is cut off
    graceful_timeout            gunicorn would kill the worker

Loaded in gunicorn's master: like server.py this imports nothing that imports requests.
"""

from __future__ import annotations

import contextlib
import gc
import time
from functools import partial
from typing import Any, Final

import gevent
from gevent.event import Event
from gevent.pool import Pool
from gevent.server import StreamServer
from gunicorn.sock import ssl_context
from gunicorn.workers.ggevent import GeventWorker

from .drain import cut_connection, process_drain

LOOK_EVERY: Final = 1.0  # seconds between two looks at clients that keep the worker waiting
# An idle connection is left open for a moment also when the worker stops: a request may be on its way. A proxy that
# lets go of its idle connections sooner (nginx: keepalive_timeout 4s) never sends one into a connection that closes.
IDLE_WHEN_STOPPING: Final = 5.0
TIME_TO_END: Final = 2.0  # for the last words of interrupted requests, and for what still is to be stored
TIME_TO_CLOSE: Final = 0.5
# A long history is thousands of objects for a moment, and the collector looked at them again and again: at 700, the
# default, that was a tenth of a request that continues 64 turns. More brings nothing.
YOUNG_OBJECTS: Final = 5000


class Connection:
    """A client's connection. As a context manager: it waits for the next request."""

    __slots__ = ("client", "idle_since")

    def __init__(self, client: Any) -> None:
        self.client = client  # its socket
        self.idle_since: float | None = None  # reading of time.monotonic()

    def __enter__(self) -> None:
        self.idle_since = time.monotonic()

    def __exit__(self, *exc: object) -> None:
        self.idle_since = None


class Worker(GeventWorker):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._connections: dict[Any, Connection] = {}  # by greenlet
        self._stop_asked: Event | None = None

    # Connections

    def handle(self, listener: Any, client: Any, addr: Any) -> None:
        greenlet = gevent.getcurrent()
        self._connections[greenlet] = Connection(client)
        try:
            super().handle(listener, client, addr)
        finally:
            del self._connections[greenlet]

    def timeout_ctx(self) -> Connection:
        """In place of a timer for each request: _look_after closes what has been idle for too long."""
        return self._connections[gevent.getcurrent()]

    def handle_request(self, *args: Any) -> Any:
        answered = super().handle_request(*args)
        if process_drain.over:
            raise StopIteration  # the connection closes
        return answered

    def _look_after(self, idle: float) -> None:
        """idle: seconds for which a connection may wait for its next request, or take to send its head."""
        now = time.monotonic()
        for connection in tuple(self._connections.values()):
            if connection.idle_since is not None and now - connection.idle_since > idle:
                cut_connection(connection.client)
        process_drain.look_after(now)

    # Life

    def handle_exit(self, sig: Any, frame: Any) -> None:
        super().handle_exit(sig, frame)
        if self._stop_asked is not None:
            self._stop_asked.set()

    def run(self) -> None:
        gc.set_threshold(YOUNG_OBJECTS)
        self._stop_asked = Event()
        servers = [self._listen(sock) for sock in self.sockets]
        while self.alive:
            self.notify()
            self._look_after(self.cfg.keepalive)
            before = time.monotonic()
            if not self._stop_asked.wait(LOOK_EVERY) and self._gateway is not None:
                self._gateway.look_after(lag=max(0.0, time.monotonic() - before - LOOK_EVERY))
        self._drain(servers, time.monotonic() + self.cfg.graceful_timeout)

    def _listen(self, sock: Any) -> StreamServer:
        sock.setblocking(True)
        tls = {"ssl_context": ssl_context(self.cfg)} if self.cfg.is_ssl else {}
        server = StreamServer(sock, handle=partial(self.handle, sock), spawn=Pool(self.worker_connections), **tls)
        if self.cfg.workers > 1:
            server.max_accept = 1  # leave some for the others
        server.start()
        return server

    def _drain(self, servers: list[StreamServer], end: float) -> None:
        process_drain.begin()
        for server in servers:
            _stop_listening(server)
        pools = [server.pool for server in servers]
        if not self._ended(pools, end - TIME_TO_END, min(IDLE_WHEN_STOPPING, self.cfg.graceful_timeout / 2)):
            process_drain.interrupt_all()
            if not self._ended(pools, end - TIME_TO_CLOSE, 0):
                self._cut_off(pools)
        self._close_application(max(end - time.monotonic() - 0.1, 0.1))

    def _ended(self, pools: list[Pool], until: float, idle: float) -> bool:
        """Waits until every connection is closed; False when that takes longer than until."""
        while any(pools):
            left = until - time.monotonic()
            if left <= 0:
                return False
            self.notify()
            self._look_after(idle)
            gevent.sleep(min(0.05, left))
        return True

    def _cut_off(self, pools: list[Pool]) -> None:
        self.log.warning("Connections that had to be cut off: %d", sum(map(len, pools)))
        for connection in tuple(self._connections.values()):
            cut_connection(connection.client)
        for pool in pools:
            pool.kill(block=False)
        gevent.sleep(0)

    def _close_application(self, timeout: float) -> None:
        if self._gateway is not None:
            self._gateway.close(timeout)

    @property
    def _gateway(self) -> Any:
        """None where the application is wrapped into something else."""
        return getattr(self.wsgi, "extensions", {}).get("godex")


def _stop_listening(server: StreamServer) -> None:
    """Takes what the system has accepted for us: it would be reset when the listening socket closes."""
    server.stop_accepting()
    waiting = True
    while waiting:
        gevent.sleep(0)  # handlers begin with the listening socket's name
        waiting = _accept(server)
    server.close()


def _accept(server: StreamServer) -> bool:
    with contextlib.suppress(OSError):
        if not server.full() and (accepted := server.do_read()) is not None:
            server.do_handle(*accepted)
            return True
    return False
