"""Saves of several responses as one transaction of few statements (why few: sqlite_insert.py)."""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from bridge.errors import GodeXError

from ..sqlite_insert import insert
from .session import StoredResponseSession
from .sqlite_schema import transaction
from .store import MAX_RENEWED, UNSET, Occupant, Unset, refuse_conflict

COLUMNS = "(id, previous_response_id, owner, expires_at, renewed_at, record)"
REPLACE = f"INSERT OR REPLACE INTO responses {COLUMNS}"

RENEW = """
    WITH RECURSIVE chain (id, previous_response_id, depth) AS (
        SELECT id, previous_response_id, 1 FROM responses WHERE id = :id
        UNION ALL
        SELECT turn.id, turn.previous_response_id, depth + 1
        FROM chain JOIN responses AS turn ON turn.id = chain.previous_response_id
        WHERE depth < :limit AND turn.expires_at > :now
    )
    UPDATE responses SET expires_at = :expires_at, renewed_at = :now WHERE id IN (SELECT id FROM chain)
"""


@dataclass(frozen=True, slots=True)
class Save:
    """As `SessionStore.save` is asked for it; now and ttl in seconds."""

    session: StoredResponseSession
    record: bytes
    overwrite: bool
    expected_previous_response_id: str | None | Unset
    now: float
    ttl: float


@dataclass(frozen=True, slots=True)
class _Present:
    """What stands under an id."""

    occupant: Occupant
    expires_at: float
    renewed_at: float


def save_together(connection: sqlite3.Connection, saves: Sequence[Save]) -> list[GodeXError | None]:
    """For each save None, or why it was refused, which leaves the others alone."""
    if _insert_new(connection, saves):
        return [None] * len(saves)
    return _save_in_turn(connection, saves)


def _insert_new(connection: sqlite3.Connection, saves: Sequence[Save]) -> bool:
    """The usual case in one or two statements: all ids are new, nothing is expected of what stands there, and no chain
    is due for renewal. False: it is not that case, and nothing was done."""
    parents = [save.session.previous_response_id for save in saves if save.session.previous_response_id is not None]
    own = {save.session.id for save in saves}
    if not own.isdisjoint(parents) or any(save.expected_previous_response_id is not UNSET for save in saves):
        return False
    renewed = {one: there.renewed_at for one, there in _present(connection, parents).items()} if parents else {}
    rows: list[object] = []
    for save in saves:
        renewed_at = renewed.get(save.session.previous_response_id or "", save.now)
        if _due(renewed_at, save):
            return False
        rows += _row(save, renewed_at)
    try:
        connection.execute(_insert(len(saves)), rows)  # a transaction of its own: all of them or none
    except sqlite3.IntegrityError:
        return False
    return True


@functools.cache
def _insert(count: int) -> str:
    return f"INSERT INTO responses {COLUMNS} VALUES {', '.join(['(?, ?, ?, ?, ?, ?)'] * count)}"


def _save_in_turn(connection: sqlite3.Connection, saves: Sequence[Save]) -> list[GodeXError | None]:
    refusals: list[GodeXError | None] = []
    rows: list[tuple[object, ...]] = []
    ids = [one for save in saves for one in (save.session.id, save.session.previous_response_id) if one is not None]
    with transaction(connection):
        present = _present(connection, ids)
        for save in saves:
            session = save.session
            try:
                there = present.get(session.id)
                refuse_conflict(
                    session,
                    there.occupant if there is not None and there.expires_at > save.now else None,
                    overwrite=save.overwrite,
                    expected_previous_response_id=save.expected_previous_response_id,
                )
            except GodeXError as refusal:
                refusals.append(refusal)
                continue
            refusals.append(None)
            # A turn takes over its parent's renewed_at, so that one look tells whether the whole chain is due.
            parent = present.get(session.previous_response_id or "")
            renewed_at = parent.renewed_at if parent is not None else save.now
            rows.append(_row(save, renewed_at))
            occupant = Occupant(session.owner, session.previous_response_id)
            present[session.id] = _Present(occupant, save.now + save.ttl, renewed_at)
            if _due(renewed_at, save):  # rare, and it changes what the next saves meet
                insert(connection, REPLACE, rows)
                rows.clear()
                question = {"id": session.id, "limit": MAX_RENEWED, "expires_at": save.now + save.ttl, "now": save.now}
                connection.execute(RENEW, question)
                present = _present(connection, ids)
        insert(connection, REPLACE, rows)
    return refusals


def _due(renewed_at: float, save: Save) -> bool:
    return renewed_at < save.now - save.ttl / 10


def _present(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, _Present]:
    """What is stored already of these responses; ids: one at least."""
    count = 1 << (len(ids) - 1).bit_length()  # a power of two, as in sqlite_insert
    query = "SELECT id, owner, previous_response_id, expires_at, renewed_at FROM responses WHERE id IN "
    rows = connection.execute(f"{query} ({', '.join('?' * count)})", [*ids, *[""] * (count - len(ids))]).fetchall()
    return {row[0]: _Present(Occupant(row[1], row[2]), row[3], row[4]) for row in rows}


def _row(save: Save, renewed_at: float) -> tuple[object, ...]:
    session = save.session
    return session.id, session.previous_response_id, session.owner, save.now + save.ttl, renewed_at, save.record
