"""Files that are the owner's alone, and what another process may do with a database while it is in use."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.limits.sqlite_ledger import _File
from app.private_file import make_private_file
from app.sessions.sqlite_schema import connect
from app.trace.sqlite_sink import SqliteSink

OPENERS: dict[str, Callable[[Path], sqlite3.Connection]] = {
    "sessions": connect,
    "limits": lambda path: _File(path)._open(),
    "trace": lambda path: SqliteSink(path)._opened(),
}
LOOK = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('SELECT count(*) FROM told').fetchone()[0])"


def looked_at(path: Path) -> str:
    """What another process finds, which opens the database and closes it."""
    return subprocess.run([sys.executable, "-c", LOOK, str(path)], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("opened", OPENERS.values(), ids=OPENERS)
def test_a_look_from_outside_takes_nothing_away(opened: Callable[[Path], sqlite3.Connection], tmp_path: Path) -> None:
    """However many connections this process has opened: each of them once closed a descriptor, and with it all locks."""
    path = tmp_path / "deep" / "data.db"
    connections = [opened(path) for _ in range(3)]
    connections[0].execute("CREATE TABLE told (number)")
    connections[0].commit()
    for number, connection in enumerate(connections):
        connection.execute("INSERT INTO told VALUES (?)", (number,))
        connection.commit()
        assert looked_at(path) == f"{number + 1}\n"
        assert Path(f"{path}-wal").exists()
    for connection in connections:
        connection.close()


def test_a_file_is_the_owners_alone_and_left_as_it_is_when_there_is_one(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "data.db"
    make_private_file(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text("kept")
    make_private_file(path)
    assert path.read_text() == "kept" and [one.name for one in path.parent.iterdir()] == ["data.db"]


@pytest.mark.parametrize("linked", [True, False])
def test_of_several_that_make_it_at_once_none_fails(
    linked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*args: Any) -> None:
        raise PermissionError("no hard links here")

    if not linked:
        monkeypatch.setattr(os, "link", refused)
    path, failures = tmp_path / "data.db", []
    monkeypatch.setattr(Path, "exists", lambda self: False)

    def make() -> None:
        try:
            make_private_file(path)
        except OSError as error:
            failures.append(error)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [] and os.listdir(tmp_path) == ["data.db"]
