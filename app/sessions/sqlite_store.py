"""Sessions in one SQLite file, shared by all workers of a machine: the default, with nothing to set up.

Every call is one hop off the gevent hub. Connections are opened at first use, after the fork, and used by one thread at
a time.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from bridge.errors import GodeXError, SessionError

from ..logs import fields
from .group_commit import GroupCommit
from .off_hub import off_hub
from .record import encode
from .session import StoredResponseSession
from .sqlite_conversations import SqliteConversations
from .sqlite_saves import Save, save_together
from .sqlite_schema import connect, transaction
from .store import LOG, UNSET, SessionStore, Unset, readable, unavailable

T = TypeVar("T")

BUSY_ATTEMPTS = 3  # each of which waits for BUSY_TIMEOUT
PURGE_INTERVAL = 600.0  # seconds
PURGE_BATCH = 500  # rows: other workers get their turn between two batches
PURGED = ("responses", "conversations", "memories")  # items go with their conversation

CHAIN = """
    WITH RECURSIVE chain (id, previous_response_id, record, depth) AS (
        SELECT id, previous_response_id, record, 1 FROM responses
        WHERE id = :id AND owner = :owner AND expires_at > :now
        UNION ALL
        SELECT turn.id, turn.previous_response_id, turn.record, depth + 1
        FROM chain JOIN responses AS turn ON turn.id = chain.previous_response_id
        WHERE depth < :limit AND turn.owner = :owner AND turn.expires_at > :now
    )
    SELECT id, record FROM chain
