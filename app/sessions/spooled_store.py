"""A store whose writes wait in a spool while it is away."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bridge.errors import STORE_CONFLICT, STORE_UNAVAILABLE, SessionError

from ..logs import fields
from .conversations import Contents, Conversation, ConversationStore, Entry, encode_entry
from .ids import is_own_response_id
from .record import encode
from .session import StoredResponseSession
from .spool import LONGEST_WAIT, Spool, SpoolCounters, Waiting
from .store import LOG, UNSET, SessionStore, Unset, conflict, unavailable

T = TypeVar("T")

GRACE = 2 * LONGEST_WAIT  # seconds after the store was last seen away, for other processes to deliver what they hold
PAUSE = 1.0  # seconds after a failure, unless the store has answered since, in which writes that can wait do so at once


class SpooledStore(SessionStore):
    """A store in front of which failed saves of responses, and turns of conversations, wait.

    Reads look into the spool first, so that a client of this process can go on at once. A client of another process
    cannot see what waits here. For a short time after the store was away, therefore, what is not found in it is
    "unavailable", which clients try again, and not "not found", which they take for final.
    """

    def __init__(self, store: SessionStore, *, max_count: int, max_bytes: int) -> None:
        self._store = store
        self._spool = Spool(max_count=max_count, max_bytes=max_bytes)
        self._sight = _Sight(self._spool, store.ping)
        self.conversations = SpooledConversations(store.conversations, self._spool, self._sight)

    @property
    def counters(self) -> SpoolCounters:
        return self._spool.counters

    def get_many(self, response_ids: Iterable[str], owner: str) -> dict[str, StoredResponseSession]:
        wanted = list(response_ids)
        found = {response_id: session for response_id in wanted if (session := self._spooled(response_id, owner))}
        elsewhere = [response_id for response_id in wanted if response_id not in found]
        if elsewhere:
            found |= self._sight.of(lambda: self._store.get_many(elsewhere, owner))
        self._sight.doubt(response_id for response_id in wanted if response_id not in found)
        return found

    def ancestry(self, response_id: str, owner: str, limit: int) -> Mapping[str, StoredResponseSession]:
        session = self._spooled(response_id, owner)
        if session:
            return {response_id: session}
        found = self._sight.of(lambda: self._store.ancestry(response_id, owner, limit))
        if not found:
            self._sight.doubt([response_id])
        return found

    def save(
        self,
        session: StoredResponseSession,
        *,
        overwrite: bool = False,
        expected_previous_response_id: str | None | Unset = UNSET,
    ) -> None:
        """As any store's, but returns also when the store is away and the session waits."""

        def write() -> None:
            self._store.save(session, overwrite=overwrite, expected_previous_response_id=expected_previous_response_id)

        def send() -> bool:
            try:
                self._sight.of(write)
            except SessionError as error:
                if error.code != STORE_CONFLICT:
                    raise
                # The first attempt may have arrived, and only its answer been lost.
                if self._store.get(session.id, session.owner) != session:
                    LOG.error("response not stored", extra=fields(error.to_log_entry()))
                    return False
            return True

        waits_already = self._spool.get(session.id) is not None
        if waits_already and not overwrite:
            raise conflict(session, "is stored already")
        if not (waits_already or self._sight.away_just_now):  # nor may it overtake what it replaces
            try:
                return self._sight.of(write)
            except SessionError as error:
                if error.code != STORE_UNAVAILABLE:
                    raise
                LOG.warning("response not stored yet, it waits in the spool", extra=fields(error.to_log_entry()))
        self._spool.add(Waiting(session.id, session, len(encode(session)), send))

    def delete(self, response_id: str, owner: str) -> bool:
        if self._spooled(response_id, owner) is None:
            deleted = self._sight.of(lambda: self._store.delete(response_id, owner))
            if not deleted:
                self._sight.doubt([response_id])
            return deleted
        self._spool.remove(response_id)
        with self._spool.delivering:  # it may be on its way to the store just now
            self._sight.of(lambda: self._store.delete(response_id, owner))
        return True

    def list_children(self, response_id: str, owner: str) -> list[StoredResponseSession]:
        waiting = [one for one in self._spool.contents() if isinstance(one, StoredResponseSession)]
        children = self._sight.of(lambda: self._store.list_children(response_id, owner))
        found = {session.id: session for session in children}
        found |= {one.id: one for one in waiting if one.previous_response_id == response_id and one.owner == owner}
        return sorted(found.values(), key=lambda session: session.created_at)

    def setting(self, name: str, make: Callable[[], bytes]) -> bytes:
        return self._sight.of(lambda: self._store.setting(name, make))

    def remember(self, values: Mapping[str, bytes], ttl: float) -> None:
        if self._sight.away_just_now:
            raise unavailable("spool", "the store was away just now")
        self._sight.of(lambda: self._store.remember(values, ttl))

    def recall(self, names: Iterable[str]) -> dict[str, bytes]:
        if self._sight.away_just_now:
            raise unavailable("spool", "the store was away just now")
        return self._sight.of(lambda: self._store.recall(names))

    def ping(self) -> None:
        self._sight.of(self._store.ping)

    def purge(self) -> int:
        return self._sight.of(self._store.purge)

    def close(self, timeout: float = 5.0) -> None:
        """Deliver what still waits, for `timeout` seconds at most, then close the store."""
        self._spool.close(timeout)
        self._store.close(timeout)

    def _spooled(self, response_id: str, owner: str) -> StoredResponseSession | None:
        session = self._spool.get(response_id)
        return session if isinstance(session, StoredResponseSession) and session.owner == owner else None


