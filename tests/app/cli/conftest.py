"""A folder and an environment in which nothing is configured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli import main
from providers.registry import builtin_specs

Godex = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory and home of the command."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("GODEX_CONFIG", "GODEX_API_KEY", *(spec.api_key_env for spec in builtin_specs().values())):
        if name:
            monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def godex(folder: Path) -> Godex:
    """Runs `godex ARGUMENTS…` in that folder; `answers` are typed, `environ` is set."""

    def run(*arguments: str, answers: str | None = None, **environ: str) -> Result:
        return CliRunner().invoke(main, arguments, input=answers, env=environ, prog_name="godex")

    return run
