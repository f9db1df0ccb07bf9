"""Codex CLI itself (`codex exec`), in front of the gateway, in front of a scripted upstream.

Evidence is what Codex printed and exited with, the files it made, and the requests that the upstream saw.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.catalogue import codex_entry, served_model
from app.config.loader import load_config
from app.gateway import Gateway
from app.sessions.ids import chain_tag
from tests.support.fake_upstream import FakeUpstream, Scripted
from tests.support.node import installed
from tests.support.served import Served

CALL_LIMIT = 100  # seconds for one run of Codex; its own longest waits are below 30

SPARE = 12


@pytest.fixture(scope="package")
def upstream() -> Iterator[FakeUpstream]:
    with FakeUpstream() as server:
        yield server


@pytest.fixture(scope="package")
def sections(upstream: FakeUpstream, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """godex.yaml: `up` is a plain server, `deepseek` one that thinks; the spare ones are for tests in which an upstream
    fails, so that no circuit breaker of one test stands open in the next."""
    folder = tmp_path_factory.mktemp("gateway")
    reach = {
        "endpoint": {"base_url": upstream.url},
        "credentials": {"api_key": "sk-upstream-secret"},
        "retry": {"attempts": 1},
    }
    plain = {"spec": "openai_compatible", **reach, "capabilities": {"context_window": 100_000}}
    return {
        "server": {"heartbeat": 0.3},
        "default_provider": "up",
        "providers": {
            "up": plain,
            "deepseek": {"spec": "deepseek", **reach},
            **{f"spare{number}": plain for number in range(SPARE)},
        },
        "session": {"backend": "sqlite", "sqlite": {"path": str(folder / "sessions.db")}},
        "trace": {"path": str(folder / "trace.db")},
    }


@pytest.fixture(scope="package")
def served(sections: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(sections, tmp_path_factory.mktemp("served")) as gateway:
        yield gateway
        assert "Traceback" not in gateway.log, gateway.log


@pytest.fixture(scope="session")
def codex_program() -> str:
    return str(installed("codex") / "node_modules" / ".bin" / "codex")


@dataclass
class Run:
    """One run of `codex exec`.

    events    what `--json` printed
    requests  the chat bodies that the upstream saw meanwhile, oldest first
    chains    how many conversations the gateway saw: over a WebSocket Codex continues responses, over POST it sends
              everything again
    """

    status: int
    events: list[dict[str, Any]]
    log: str
    requests: list[dict[str, Any]]
    chains: int

    def items(self, kind: str) -> list[dict[str, Any]]:
        """The finished items of a kind: agent_message, reasoning, command_execution, file_change, mcp_tool_call …"""
        done = [event["item"] for event in self.events if event["type"] == "item.completed"]
        return [item for item in done if item["type"] == kind]

    @property
    def answer(self) -> str:
        """The last thing that the agent said."""
        return self.items("agent_message")[-1]["text"]

    @property
    def failure(self) -> str:
        """Why the turn failed."""
        assert self.status != 0, self
        return next(event["error"]["message"] for event in self.events if event["type"] == "turn.failed")

    @property
    def thread(self) -> str:
        return next(event["thread_id"] for event in self.events if event["type"] == "thread.started")

    def outputs(self) -> list[str]:
        """The tool messages of the last request."""
        return [message["content"] for message in self.requests[-1]["messages"] if message["role"] == "tool"]


class Codex:
    """Runs `codex exec` in `folder`, with a home of its own. Each test asks for a model of its own name."""

    def __init__(self, program: str, served: Served, upstream: FakeUpstream, sections: Any, root: Path, name: str):
        self.upstream = upstream
        self.served = served
        self.upstream_model = name
        self.folder = root / "work"
        self.home = root / "home"
        self._program = program
        self._config = load_config(sections, environ={})
        self.folder.mkdir()
        self.home.mkdir()

    def __call__(self, prompt: str, *answers: Scripted, **options: Any) -> Run:
        """Script the upstream with the answers and run to the end. For the options see `start`."""
        if answers:
            self.upstream.script(self.upstream_model, *answers)
        seen = len(self.upstream.requests)
        process = self.start(prompt, **options)
        try:
            out, err = process.communicate(timeout=CALL_LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise AssertionError(process.communicate()) from None
        events = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        asked = [record.body for record in self.upstream.requests[seen:] if record.model == self.upstream_model]
        return Run(process.returncode, events, err, asked, len(self._chains()))

    def _chains(self) -> set[str]:
        """What the ids of this model's responses have in common with those that they continue."""
        logged = [json.loads(line) for line in self.served.log.splitlines() if line.startswith("{")]
        ours = [entry for entry in logged if entry["message"] == "response" and entry["model"] == self.upstream_model]
        return {chain_tag(entry["response_id"]) for entry in ours}

    def start(
        self,
        prompt: str,
        *,
        provider: str = "up",
        arguments: tuple[str, ...] = (),
        config: dict[str, Any] | None = None,
        endpoint: dict[str, Any] | None = None,
        entry: dict[str, Any] | None = None,
        listed: bool = True,
        configured: bool = True,
    ) -> subprocess.Popen[str]:
        """config: keys of config.toml; endpoint: of its provider; entry: of the catalogue's entry, None removes one.

        listed: the model is in a catalogue file; configured: Codex is told everything on the command line, else the
        files in its home have to do.
        """
        model = f"{provider}/{self.upstream_model}"
        settings: dict[str, Any] = {
            "model": model,
            "model_provider": "godex",
            "model_providers.godex": {
                "name": "GodeX",
                "base_url": f"{self.served.url}/v1",
                "wire_api": "responses",
                "request_max_retries": 0,
                "stream_max_retries": 1,
                **(endpoint or {}),
            },
            "features.plugins": False,
            "analytics.enabled": False,
        }
        if listed:
            settings["model_catalog_json"] = str(self._catalogue(model, entry or {}))
        settings = {**settings, **(config or {})} if configured else {}
        flags = [part for key, value in settings.items() for part in ("-c", f"{key}={toml(value)}")]
        environ = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        return subprocess.Popen(
            [
                *(self._program, "exec", "--json", "--skip-git-repo-check"),
                "--dangerously-bypass-approvals-and-sandbox",
                *flags,
                *arguments,
                prompt,
            ],
            cwd=self.folder,
            env={**environ, "CODEX_HOME": str(self.home), "HOME": str(self.home)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def _catalogue(self, model: str, changes: dict[str, Any]) -> Path:
        entry = codex_entry(served_model(Gateway(self._config), model), 1)
        entry = {key: value for key, value in {**entry, **changes}.items() if value is not None}
        path = self.home / "models.json"
        path.write_text(json.dumps({"models": [entry]}))
        return path


def toml(value: Any) -> str:
    """A value as TOML writes it in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


@pytest.fixture
def codex(
    codex_program: str,
    served: Served,
    upstream: FakeUpstream,
    sections: dict[str, Any],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> Codex:
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower()).strip("-")
    return Codex(codex_program, served, upstream, sections, tmp_path, name)
