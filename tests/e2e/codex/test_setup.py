"""How Codex learns about the gateway: the profile that `godex codex-config` writes, and GET /v1/models."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import yaml

from tests.e2e.codex.calls import command, patch
from tests.support.fake_upstream import answer
from tests.support.served import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]


def test_the_written_profile_is_all_that_codex_needs(codex, sections, served):
    config = codex.home / "godex.yaml"
    config.write_text(yaml.safe_dump({**sections, "server": {"port": served.port}}))
    told = subprocess.run(
        [
            sys.executable,
            "-m",
            "app.cli",
            "codex-config",
            "--config",
            config,
            "--model",
            codex.upstream_model,
            "--write",
        ],
        cwd=ROOT,
        env={**os.environ, "CODEX_HOME": str(codex.home)},
        capture_output=True,
        text=True,
    )
    assert told.returncode == 0, told.stderr
    run = codex(
        "Work.",
        answer(calls=(command("a", "echo one"), patch("b", "*** Add File: two.txt", "+two"))),
        answer("Done."),
        configured=False,
        arguments=("--profile", "godex", "--strict-config"),
    )
    assert run.answer == "Done."
    assert (codex.folder / "two.txt").read_text() == "two\n"
    assert run.chains == 1  # it came over a WebSocket
    assert "metadata" not in str(run.events)  # no warning that the model is unknown


def test_codex_takes_the_catalogue_from_the_list_of_models(codex):
    """It asks only where its key comes from a command."""
    codex.upstream_model = "deepseek-v4-pro"
    run = codex(
        "Work.",
        answer(calls=(patch("b", "*** Add File: two.txt", "+two"),)),
        answer("Done."),
        provider="deepseek",
        listed=False,
        endpoint={"auth": {"command": "echo", "args": ["any-key"]}},
    )
    assert run.answer == "Done."
    assert (codex.folder / "two.txt").read_text() == "two\n"
    assert run.requests[0]["messages"][0]["content"].startswith("You are a coding agent in a terminal.")
