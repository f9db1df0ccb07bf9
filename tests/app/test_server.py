"""gunicorn's settings, and what may be loaded before its workers fork."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from gunicorn.config import Config as GunicornConfig

from app.config.loader import demo_config, load_config
from app.config.model import AuthConfig, Config, LoggingConfig, ServerConfig
from app.server import bind_address, gunicorn_settings
from app.worker import Worker

ROOT = Path(__file__).parents[2]


def applied(settings: dict[str, Any]) -> GunicornConfig:
    cfg = GunicornConfig()
    for name, value in settings.items():
        cfg.set(name, value)
    return cfg


def test_gunicorn_takes_the_settings_of_the_configuration() -> None:
    server = ServerConfig(
        host="::1", port=80, workers=3, connections=7, graceful_timeout=1.5, trusted_proxies=("10.0.0.0/8", "127.0.0.1")
    )
    cfg = applied(gunicorn_settings(Config(server=server, logging=LoggingConfig(level="warning"))))
    assert cfg.address == [("::1", 80)]
    assert (cfg.workers, cfg.worker_connections, cfg.graceful_timeout, cfg.loglevel) == (3, 7, 2, "warning")
    assert cfg.worker_class is Worker
    assert cfg.forwarded_allow_ips == ["10.0.0.0/8", "127.0.0.1"]


def test_the_application_is_never_loaded_before_the_fork() -> None:
    settings = gunicorn_settings(Config())
    assert settings["preload_app"] is False
    assert settings["control_socket_disable"] is True


@pytest.mark.parametrize(
    ("host", "port", "bound"),
    [
        ("127.0.0.1", 5678, "127.0.0.1:5678"),
        ("localhost", 0, "localhost:0"),
        ("::", 1, "[::]:1"),
        ("[::1]", 1, "[::1]:1"),
        ("unix:/run/godex.sock", 5678, "unix:/run/godex.sock"),
    ],
)
def test_an_address_reads_as_gunicorn_wants_it(host: str, port: int, bound: str) -> None:
    assert bind_address(host, port) == bound


def starting(config: Config, bind: str) -> None:
    cfg = applied({**gunicorn_settings(config), "bind": bind})
    cfg.on_starting(SimpleNamespace(cfg=cfg))


def test_gunicorns_own_bind_cannot_open_the_door() -> None:
    with pytest.raises(SystemExit, match=r"auth.keys: none, but 0\.0\.0\.0 can be reached from outside"):
        starting(Config(), "0.0.0.0:80")
    starting(Config(), "127.0.0.1:80")
    starting(Config(), "unix:/run/godex.sock")
    starting(Config(auth=AuthConfig(open=True)), "0.0.0.0:80")
    starting(load_config({**demo_config(), "auth": {"keys": ["k"]}}), "0.0.0.0:80")


IN_THE_MASTER = """
import sys, warnings
from app.cli import main
from app.config.loader import demo_config, load_config
from app.server import Server
Server(load_config(demo_config()), lambda: None, print)
early = {"requests", "urllib3", "redis", "flask", "prometheus_client", "app.factory"} & set(sys.modules)
assert not early, f"loaded before the monkey patch: {early}"

warnings.simplefilter("error")  # gevent warns when it comes too late
from gevent import monkey
monkey.patch_all()
import requests
try:
    requests.get(f"https://127.0.0.1:{sys.argv[1]}", timeout=5)
except requests.exceptions.SSLError:
    print("TLS was spoken")
"""


@pytest.fixture
def plain_port() -> Iterator[int]:
    """A server that answers every hello with plain text: a client that speaks TLS finds a wrong version number."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1024)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        thread.join(5)


def test_the_master_loads_nothing_that_breaks_tls_in_the_workers(plain_port: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IN_THE_MASTER, str(plain_port)], cwd=ROOT, capture_output=True, text=True, timeout=30
    )
    assert (done.stdout, done.stderr) == ("TLS was spoken\n", "")
