"""GodeX as it is deployed: `godex serve` as a process tree, with gunicorn's gevent workers."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Self

import yaml

ROOT = Path(__file__).parent.parent.parent


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Served:
    """A running gateway. `log` is all that it has written."""

    def __init__(self, config: dict[str, Any], folder: Path, command: list[str] | None = None) -> None:
        """config: sections of godex.yaml; server.port is filled in."""
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "godex.yaml"
        path.write_text(
            yaml.safe_dump({**config, "server": {"port": self.port, "workers": 2, **config.get("server", {})}})
        )
        self._log_path = folder / "log"
        with self._log_path.open("wb") as log:
            self.process = subprocess.Popen(
                command or [sys.executable, "-m", "app.cli", "serve", "--config", str(path)],
                cwd=ROOT,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, "GODEX_CONFIG": str(path)},
            )
        try:
            self._wait_until_ready()
        except BaseException:
            self.stop()
            raise

    @property
    def log(self) -> str:
        return self._log_path.read_text()

    def workers(self) -> set[int]:
        """Process ids of gunicorn's workers."""
        found = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=False)
        return {int(pid) for pid in found.stdout.split()}

    def _wait_until_ready(self) -> None:
        for _ in range(300):
            if self.process.poll() is not None:
                raise AssertionError(f"the gateway did not start:\n{self.log}")
            try:
                with urllib.request.urlopen(f"{self.url}/health/ready", timeout=5):
                    return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        raise AssertionError(f"the gateway is not ready:\n{self.log}")

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()