@dataclass(frozen=True, slots=True)
class WaitingTurn:
    conversation_id: str
    owner: str
    entries: tuple[Entry, ...]


class SpooledConversations(ConversationStore):
    """Only turns of responses wait: a client that changes a conversation itself hears that the store is away."""

    def __init__(self, store: ConversationStore, spool: Spool, sight: _Sight) -> None:
        self._store = store
        self._spool = spool
        self._sight = sight

    def create(self, conversation: Conversation, entries: Sequence[Entry]) -> None:
        self._sight.of(lambda: self._store.create(conversation, entries))

    def get(self, conversation_id: str, owner: str) -> Conversation | None:
        return self._sight.of(lambda: self._store.get(conversation_id, owner))

    def read(self, conversation_id: str, owner: str) -> Contents | None:
        waiting = self._waiting(conversation_id, owner)  # first: what is delivered meanwhile is then in both
        found = self._sight.of(lambda: self._store.read(conversation_id, owner))
        if found is None:
            return None
        self._sight.doubt_all()
        known = {entry.item["id"] for entry in found.entries}
        missing = [entry for turn in waiting for entry in turn.entries if entry.item["id"] not in known]
        return Contents(found.conversation, [*found.entries, *missing])

    def update(self, conversation_id: str, owner: str, metadata: dict[str, str]) -> Conversation | None:
        return self._sight.of(lambda: self._store.update(conversation_id, owner, metadata))

    def append(self, conversation_id: str, owner: str, entries: Sequence[Entry]) -> bool:
        return self._sight.of(lambda: self._store.append(conversation_id, owner, entries))

    def remove(self, conversation_id: str, owner: str, item_id: str) -> bool:
        return self._sight.of(lambda: self._store.remove(conversation_id, owner, item_id))

    def delete(self, conversation_id: str, owner: str) -> bool:
        return self._sight.of(lambda: self._store.delete(conversation_id, owner))

    def add_turn(self, conversation_id: str, owner: str, entries: Sequence[Entry]) -> bool:
        turn = WaitingTurn(conversation_id, owner, tuple(entries))

        def send() -> bool:
            if self._sight.of(lambda: self._store.add_turn(conversation_id, owner, turn.entries)):
                return True
            LOG.warning("turn of a conversation that is gone", extra=fields(conversation_id=conversation_id))
            return False

        if not (self._sight.away_just_now or self._waiting(conversation_id, owner)):  # nor may it overtake other turns
            try:
                return self._sight.of(lambda: self._store.add_turn(conversation_id, owner, entries))
            except SessionError as error:
                if error.code != STORE_UNAVAILABLE:
                    raise
                LOG.warning("turn not stored yet, it waits in the spool", extra=fields(error.to_log_entry()))
        if entries:
            size = sum(len(encode_entry(entry)) for entry in entries)
            self._spool.add(Waiting(f"{conversation_id} {entries[0].item['id']}", turn, size, send))
        return True

    def _waiting(self, conversation_id: str, owner: str) -> list[WaitingTurn]:
        turns = [one for one in self._spool.contents() if isinstance(one, WaitingTurn)]
        return [turn for turn in turns if (turn.conversation_id, turn.owner) == (conversation_id, owner)]


class _Sight:
    """When this process last saw the store away, and whether it has answered since."""

    def __init__(self, spool: Spool, ping: Callable[[], None]) -> None:
        self._spool = spool
        self._ping = ping
        self._away_at: float | None = None  # reading of time.monotonic()
        self._answered_since = True

    @property
    def away_just_now(self) -> bool:
        """A write that waits although the store is back would be hidden from the other processes for nothing."""
        if self._answered_since or self._away_at is None:
            return False
        return time.monotonic() - self._away_at < PAUSE

    def of(self, ask: Callable[[], T]) -> T:
        try:
            answer = ask()
        except SessionError as error:
            if error.code == STORE_UNAVAILABLE:
                self._away_at = time.monotonic()
                self._answered_since = False
            raise
        self._answered_since = True
        self._spool.hurry()
        return answer

    def doubt(self, missing: Iterable[str]) -> None:
        """Raises SessionError STORE_UNAVAILABLE if one of these ids may belong to a response on its way."""
        if any(map(is_own_response_id, missing)):
            self.doubt_all()

    def doubt_all(self) -> None:
        """Raises SessionError STORE_UNAVAILABLE if something may be on its way.

        Another process may have failed to write where this one, which only read, has noticed nothing.
        """
        self.of(self._ping)
        if self._away_at is not None and time.monotonic() - self._away_at < GRACE:
            raise unavailable("spool", "the store was away; another process may still hold what is asked for")
