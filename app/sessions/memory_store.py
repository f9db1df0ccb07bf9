"""Sessions in the memory of one process: for tests, demos and a single worker."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from .memory_conversations import MemoryConversations
from .record import encode
from .session import StoredResponseSession
from .store import UNSET, Occupant, SessionStore, Unset, readable, refuse_conflict, unavailable


@dataclass(slots=True)
class _Entry:
    record: bytes  # bytes rather than objects: their size is known, and no reader can change what is stored
    occupant: Occupant
    expires_at: float


class MemoryStore(SessionStore):
    """At most `max_count` responses and `max_bytes` of records; those not used for longest make room for new ones.

    The same bounds hold once more for conversations, and for what is remembered.
    """

    def __init__(self, *, ttl: float, max_count: int, max_bytes: int, clock: Callable[[], float] = time.time) -> None:
        self._ttl = ttl
        self._max_count = max_count
        self._max_bytes = max_bytes
        self._clock = clock
        self._entries: OrderedDict[str, _Entry] = OrderedDict()  # the one used last stands last
        self._bytes = 0
        self._settings: dict[str, bytes] = {}
        self._memories: OrderedDict[str, tuple[bytes, float]] = OrderedDict()  # name → value, when it ends
        self._memory_bytes = 0
        self._lock = threading.RLock()
        self.conversations = MemoryConversations(ttl=ttl, max_count=max_count, max_bytes=max_bytes, clock=clock)

    def get_many(self, response_ids: Iterable[str], owner: str) -> dict[str, StoredResponseSession]:
        with self._lock:
            found = [(response_id, entry.record) for response_id in response_ids if (entry := self._live(response_id))]
        return readable(found, owner, check_rest=True)

    def ancestry(self, response_id: str, owner: str, limit: int) -> dict[str, StoredResponseSession]:
        with self._lock:
            found = [(link, entry.record) for link, entry in self._walk(response_id, limit)]
            for link, _ in reversed(found):
                self._entries.move_to_end(link)
        return readable(found, owner)

    def save(
        self,
        session: StoredResponseSession,
        *,
        overwrite: bool = False,
        expected_previous_response_id: str | None | Unset = UNSET,
    ) -> None:
        record = encode(session)
        if len(record) > self._max_bytes:
            raise unavailable("memory", f"a response of {len(record)} bytes is larger than the whole store")
        with self._lock:
            present = self._live(session.id)
            refuse_conflict(
                session,
                present.occupant if present else None,
                overwrite=overwrite,
                expected_previous_response_id=expected_previous_response_id,
            )
            self._remove(session.id)
            expires_at = self._clock() + self._ttl
            if session.previous_response_id:
                for _, entry in self._walk(session.previous_response_id, len(self._entries)):
                    entry.expires_at = expires_at
            occupant = Occupant(session.owner, session.previous_response_id)
            self._entries[session.id] = _Entry(record, occupant, expires_at)
            self._bytes += len(record)
            while len(self._entries) > self._max_count or self._bytes > self._max_bytes:
                self._remove(next(iter(self._entries)))

    def delete(self, response_id: str, owner: str) -> bool:
        with self._lock:
            entry = self._live(response_id)
            if entry is None or entry.occupant.owner != owner:
                return False
            self._remove(response_id)
            return True

    def list_children(self, response_id: str, owner: str) -> list[StoredResponseSession]:
        with self._lock:
            children = [
                link for link, entry in self._entries.items() if entry.occupant.previous_response_id == response_id
            ]
        found = self.get_many(children, owner).values()
        return sorted(found, key=lambda session: session.created_at)

    def setting(self, name: str, make: Callable[[], bytes]) -> bytes:
        with self._lock:
            if name not in self._settings:
                self._settings[name] = make()
            return self._settings[name]

    def remember(self, values: Mapping[str, bytes], ttl: float) -> None:
        with self._lock:
            for name, value in values.items():
                self._forget(name)
                self._memories[name] = (value, self._clock() + ttl)
                self._memory_bytes += len(value)
            while len(self._memories) > self._max_count or self._memory_bytes > self._max_bytes:
                self._forget(next(iter(self._memories)))

    def recall(self, names: Iterable[str]) -> dict[str, bytes]:
        with self._lock:
            now = self._clock()
            found = [(name, self._memories[name]) for name in names if name in self._memories]
            return {name: value for name, (value, expires_at) in found if expires_at > now}

    def ping(self) -> None:
        return

    def purge(self) -> int:
        with self._lock:
            now = self._clock()
            expired = [response_id for response_id, entry in self._entries.items() if entry.expires_at <= now]
            for response_id in expired:
                self._remove(response_id)
            forgotten = [name for name, (_, expires_at) in self._memories.items() if expires_at <= now]
            for name in forgotten:
                self._forget(name)
        return len(expired) + len(forgotten) + self.conversations.purge()

    def close(self, timeout: float = 5.0) -> None:
        return

    def _live(self, response_id: str) -> _Entry | None:
        entry = self._entries.get(response_id)
        if entry is not None and entry.expires_at <= self._clock():
            self._remove(response_id)
            return None
        return entry

    def _remove(self, response_id: str) -> None:
        if entry := self._entries.pop(response_id, None):
            self._bytes -= len(entry.record)

    def _forget(self, name: str) -> None:
        if known := self._memories.pop(name, None):
            self._memory_bytes -= len(known[0])

    def _walk(self, response_id: str, limit: int) -> Iterator[tuple[str, _Entry]]:
        """The entry and those before it, newest first, at most `limit` of them: a cycle ends as well."""
        link: str | None = response_id
        for _ in range(limit):
            entry = self._live(link) if link else None
            if link is None or entry is None:
                return
            yield link, entry
            link = entry.occupant.previous_response_id
