"""`godex serve` as people start it: a process that answers, reloads and stops."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
import requests

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[3]
PATIENCE = 20  # seconds until a process that hangs is a failure

CONFIG = """\
server: {{port: 0, workers: 1, graceful_timeout: 5}}
providers: {{demo: {{spec: demo}}}}
models: {{aliases: {{"*": demo/demo-1}}}}
auth: {auth}
"""


class Served:
    """A running `godex serve`; `lines` is what it has said on stderr so far."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "app.cli", "serve", *arguments],
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": str(ROOT)},
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        self._listening = Thread(target=self._listen, daemon=True)
        self._listening.start()

    def _listen(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stderr:
            self.lines.extend(iter(stderr.readline, ""))

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE)
        self._listening.join(PATIENCE)

    def said(self, pattern: str) -> re.Match[str]:
        """Waits until a line matches."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if found := re.search(pattern, "".join(self.lines)):
                return found
            time.sleep(0.02)
        raise AssertionError(f"never said {pattern}: {''.join(self.lines)}")

    @property
    def url(self) -> str:
        return self.said(r"listens on (http://[\d.:]+)/v1")[1]

    def ask(self) -> requests.Response:
        return requests.post(
            f"{self.url}/v1/responses",
            json={"model": "whatever", "input": "Hello"},
            headers={"Connection": "close"},  # a worker that stops waits for idle connections
            timeout=PATIENCE,
        )


@pytest.fixture
def served(tmp_path: Path) -> Iterator[list[Served]]:
    """Servers that the test started; they end with it."""
    started: list[Served] = []
    yield started
    for server in started:
        server.stop()


def test_the_demo_answers_and_stops(served: list[Served], tmp_path: Path) -> None:
    server = Served(tmp_path, "--demo", "--port", "0", "--workers", "1")
    served.append(server)
    reply = server.ask()
    assert (reply.status_code, reply.json()["status"]) == (200, "completed")
    assert "MonkeyPatchWarning" not in "".join(server.lines)
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(PATIENCE) == 0


def test_a_faulty_file_is_refused_on_reload_and_a_right_one_is_taken(served: list[Served], tmp_path: Path) -> None:
    file = tmp_path / "godex.yaml"
    file.write_text(CONFIG.format(auth="{}"))
    server = Served(tmp_path)
    served.append(server)
    assert server.ask().status_code == 200

    file.write_text("server: {port: many}\n")
    server.process.send_signal(signal.SIGHUP)
    server.said(r"Reload refused, .*server\.port: must be a whole number")
    assert server.ask().status_code == 200

    file.write_text(CONFIG.format(auth="{keys: [a-new-key]}"))
    server.process.send_signal(signal.SIGHUP)
    until = time.monotonic() + PATIENCE
    while server.ask().status_code != 401:
        assert time.monotonic() < until, "the new configuration never came into force"
        time.sleep(0.05)


def test_gunicorn_itself_serves_the_checkout(tmp_path: Path) -> None:
    (tmp_path / "godex.yaml").write_text(CONFIG.format(auth="{}"))
    socket = tmp_path / "g.sock"
    command = [sys.executable, "-m", "gunicorn", "-c", str(ROOT / "deploy/gunicorn.conf.py"), "-b", f"unix:{socket}"]
    process = subprocess.Popen(
        [*command, "wsgi:app"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        stderr=subprocess.PIPE,
    )
    try:
        answer = subprocess.run(
            ["curl", "-sS", "--retry", "50", "--retry-delay", "0", "--retry-all-errors", "--unix-socket", str(socket)]
            + ["http://localhost/v1/responses", "-H", "Content-Type: application/json"]
            + ["-d", '{"model": "demo/demo-1", "input": "Hello"}'],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert '"completed"' in answer.stdout, answer.stderr
    finally:
        process.terminate()
        _, said = process.communicate(timeout=PATIENCE)
    assert b"MonkeyPatchWarning" not in said
    assert process.returncode == 0
