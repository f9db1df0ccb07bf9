"""What setup.cfg promises about the three packages, read from their source."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("app", "bridge", "providers")

SETUP = ConfigParser()
SETUP.read(ROOT / "setup.cfg")


def sources(*packages: str) -> Iterator[Path]:
    for package in packages:
        yield from sorted((ROOT / package).rglob("*.py"))


def absolute_imports(path: Path) -> Iterator[str]:
    """Top names of every import that is not relative."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]


def test_no_module_says_import_app() -> None:
    """Installed, the folder is called godex: `import app` would find the host's own package."""
    guilty = [str(path) for path in sources(*PACKAGES) if {"app", "godex"} & set(absolute_imports(path))]
    assert guilty == []


def test_every_library_that_is_imported_is_required() -> None:
    required = {_normal(line) for line in SETUP["options"]["install_requires"].split("\n") if line.strip()}
    optional = {"rich", "opentelemetry"}  # extras: imported where they are there
    names = {name for path in sources(*PACKAGES) for name in absolute_imports(path)}
    foreign = names - set(sys.stdlib_module_names) - set(PACKAGES) - optional
    given = packages_distributions()
    missing = {name for name in foreign if not required & {_normal(found) for found in given.get(name, [])}}
    # Flask brings werkzeug, and gevent its greenlets: they are its own parts
    assert missing <= {"werkzeug", "greenlet"}


def _normal(requirement: str) -> str:
    return re.split(r"[\[<>=;~! ]", requirement.strip(), maxsplit=1)[0].lower().replace("_", "-")


@pytest.mark.parametrize("package", PACKAGES)
def test_each_package_says_that_it_is_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()


def test_each_folder_with_modules_is_a_package() -> None:
    """setuptools leaves out a folder without __init__.py in silence."""
    assert [str(path) for path in sources(*PACKAGES) if not (path.parent / "__init__.py").exists()] == []


def test_all_providers_are_held_apart() -> None:
    listed = set(SETUP["importlinter:contract:providers"]["modules"].split())
    there = {f"providers.{path.parent.name}" for path in (ROOT / "providers").glob("*/__init__.py")}
    assert listed == there
