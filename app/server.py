"""Serving with gunicorn: its settings, in one place, and the server that `godex serve` runs.

Nothing here may import requests, not even by a detour: it is loaded in gunicorn's master, before the workers patch the
standard library for gevent, and urllib3 loaded before that fails on its first TLS call (RecursionError).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter

from bridge.errors import GodeXError

from . import metrics_folder
from .config.model import Config, is_loopback
from .worker import Worker

LOG = logging.getLogger("gunicorn.error")  # the one that works in the master

# Seconds for which a worker's event loop may stand still before it is killed; streams may be as long as they like.
BLOCKED_LOOP_TIMEOUT = 60
# Seconds for which a connection may be idle, and for which a client may take to send the head of a request.
KEEPALIVE = 75


def gunicorn_settings(config: Config) -> dict[str, Any]:
    """gunicorn's settings for a config, hooks included. A new hook of the server goes in here."""
    server = config.server

    def on_starting(arbiter: Arbiter) -> None:
        """The addresses may come from gunicorn's own -b, which the configuration knows nothing about."""
        outside = [host for host in map(_listening_host, arbiter.cfg.address) if not is_loopback(host)]
        if outside and not (config.auth.has_keys or config.auth.open):
            raise SystemExit(
                f"auth.keys: none, but {outside[0]} can be reached from outside: add a key or say auth.open: true"
            )
        metrics_folder.prepare()

    def child_exit(arbiter: Arbiter, worker: Worker) -> None:
        metrics_folder.forget_worker(worker.pid)

    def on_exit(arbiter: Arbiter) -> None:
        metrics_folder.remove()

    return {
        "bind": bind_address(server.host, server.port),
        "workers": server.workers,
        "worker_class": Worker,
        "worker_connections": server.connections,
        "timeout": BLOCKED_LOOP_TIMEOUT,
        "graceful_timeout": math.ceil(server.graceful_timeout),
        "keepalive": KEEPALIVE,
        "preload_app": False,  # the application must be loaded after the worker's monkey patch
        "control_socket_disable": True,  # by default two services of one user share its path
        "forwarded_allow_ips": ",".join(server.trusted_proxies),
        "proc_name": "godex",
        "loglevel": config.logging.level,
        "on_starting": on_starting,
        "child_exit": child_exit,
        "on_exit": on_exit,
    }


def bind_address(host: str, port: int) -> str:
    """What gunicorn binds to: `127.0.0.1:5678`, `[::1]:5678`, `unix:/run/godex.sock`."""
    if host.startswith("unix:"):
        return host
    return f"[{host.strip('[]')}]:{port}" if ":" in host else f"{host}:{port}"


def _listening_host(address: Any) -> str:
    """gunicorn's parsed address: a (host, port) pair, or the path of a Unix socket."""
    return str(address[0]) if isinstance(address, tuple) else "unix:"


class Server(BaseApplication):
    """gunicorn with a configuration that was checked before the first fork.

    Workers take it over through the fork and never read the file again: a file that is being edited cannot stop a
    worker that starts anew, and on HUP a faulty one is refused while the last good one stays in force.
    """

    def __init__(
        self, config: Config, read_again: Callable[[], Config], on_ready: Callable[[Config, str], None]
    ) -> None:
        """`read_again` gives the checked configuration on HUP; `on_ready` hears of the address, once it listens."""
        self._config = config
        self._read_again = read_again
        self._on_ready = on_ready
        super().__init__()

    def load_config(self) -> None:
        for name, value in gunicorn_settings(self._config).items():
            self.cfg.set(name, value)
        self.cfg.set("when_ready", self._when_ready)

    def load(self) -> Any:
        """In the worker, after its monkey patch: here the application and requests are imported."""
        from .factory import create_app

        return create_app(self._config)

    def reload(self) -> None:
        try:
            self._config = self._read_again()
        except GodeXError as error:
            LOG.error("Reload refused, the former configuration stays in force. %s", error.message)
        super().reload()

    def _when_ready(self, arbiter: Arbiter) -> None:
        self._on_ready(self._config, str(arbiter.LISTENERS[0]))