"""


class SqliteStore(SessionStore):
    """`path` of the file (folders are made), `ttl` in seconds."""

    def __init__(self, path: str | Path, *, ttl: float, clock: Callable[[], float] = time.time) -> None:
        self._path = Path(path)
        self._ttl = ttl
        self._clock = clock
        self._idle: deque[sqlite3.Connection] = deque()  # a deque needs no lock, see off_hub
        self._pid = os.getpid()
        self._inherited: list[deque[sqlite3.Connection]] = []
        self._next_purge = clock() + PURGE_INTERVAL
        self._purge: threading.Thread | None = None
        self._saves = GroupCommit(self._save_together)
        self.conversations = SqliteConversations(self._run, ttl=ttl, clock=clock)

    def get_many(self, response_ids: Iterable[str], owner: str) -> dict[str, StoredResponseSession]:
        wanted = [(response_id, owner, self._clock()) for response_id in response_ids]

        def read(connection: sqlite3.Connection) -> list[tuple[str, bytes]]:
            query = "SELECT id, record FROM responses WHERE id = ? AND owner = ? AND expires_at > ?"
            return [row for one in wanted for row in connection.execute(query, one)]

        return readable(self._run(read), owner, check_rest=True)

    def ancestry(self, response_id: str, owner: str, limit: int) -> dict[str, StoredResponseSession]:
        question = {"id": response_id, "owner": owner, "now": self._clock(), "limit": limit}
        return readable(self._run(lambda connection: connection.execute(CHAIN, question).fetchall()), owner)

    def save(
        self,
        session: StoredResponseSession,
        *,
        overwrite: bool = False,
        expected_previous_response_id: str | None | Unset = UNSET,
    ) -> None:
        now = self._clock()
        self._saves.write(Save(session, encode(session), overwrite, expected_previous_response_id, now, self._ttl))
        if now >= self._next_purge:
            self._next_purge = now + PURGE_INTERVAL
            self._purge_beside()

    def delete(self, response_id: str, owner: str) -> bool:
        query = "DELETE FROM responses WHERE id = ? AND owner = ? AND expires_at > ?"
        question = (response_id, owner, self._clock())
        return self._run(lambda connection: connection.execute(query, question).rowcount) > 0

    def list_children(self, response_id: str, owner: str) -> list[StoredResponseSession]:
        query = """
            SELECT id, record FROM responses
            WHERE previous_response_id = ? AND owner = ? AND expires_at > ? ORDER BY rowid
        """
        question = (response_id, owner, self._clock())
        rows = self._run(lambda connection: connection.execute(query, question).fetchall())
        return list(readable(rows, owner, check_rest=True).values())

    def setting(self, name: str, make: Callable[[], bytes]) -> bytes:
        query = "SELECT value FROM settings WHERE name = ?"
        if row := self._run(lambda connection: connection.execute(query, (name,)).fetchone()):
            return bytes(row[0])
        offer = make()

        def write(connection: sqlite3.Connection) -> bytes:
            connection.execute("INSERT OR IGNORE INTO settings VALUES (?, ?)", (name, offer))
            return bytes(connection.execute(query, (name,)).fetchone()[0])

        return self._run(write)

    def remember(self, values: Mapping[str, bytes], ttl: float) -> None:
        rows = [(name, self._clock() + ttl, value) for name, value in values.items()]

        def write(connection: sqlite3.Connection) -> None:
            with transaction(connection):
                connection.executemany("INSERT OR REPLACE INTO memories VALUES (?, ?, ?)", rows)

        self._run(write)

    def recall(self, names: Iterable[str]) -> dict[str, bytes]:
        wanted = [(name, self._clock()) for name in names]

        def read(connection: sqlite3.Connection) -> dict[str, bytes]:
            query = "SELECT name, value FROM memories WHERE name = ? AND expires_at > ?"
            return dict(row for one in wanted for row in connection.execute(query, one))

        return self._run(read)

    def ping(self) -> None:
        changes_nothing = "UPDATE settings SET value = value WHERE FALSE"  # but is refused where nothing can be written
        self._run(lambda connection: connection.execute(changes_nothing))

    def purge(self) -> int:
        return sum(map(self._purge_table, PURGED))

    def _purge_beside(self) -> None:
        """For a save that is done: it neither waits for the purge nor fails with it."""

        def purge() -> None:
            try:
                self.purge()
            except SessionError as error:
                LOG.warning("expired responses not removed yet", extra=fields(error.to_log_entry()))

        self._purge = threading.Thread(target=purge, name="godex-purge", daemon=True)
        self._purge.start()

    def close(self, timeout: float = 5.0) -> None:
        if self._purge is not None:
            self._purge.join(timeout)
        while self._idle:
            off_hub(self._idle.pop().close)

    def _purge_table(self, table: str) -> int:
        query = f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} WHERE expires_at <= ? LIMIT ?)"
        question = (self._clock(), PURGE_BATCH)
        removed = batch = self._run(lambda connection: connection.execute(query, question).rowcount)
        while batch == PURGE_BATCH:
            batch = self._run(lambda connection: connection.execute(query, question).rowcount)
            removed += batch
        return removed

    def _save_together(self, saves: Sequence[Save]) -> list[GodeXError | None]:
        return self._run(lambda connection: save_together(connection, saves))

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return off_hub(lambda: self._attempt(work))

    def _attempt(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with errors_of(self._path):
            for attempt in range(1, BUSY_ATTEMPTS + 1):
                try:
                    connection = self._take()
                    try:
                        result = work(connection)
                    except sqlite3.Error:
                        connection.close()  # whatever state it was in ends here
                        raise
                    except BaseException:
                        self._idle.append(connection)
                        raise
                    self._idle.append(connection)
                    return result
                except sqlite3.OperationalError as error:
                    if attempt == BUSY_ATTEMPTS or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                        raise
        raise AssertionError("unreachable")

    def _take(self) -> sqlite3.Connection:
        if self._pid != os.getpid():
            # SQLite forbids a child to use or close its parent's connections; kept, so that nothing closes them.
            self._inherited.append(self._idle)
            self._idle = deque()
            self._pid = os.getpid()
        try:
            return self._idle.pop()
        except IndexError:
            return connect(self._path)


@contextmanager
def errors_of(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        raise unavailable("sqlite", f"{path}: {error} ({name})") from error
