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

from app.sessions import sqlite_schema
from app.sessions.sqlite_schema import MIGRATIONS
from app.sessions.sqlite_store import PURGE_BATCH, PURGE_INTERVAL, SqliteStore
from bridge.errors import STORE_UNAVAILABLE, SessionError

from .builders import OWNER, save_chain, session
from .conftest import Clock
from .gevent_script import ROOT, run_patched
from .sqlite_writer import CONTESTED
from .test_conversations import contents, entry, made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "er" / "sessions.db"


def unavailable(call: Callable[[], Any]) -> str:
    """The reason that the error gives."""
    with pytest.raises(SessionError) as caught:
        call()
    assert caught.value.code == STORE_UNAVAILABLE
    assert caught.value.retry_after is not None
    assert str(caught.value.context["reason"]) not in caught.value.message
    return str(caught.value.context["reason"])


def test_folders_are_made_and_the_file_is_the_owners_alone(path: Path) -> None:
    store = SqliteStore(path, ttl=100)
    save_chain(store, 1)
    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    store.close()


def test_nothing_is_opened_before_the_first_call(path: Path) -> None:
    SqliteStore(path, ttl=100)
    assert not path.parent.exists()


def test_responses_outlive_the_process(path: Path) -> None:
    first = SqliteStore(path, ttl=100)
    ids = save_chain(first, 3)
    first.close()
    second = SqliteStore(path, ttl=100)
    assert [turn.id for turn in second.resolve_chain(ids[-1], owner=OWNER).turns] == ids
    second.close()


def test_a_chain_is_one_query(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = sqlite3.connect

    def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = real(*arguments, **options)
        connection.set_trace_callback(asked.append)
        return connection

    monkeypatch.setattr(sqlite_schema.sqlite3, "connect", connect)
    store = SqliteStore(path, ttl=100)
    ids = save_chain(store, 64)
    asked.clear()
    assert len(store.resolve_chain(ids[-1], owner=OWNER).turns) == 64
    assert len([statement for statement in asked if not statement.lstrip().startswith("--")]) == 1
    store.close()


def test_processes_share_one_new_file(path: Path) -> None:
    chains, length = 4, 8
    workers = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.app.sessions.sqlite_writer",
                str(path),
                str(number),
                str(chains),
                str(length),
            ],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    for worker in workers:
        worker.stdin.write("x")
        worker.stdin.flush()
    answers = [worker.communicate(timeout=50)[0].split("\n") for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0, 0]

    store = SqliteStore(path, ttl=1000)
    newest = [line for answer in answers for line in answer if line.startswith("resp_")]
    assert len(newest) == 3 * chains
    assert all(len(store.resolve_chain(link, owner=OWNER).turns) == length for link in newest)
    won = [int(line.split()[1]) for answer in answers for line in answer if line.startswith("won")]
    assert sum(won) == len(CONTESTED)
    assert len({line for answer in answers for line in answer if line.startswith("seal")}) == 1
    store.close()


def test_a_child_process_opens_its_own_connection(path: Path) -> None:
    store = SqliteStore(path, ttl=100)
    (before,) = save_chain(store, 1)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            inherited = list(store._idle)
            store.save(session("resp_of_the_child", before))
            status = 0 if store._idle[0] is not inherited[0] else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(store.resolve_chain("resp_of_the_child", owner=OWNER).turns) == 2
    store.close()


# ---------------------------------------------------------------------------------------------------- locks and gevent


def test_a_lock_that_ends_in_time_is_waited_for(path: Path) -> None:
    store = SqliteStore(path, ttl=100)
    (root,) = save_chain(store, 1)
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.2, other.rollback).start()
    store.save(session("resp_2", root))
    assert store.get("resp_2", OWNER)
    other.close()
    store.close()


def test_a_lock_that_does_not_end_is_given_up_and_reads_go_on(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_schema, "BUSY_TIMEOUT", 0.05)
    store = SqliteStore(path, ttl=100)
    (root,) = save_chain(store, 1)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert "locked" in unavailable(lambda: store.save(session("resp_2", root)))
    assert "locked" in unavailable(store.ping)
    assert store.get(root, OWNER)
    other.rollback()
    store.save(session("resp_2", root))
    other.close()
    store.close()


def test_a_locked_file_does_not_stop_a_gevent_worker(path: Path) -> None:
    code = """
        import sqlite3, sys, time
        import gevent
        from app.sessions.sqlite_store import SqliteStore
        from bridge.errors import SessionError
        from tests.app.sessions.builders import OWNER, save_chain, session

        store = SqliteStore(sys.argv[1], ttl=100)
        (root,) = save_chain(store, 1)
        other = sqlite3.connect(sys.argv[1], isolation_level=None)
        other.execute("BEGIN IMMEDIATE")

        savers = [gevent.spawn(store.save, session(f"resp_{number}", root)) for number in range(4)]
        lags, last = [], time.monotonic()
        for _ in range(30):
            gevent.sleep(0.01)
            lags.append(time.monotonic() - last)
            last = time.monotonic()
        assert not any(saver.ready() for saver in savers)
        assert store.get(root, OWNER)
        other.rollback()
        gevent.joinall(savers, raise_error=True, timeout=10)
        assert len(store.list_children(root, OWNER)) == 4

        try:
            store.save(session("resp_0"))
        except SessionError as error:
            print(error.code, max(lags) < 0.5)
        store.close()
    """
    assert run_patched(code, str(path)) == "session.store.conflict True\n"


# ----------------------------------------------------------------------------------------------------- broken disks


