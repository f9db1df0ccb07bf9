"""Conversations in the SQLite file of the sessions (its tables are in sqlite_schema.py)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from .conversations import (
    Contents,
    Conversation,
    ConversationStore,
    Entry,
    decode_metadata,
    encode_entry,
    encode_metadata,
    readable_contents,
    taken,
)
from .sqlite_schema import transaction

T = TypeVar("T")

FIND = "SELECT created_at, metadata FROM conversations WHERE id = :id AND owner = :owner AND expires_at > :now"
RENEW = "UPDATE conversations SET expires_at = :expires_at WHERE id = :id AND owner = :owner AND expires_at > :now"


class Run(Protocol):
    """Does the work with a connection of its own, off the gevent hub. Raises SessionError STORE_UNAVAILABLE."""

    def __call__(self, work: Callable[[sqlite3.Connection], T]) -> T: ...


class SqliteConversations(ConversationStore):
    def __init__(self, run: Run, *, ttl: float, clock: Callable[[], float]) -> None:
        self._run = run
        self._ttl = ttl
        self._clock = clock

    def create(self, conversation: Conversation, entries: Sequence[Entry]) -> None:
        row = {
            **self._question(conversation.id, conversation.owner),
            "created_at": conversation.created_at,
            "metadata": encode_metadata(conversation.metadata),
        }
        items = [{"conversation": conversation.id, **item} for item in _rows(entries)]

        def write(connection: sqlite3.Connection) -> None:
            with transaction(connection):
                connection.execute(
                    """
                    INSERT INTO conversations (id, owner, created_at, expires_at, metadata)
                    VALUES (:id, :owner, :created_at, :expires_at, :metadata)
                    """,
                    row,
                )
                _insert(connection, items)

        self._run(write)

    def get(self, conversation_id: str, owner: str) -> Conversation | None:
        question = self._question(conversation_id, owner)
        row = self._run(lambda connection: connection.execute(FIND, question).fetchone())
        return _conversation(conversation_id, owner, row) if row else None

    def read(self, conversation_id: str, owner: str) -> Contents | None:
        question = self._question(conversation_id, owner)

        def look(connection: sqlite3.Connection) -> tuple[Any, list[bytes]]:
            items = "SELECT record FROM conversation_items WHERE conversation_id = :id ORDER BY place"
            row = connection.execute(FIND, question).fetchone()
            return row, [record for (record,) in connection.execute(items, question)] if row else []

        row, records = self._run(look)
        return readable_contents(_conversation(conversation_id, owner, row), records) if row else None

    def update(self, conversation_id: str, owner: str, metadata: dict[str, str]) -> Conversation | None:
        question = {**self._question(conversation_id, owner), "metadata": encode_metadata(metadata)}

        def write(connection: sqlite3.Connection) -> Any:
            with transaction(connection):
                if connection.execute(RENEW, question).rowcount:
                    connection.execute("UPDATE conversations SET metadata = :metadata WHERE id = :id", question)
                return connection.execute(FIND, question).fetchone()

        row = self._run(write)
        return _conversation(conversation_id, owner, row) if row else None

    def append(self, conversation_id: str, owner: str, entries: Sequence[Entry]) -> bool:
        question = self._question(conversation_id, owner)
        items = [{"conversation": conversation_id, **item} for item in _rows(entries)]

        def write(connection: sqlite3.Connection) -> bool:
            with transaction(connection):
                if connection.execute(RENEW, question).rowcount == 0:
                    return False
                known = "SELECT record FROM conversation_items WHERE conversation_id = :conversation AND id = :id"
                fresh = []
                for item in items:
                    present = connection.execute(known, item).fetchone()
                    if present is None:
                        fresh.append(item)
                    elif present[0] != item["record"]:
                        raise taken(conversation_id, item["id"])
                _insert(connection, fresh)
                return True

        return self._run(write)

    def remove(self, conversation_id: str, owner: str, item_id: str) -> bool:
        question = {**self._question(conversation_id, owner), "item": item_id}

        def write(connection: sqlite3.Connection) -> bool:
            with transaction(connection):
                if connection.execute(RENEW, question).rowcount == 0:
                    return False
                gone = "DELETE FROM conversation_items WHERE conversation_id = :id AND id = :item"
                return connection.execute(gone, question).rowcount > 0

        return self._run(write)

    def delete(self, conversation_id: str, owner: str) -> bool:
        gone = "DELETE FROM conversations WHERE id = :id AND owner = :owner AND expires_at > :now"
        question = self._question(conversation_id, owner)
        return self._run(lambda connection: connection.execute(gone, question).rowcount) > 0

    def _question(self, conversation_id: str, owner: str) -> dict[str, Any]:
        now = self._clock()
        return {"id": conversation_id, "owner": owner, "now": now, "expires_at": now + self._ttl}


def _insert(connection: sqlite3.Connection, items: Sequence[dict[str, Any]]) -> None:
    """The place that SQLite gives is the highest so far plus one, and the write lock is ours: order is arrival."""
    connection.executemany(
        "INSERT INTO conversation_items (conversation_id, id, record) VALUES (:conversation, :id, :record)", items
    )


def _rows(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    return [{"id": entry.item["id"], "record": encode_entry(entry)} for entry in entries]


def _conversation(conversation_id: str, owner: str, row: tuple[int, bytes]) -> Conversation:
    created_at, metadata = row
    return Conversation(id=conversation_id, created_at=created_at, metadata=decode_metadata(metadata), owner=owner)
