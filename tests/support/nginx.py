"""nginx with deploy/nginx.conf, its addresses and folders changed, everything else as it is deployed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Self

from tests.support.served import ROOT, free_port

CONFIG = ROOT / "deploy" / "nginx.conf"
SERVER = "        server 127.0.0.1:5678 max_fails=1 fail_timeout=2s;\n"


def find_nginx() -> str:
    found = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin:/opt/homebrew/bin")
    assert found, "nginx is not installed (apt-get install nginx-light)"
    return found


class Nginx:
    """ports: of the replicas behind it."""

    def __init__(self, folder: Path, *ports: int) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        text = CONFIG.read_text()
        for given, here in (
            ("pid /run/nginx.pid;", f"pid {folder}/nginx.pid;\nlock_file {folder}/lock;"),
            ("/var/log/nginx", str(folder)),
            ("listen 80;", f"listen 127.0.0.1:{self.port};"),
            (SERVER, "".join(SERVER.replace("5678", str(port)) for port in ports)),
            ("worker_processes auto;", "worker_processes 1;"),
            ("    server_tokens off;", "    server_tokens off;\n" + self._temporary()),
        ):
            assert text.count(given) >= 1, f"deploy/nginx.conf lacks {given!r}"
            text = text.replace(given, here)
        if os.geteuid() == 0:
            text = "user root;\n" + text  # nobody else may write into the folder of a test
        self.config = folder / "nginx.conf"
        self.config.write_text(text)
        self._process: subprocess.Popen[bytes] | None = None

    def _temporary(self) -> str:
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        return "".join(f"    {kind}_temp_path {self.folder}/{kind};\n" for kind in kinds)

    def check(self) -> str:
        """What `nginx -t` says; it must be content."""
        done = subprocess.run(
            [find_nginx(), "-t", "-p", self.folder, "-c", self.config, "-e", self.folder / "error.log"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stderr

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [find_nginx(), "-p", self.folder, "-c", self.config, "-e", self.folder / "error.log", "-g", "daemon off;"]
        )
        end = time.monotonic() + 10
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return self
            except ConnectionRefusedError:
                assert self._process.poll() is None and time.monotonic() < end, "nginx did not start"
                time.sleep(0.02)

    def __exit__(self, *exc: object) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)
