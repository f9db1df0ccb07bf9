"""The ledger of one machine, in a SQLite file. Nothing in it is worth keeping for longer than a minute."""

from __future__ import annotations

import sqlite3
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from limits.storage import Storage

from ..private_file import make_private_file
from ..sessions.off_hub import off_hub

T = TypeVar("T")

BUSY_TIMEOUT = 1.0  # seconds
SCHEMA = """
    CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL, ends_at REAL NOT NULL);
    CREATE TABLE IF NOT EXISTS leases (
        name TEXT NOT NULL, lease TEXT NOT NULL, ends_at REAL NOT NULL, PRIMARY KEY (name, lease)
    ) WITHOUT ROWID;
"""
ADD = """
    INSERT INTO counters VALUES (:name, :amount, :ends_at) ON CONFLICT (name) DO UPDATE SET
        value = CASE WHEN ends_at > :now THEN value ELSE 0 END + :amount,
        ends_at = CASE WHEN ends_at > :now THEN ends_at ELSE :ends_at END
    RETURNING value
"""
TAKE = """
    INSERT INTO leases SELECT :name, :lease, :ends_at
    WHERE (SELECT COUNT(*) FROM leases WHERE name = :name AND ends_at > :now) < :most
"""


class SqliteLedger:
    failures: tuple[type[Exception], ...] = (sqlite3.Error, OSError)

    def __init__(self, path: Path) -> None:
        self._file = _File(path)
        self.storage = SqliteStorage(self._file)

    def add(self, name: str, amount: int, ttl: int) -> int:
        return self.storage.incr(name, ttl, amount)

    def count(self, name: str) -> int:
        return self.storage.get(name)

    def take_lease(self, name: str, lease: str, most: int, ttl: float) -> bool:
        now = time.time()
        row = {"name": name, "lease": lease, "most": most, "now": now, "ends_at": now + ttl}

        def take(connection: sqlite3.Connection) -> bool:
            connection.execute("DELETE FROM leases WHERE ends_at <= ?", (now,))
            return connection.execute(TAKE, row).rowcount == 1

        return self._file.run(take)

    def renew_leases(self, leases: Sequence[tuple[str, str]], ttl: float) -> None:
        query = "UPDATE leases SET ends_at = ? WHERE name = ? AND lease = ?"
        rows = [(time.time() + ttl, name, lease) for name, lease in leases]
        self._file.run(lambda connection: connection.executemany(query, rows))

    def return_lease(self, name: str, lease: str) -> None:
        query = "DELETE FROM leases WHERE name = ? AND lease = ?"
        self._file.run(lambda connection: connection.execute(query, (name, lease)))

    def close(self) -> None:
        self._file.close()


class SqliteStorage(Storage):
    """Counters as the library wants them; it has no storage that several processes of a machine share."""

    STORAGE_SCHEME = None

    def __init__(self, file: _File) -> None:
        super().__init__()
        self._file = file

    @property
    def base_exceptions(self) -> tuple[type[Exception], ...]:
        return SqliteLedger.failures

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        now = time.time()
        row = {"name": key, "amount": amount, "now": now, "ends_at": now + expiry}

        def add(connection: sqlite3.Connection) -> int:
            connection.execute("DELETE FROM counters WHERE ends_at <= ?", (now,))
            return int(connection.execute(ADD, row).fetchone()[0])

        return self._file.run(add)

    def get(self, key: str) -> int:
        query = "SELECT value FROM counters WHERE name = ? AND ends_at > ?"
        row = self._file.run(lambda connection: connection.execute(query, (key, time.time())).fetchone())
        return int(row[0]) if row else 0

    def get_expiry(self, key: str) -> float:
        query = "SELECT ends_at FROM counters WHERE name = ?"
        row = self._file.run(lambda connection: connection.execute(query, (key,)).fetchone())
        return float(row[0]) if row else time.time()

    def check(self) -> bool:
        return self._file.run(lambda connection: connection.execute("SELECT 1").fetchone() is not None)

    def reset(self) -> int | None:
        return self._file.run(lambda connection: connection.execute("DELETE FROM counters").rowcount)

    def clear(self, key: str) -> None:
        self._file.run(lambda connection: connection.execute("DELETE FROM counters WHERE name = ?", (key,)))


class _File:
    """Connections are opened at first use, after the fork, and used by one thread at a time, off the gevent hub."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: deque[sqlite3.Connection] = deque()

    def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return off_hub(lambda: self._run(work))

    def close(self) -> None:
        while self._idle:
            off_hub(self._idle.pop().close)

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._idle.pop() if self._idle else self._open()
        try:
            with connection:  # one transaction
                connection.execute("BEGIN IMMEDIATE")
                result = work(connection)
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return result

    def _open(self) -> sqlite3.Connection:
        make_private_file(self._path)
        connection = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = OFF")
            connection.executescript(SCHEMA)
        except BaseException:
            connection.close()
            raise
        return connection
