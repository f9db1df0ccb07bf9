"""The shell scripts, up to the point where they would install something; .ci/run goes the whole way."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the scripts and no .venv; its name has a blank."""
    folder = tmp_path / "a checkout"
    shutil.copytree(ROOT / "deploy", folder / "deploy")
    for name in ("setup.cfg", "setup.py"):
        shutil.copy(ROOT / name, folder)
    return folder


def program(folder: Path, name: str, script: str) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def sh(script: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(script), *arguments],
        cwd="/",
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **environ},
        capture_output=True,
        text=True,
        timeout=30,
    )


@pytest.mark.parametrize("script", ["deploy/run.sh", "deploy/venv.sh", "tests/run.sh"])
def test_scripts_are_plain_sh(script: str) -> None:
    assert subprocess.run(["sh", "-n", ROOT / script]).returncode == 0


def test_a_missing_python_is_told(checkout: Path) -> None:
    done = sh(checkout / "deploy/run.sh", PYTHON="no-such-python")
    assert done.returncode == 1
    assert done.stderr == "Python 3.11 or newer is needed, and there is no no-such-python here.\n"


def test_an_old_python_is_told(checkout: Path, tmp_path: Path) -> None:
    old = program(tmp_path, "old", 'case $1 in -V) echo "Python 3.9.2" ;; *) exit 1 ;; esac')
    done = sh(checkout / "deploy/run.sh", PYTHON=old)
    assert done.returncode == 1
    assert done.stderr.startswith(f"Python 3.11 or newer is needed; {old} is Python 3.9.2.")


def test_a_missing_venv_module_names_the_package_to_install(checkout: Path, tmp_path: Path) -> None:
    bare = program(tmp_path, "bare", "case $2 in *ensurepip*) exit 1 ;; *) exit 0 ;; esac")
    done = sh(checkout / "deploy/run.sh", PYTHON=bare)
    assert done.returncode == 1
    assert done.stderr == "Python's venv module is missing. On Debian or Ubuntu: apt-get install python3-venv\n"


def installed(checkout: Path, check: str) -> None:
    """As venv.sh leaves it, with a godex that tells its arguments and for which `config check` ends as given."""
    program(checkout, ".venv/bin/python", "exit 0")
    program(checkout, ".venv/bin/godex", f'case $1 in config) exit {check} ;; *) echo "$@" ;; esac')
    assert sh(checkout / "deploy/venv.sh").returncode == 0


@pytest.mark.parametrize(
    ("check", "arguments", "environ", "served"),
    [
        ("0", ("--port", "80"), {}, "serve --port 80"),
        ("2", ("--port", "80"), {}, "serve --demo --port 80"),
        ("2", ("--config", "x.yaml"), {}, "serve --config x.yaml"),
        ("2", ("--config=x.yaml",), {}, "serve --config=x.yaml"),
        ("2", ("--demo",), {}, "serve --demo"),
        ("2", (), {"GODEX_CONFIG": "/faulty.yaml"}, "serve"),
    ],
    ids=["configured", "not configured", "named file", "named file with =", "demo", "file of the environment"],
)
def test_run_serves_what_is_configured_and_the_demo_otherwise(
    checkout: Path, check: str, arguments: tuple[str, ...], environ: dict[str, str], served: str
) -> None:
    installed(checkout, check)
    done = sh(checkout / "deploy/run.sh", *arguments, **environ)
    assert (done.returncode, done.stdout) == (0, served + "\n")


def test_the_second_time_nothing_is_installed(checkout: Path) -> None:
    installed(checkout, "0")
    program(checkout, ".venv/bin/python", 'case $2 in pip) echo "installs"; exit 1 ;; *) exit 0 ;; esac')
    assert sh(checkout / "deploy/venv.sh").stderr == ""
    (checkout / "setup.cfg").write_text("[metadata]\nname = other\n")
    assert "Installing GodeX" in sh(checkout / "deploy/venv.sh").stderr
