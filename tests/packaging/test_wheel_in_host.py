"""The wheel beside a host application that owns a package `app`, as most Flask platforms do."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

ROOT = Path(__file__).parents[2]
PARTS = ("app", "bridge", "providers", "setup.cfg", "setup.py", "LICENSE", "README.md")

HOST = """
import json

import app
import godex
from flask import Flask
from godex import GodeX, create_app

DEMO = {
    "providers": {"demo": {"spec": "demo"}},
    "models": {"aliases": {"*": "demo/demo-1"}},
    "session": {"backend": "memory"},
    "trace": {"enabled": False},
}
host = Flask("host")
host.config["GODEX"] = DEMO

@host.get("/own")
def own():
    return app.NAME

GodeX(host)
told = {"app": app.NAME, "godex": godex.__file__}
for name, served in (("mounted", host), ("standalone", create_app(DEMO))):
    reply = served.test_client().post("/v1/responses", json={"model": "any", "input": "Hello"})
    told[name] = {"status": reply.status_code, "body": reply.get_json()}
told["own"] = host.test_client().get("/own").get_data(as_text=True)
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: setuptools leaves its build folder behind."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, source / part, ignore=shutil.ignore_patterns("__pycache__"))
        elif (ROOT / part).exists():
            shutil.copy(ROOT / part, source)
    pip("wheel", "--use-pep517", "--no-build-isolation", "--wheel-dir", folder, source)
    return next(folder.glob("godex-*.whl"))


@pytest.fixture(scope="module")
def host(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A host's folder with its own `app`, and in `venv` the wheel; the libraries are those of this environment."""
    folder = tmp_path_factory.mktemp("host")
    venv.create(folder / "venv", symlinks=True)
    python = str(folder / "venv/bin/python")
    # A path in a .pth file is not searched for .pth files itself: an editable godex of this environment stays away.
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])").strip())
    (site / "libraries.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    pip("--python", python, "install", "--ignore-installed", wheel)
    (folder / "app").mkdir()
    (folder / "app/__init__.py").write_text('NAME = "the host\'s own app"\n')
    (folder / "host.py").write_text(HOST)
    return folder


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """stdout of a command that must succeed."""
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def pip(*arguments: str | Path) -> None:
    """pip of this environment; what it needs is here."""
    run(sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments, "--no-deps", "--no-index")


def test_the_wheel_holds_every_module_and_data_file(wheel: Path) -> None:
    packed = set(zipfile.ZipFile(wheel).namelist())
    expected = {
        str(Path(installed, path.relative_to(ROOT / package)))
        for package, installed in (("app", "godex"), ("bridge", "bridge"), ("providers", "providers"))
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert expected <= packed
    assert not any(name.startswith(("app/", "tests/", "deploy/", "wsgi")) for name in packed)


def test_godex_is_mounted_in_a_host_that_has_its_own_app(host: Path) -> None:
    told = json.loads(run(host / "venv/bin/python", "host.py", cwd=host))
    assert (told["app"], told["own"]) == ("the host's own app", "the host's own app")
    assert told["godex"].startswith(str(host / "venv"))
    for way in ("mounted", "standalone"):
        assert told[way]["status"] == 200, told[way]
        assert told[way]["body"]["status"] == "completed"
        assert told[way]["body"]["output"][0]["type"] == "message"


def test_the_command_is_installed(host: Path) -> None:
    assert run(host / "venv/bin/godex", "--version", cwd=host) == "godex, version 0.1.0\n"
    assert run(host / "venv/bin/python", "-m", "godex.cli", "--version", cwd=host) == "godex, version 0.1.0\n"
