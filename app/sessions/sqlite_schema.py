"""The tables of the SQLite file, how older files get them, and connections that have them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..private_file import make_private_file

BUSY_TIMEOUT = 1.0  # seconds that SQLite waits for another process's lock

# PRAGMA user_version counts those that a file has seen. Released ones are never edited, only added to. Times are Unix
# seconds.
MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE responses (
        id TEXT NOT NULL PRIMARY KEY,
        previous_response_id TEXT,
        owner TEXT NOT NULL,
        expires_at REAL NOT NULL,
        renewed_at REAL NOT NULL,   -- when the turns before it last got their whole time to live
        record BLOB NOT NULL        -- last: the columns before it are read without it
    );
    CREATE INDEX responses_by_parent ON responses (previous_response_id) WHERE previous_response_id IS NOT NULL;
    CREATE INDEX responses_by_expiry ON responses (expires_at);
    CREATE TABLE settings (name TEXT NOT NULL PRIMARY KEY, value BLOB NOT NULL);
    """,
    """
    CREATE TABLE conversations (
        id TEXT NOT NULL PRIMARY KEY,
        owner TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        expires_at REAL NOT NULL,
        metadata BLOB NOT NULL
    );
    CREATE INDEX conversations_by_expiry ON conversations (expires_at);
    CREATE TABLE conversation_items (
        place INTEGER PRIMARY KEY,  -- order of arrival, over all conversations
        conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        id TEXT NOT NULL,
        record BLOB NOT NULL,
        UNIQUE (conversation_id, id)
    );
    CREATE TABLE memories (name TEXT NOT NULL PRIMARY KEY, expires_at REAL NOT NULL, value BLOB NOT NULL);
    CREATE INDEX memories_by_expiry ON memories (expires_at);
    """,
)


def connect(path: Path) -> sqlite3.Connection:
    """A connection to a file that has the present schema. Raises sqlite3.Error, OSError."""
    make_private_file(path)  # conversations are nobody else's business
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def migrate(connection: sqlite3.Connection) -> None:
    if schema_version(connection) < len(MIGRATIONS):
        with transaction(connection):
            present = schema_version(connection)  # asked again: another process may have been first
            for migration in MIGRATIONS[present:]:
                for statement in migration.split(";"):
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    if schema_version(connection) > len(MIGRATIONS):
        raise sqlite3.DatabaseError("the file was written by a newer version")


def schema_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, with the write lock taken at once: one taken later may be refused without waiting."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.execute("COMMIT")
