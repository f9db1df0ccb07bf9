"""The deployment that sessions are for: nginx in front of several replicas with several workers each, and one Redis."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import pytest

from tests.support.redis_server import RedisServer
from tests.support.served import Served, free_port

CONFIG = """
daemon off;
pid {folder}/nginx.pid;
error_log stderr error;
{user}
worker_processes 1;
events {{ worker_connections 8192; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    client_max_body_size 64m;
    upstream replicas {{
{servers}
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://replicas;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
            proxy_read_timeout 60s;
        }}
    }}
}}
"""


def nginx_program() -> str:
    found = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if found is None:
        pytest.skip("no nginx on this machine (apt-get install nginx)")
    return found


def started_nginx(folder: Path, port: int, replicas: Sequence[int]) -> subprocess.Popen[bytes]:
    """nginx on `port` in front of the ports of `replicas`; it answers already."""
    folder.mkdir()
    config = folder / "nginx.conf"
    servers = "\n".join(f"        server 127.0.0.1:{replica} max_fails=1 fail_timeout=1s;" for replica in replicas)
    user = "user root;" if os.geteuid() == 0 else ""  # else its workers could not write to the folder
    config.write_text(CONFIG.format(folder=folder, servers=servers, port=port, user=user))
    program = [nginx_program(), "-c", str(config), "-p", str(folder), "-e", "stderr"]
    process = subprocess.Popen(program, stderr=subprocess.DEVNULL)
    for _ in range(100):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/live", timeout=5):
                return process
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.05)
    raise AssertionError("nginx did not start")


class Replicas:
    """`url` is that of nginx, which gives each request to the next replica. Redis keeps an append-only file."""

    def __init__(self, upstream_url: str, folder: Path, *, replicas: int = 2, workers: int = 2, **session: Any) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.redis = RedisServer("--appendonly", "yes", "--appendfsync", "everysec")
        self.replicas: list[Served] = []
        self._nginx: subprocess.Popen[bytes] | None = None
        self._folder = folder
        self._replicas = replicas
        self._config = {
            "server": {"heartbeat": 0.5, "workers": workers},
            "providers": {
                "up": {
                    "spec": "openai_compatible",
                    "endpoint": {"base_url": upstream_url},
                    "credentials": {"api_key": "sk-upstream-secret"},
                    "retry": {"attempts": 1},
                }
            },
            "session": {"backend": "redis", "redis": {"url": self.redis.url}, **session},
            "trace": {"enabled": False},
        }

    def __enter__(self) -> Self:
        try:
            self.redis.start()
            for number in range(self._replicas):
                self.replicas.append(Served(self._config, self._folder / f"replica{number}"))
            self._start_nginx()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._nginx is not None:
            self._nginx.terminate()
            self._nginx.wait()
        for replica in self.replicas:
            replica.stop()
        self.redis.__exit__()

    @property
    def log(self) -> str:
        return "".join(replica.log for replica in self.replicas)

    def kill_worker(self, replica: int = 0) -> None:
        """gunicorn's master starts another one."""
        os.kill(min(self.replicas[replica].workers()), signal.SIGKILL)

    def kill_replica(self, replica: int) -> None:
        """Master and workers at once; nginx finds out by itself."""
        os.killpg(self.replicas[replica].process.pid, signal.SIGKILL)
        self.replicas[replica].process.wait()

    def _start_nginx(self) -> None:
        self._nginx = started_nginx(self._folder / "nginx", self.port, [replica.port for replica in self.replicas])