def test_a_full_disk_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = sqlite3.connect

    def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = real(*arguments, **options)
        connection.execute("PRAGMA max_page_count = 40")
        return connection

    monkeypatch.setattr(sqlite_schema.sqlite3, "connect", connect)
    store = SqliteStore(path, ttl=100)
    (root,) = save_chain(store, 1)
    assert "full" in unavailable(lambda: store.save(session("resp_big", root, metadata={"x": "y" * 500_000})))
    store.save(session("resp_small", root))
    assert [child.id for child in store.list_children(root, OWNER)] == ["resp_small"]
    store.close()


def test_a_file_that_can_only_be_read_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SqliteStore(path, ttl=100)
    (root,) = save_chain(store, 1)
    store.close()
    real = sqlite3.connect
    monkeypatch.setattr(
        sqlite_schema.sqlite3,
        "connect",
        lambda file, **options: real(f"file:{file}?mode=ro", uri=True, **options),
    )
    assert "readonly" in unavailable(lambda: store.save(session("resp_2")))
    assert "readonly" in unavailable(store.ping)
    assert store.get(root, OWNER)
    store.close()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = SqliteStore(tmp_path / "file" / "sessions.db", ttl=100)
    for call in (lambda: store.save(session("resp_1")), store.ping, lambda: store.get("resp_1", OWNER)):
        assert str(tmp_path / "file") in unavailable(call)


def test_a_path_that_is_a_folder_is_named(tmp_path: Path) -> None:
    assert str(tmp_path) in unavailable(SqliteStore(tmp_path, ttl=100).ping)


def test_a_file_of_something_else_is_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Milk, bread. " * 500)
    assert "not a database" in unavailable(lambda: SqliteStore(path, ttl=100).save(session("resp_1")))
    assert path.read_text() == "Milk, bread. " * 500


# ------------------------------------------------------------------------------------------------- schema and purging


def test_an_older_file_is_brought_up_to_date_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = SqliteStore(path, ttl=100)
    ids = save_chain(old, 2)
    old.close()
    newer = (*MIGRATIONS, "ALTER TABLE responses ADD COLUMN colour TEXT; UPDATE responses SET colour = 'blue'")
    monkeypatch.setattr(sqlite_schema, "MIGRATIONS", newer)

    stores = [SqliteStore(path, ttl=100) for _ in range(4)]
    threads = [threading.Thread(target=store.ping) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(stores[0].resolve_chain(ids[-1], owner=OWNER).turns) == 2
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT DISTINCT colour FROM responses").fetchall() == [("blue",)]
        assert connection.execute("PRAGMA user_version").fetchone() == (len(newer),)
    connection.close()
    for store in stores:
        store.close()


def test_a_file_from_before_conversations_gets_them(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sqlite_schema, "MIGRATIONS", MIGRATIONS[:1])
        old = SqliteStore(path, ttl=100)
        ids = save_chain(old, 3)
        old.close()
    store = SqliteStore(path, ttl=100)
    assert len(store.resolve_chain(ids[-1], owner=OWNER).turns) == 3
    assert contents(store, made(store, entry(1))).entries == [entry(1)]
    store.close()


def test_items_go_with_their_conversation(path: Path, clock: Clock) -> None:
    store = SqliteStore(path, ttl=100, clock=clock)
    assert store.conversations.delete(made(store, entry(1), entry(2)).id, OWNER)
    assert stored(path, "conversation_items") == 0
    made(store, entry(3))
    clock.now += 101
    made(store, entry(4))
    assert store.purge() == 1
    assert stored(path, "conversation_items") == 1
    store.close()


def test_a_migration_that_fails_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = SqliteStore(path, ttl=100)
    (only,) = save_chain(old, 1)
    old.close()
    with monkeypatch.context() as patch:
        patch.setattr(sqlite_schema, "MIGRATIONS", (*MIGRATIONS, "DROP TABLE responses; DROP TABLE nothing"))
        assert "nothing" in unavailable(SqliteStore(path, ttl=100).ping)
    assert old.get(only, OWNER)
    old.close()


def test_a_file_of_a_newer_version_is_refused(path: Path) -> None:
    store = SqliteStore(path, ttl=100)
    store.ping()
    store.close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection.close()
    assert "newer version" in unavailable(store.ping)


def test_purging_goes_over_more_than_one_batch(path: Path, clock: Clock) -> None:
    store = SqliteStore(path, ttl=100, clock=clock)
    store.ping()
    with sqlite3.connect(path) as connection:
        rows = [(f"resp_{number}", OWNER, clock() - 1, 0, b"") for number in range(2 * PURGE_BATCH + 1)]
        connection.executemany("INSERT INTO responses VALUES (?, NULL, ?, ?, ?, ?)", rows)
    connection.close()
    assert store.purge() == 2 * PURGE_BATCH + 1
    store.close()


def test_saving_purges_now_and_then(path: Path, clock: Clock) -> None:
    store = SqliteStore(path, ttl=10, clock=clock)
    save_chain(store, 3)
    clock.now += PURGE_INTERVAL / 2
    save_chain(store, 1)
    assert stored(path) == 4
    clock.now += PURGE_INTERVAL / 2
    save_chain(store, 1)
    store.close()
    assert stored(path) == 1


def test_a_purge_that_fails_does_not_fail_the_save_before_it(
    path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = SqliteStore(path, ttl=10, clock=clock)
    clock.now += PURGE_INTERVAL
    monkeypatch.setattr(
        store, "purge", lambda: store._run(lambda connection: connection.execute("DELETE FROM nothing"))
    )
    save_chain(store, 1)
    store.close()
    assert stored(path) == 1
    assert "expired responses not removed yet" in caplog.text


def stored(path: Path, table: str = "responses") -> int:
    connection = sqlite3.connect(path)
    (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    connection.close()
    return int(count)
