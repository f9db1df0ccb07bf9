"""Conversations in the memory of one process."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .conversations import Contents, Conversation, ConversationStore, Entry, encode_entry, readable_contents, taken
from .store import unavailable


@dataclass(slots=True)
class _Kept:
    conversation: Conversation
    records: dict[str, bytes]  # item id → entry, in order
    expires_at: float

    @property
    def size(self) -> int:
        return sum(map(len, self.records.values()))


class MemoryConversations(ConversationStore):
    """At most `max_count` conversations and `max_bytes` of items; those not used for longest make room for others."""

    def __init__(self, *, ttl: float, max_count: int, max_bytes: int, clock: Callable[[], float]) -> None:
        self._ttl = ttl
        self._max_count = max_count
        self._max_bytes = max_bytes
        self._clock = clock
        self._kept: OrderedDict[str, _Kept] = OrderedDict()  # the one used last stands last
        self._bytes = 0
        self._lock = threading.RLock()

    def create(self, conversation: Conversation, entries: Sequence[Entry]) -> None:
        records = _records(entries)
        self._refuse_oversize(records)
        with self._lock:
            kept = _Kept(conversation, records, self._clock() + self._ttl)
            self._kept[conversation.id] = kept
            self._bytes += kept.size
            self._make_room()

    def get(self, conversation_id: str, owner: str) -> Conversation | None:
        with self._lock:
            kept = self._live(conversation_id, owner)
            return kept.conversation if kept else None

    def read(self, conversation_id: str, owner: str) -> Contents | None:
        with self._lock:
            kept = self._live(conversation_id, owner)
            if kept is None:
                return None
            self._kept.move_to_end(conversation_id)
            conversation, records = kept.conversation, list(kept.records.values())
        return readable_contents(conversation, records)

    def update(self, conversation_id: str, owner: str, metadata: dict[str, str]) -> Conversation | None:
        with self._lock:
            kept = self._live(conversation_id, owner)
            if kept is None:
                return None
            kept.conversation = replace(kept.conversation, metadata=metadata)
            self._used(kept)
            return kept.conversation

    def append(self, conversation_id: str, owner: str, entries: Sequence[Entry]) -> bool:
        records = _records(entries)
        with self._lock:
            kept = self._live(conversation_id, owner)
            if kept is None:
                return False
            for item_id, record in records.items():
                if kept.records.get(item_id, record) != record:
                    raise taken(conversation_id, item_id)
            fresh = {item_id: record for item_id, record in records.items() if item_id not in kept.records}
            self._refuse_oversize({**kept.records, **fresh})
            kept.records |= fresh
            self._bytes += sum(map(len, fresh.values()))
            self._used(kept)
            self._make_room()
            return True

    def remove(self, conversation_id: str, owner: str, item_id: str) -> bool:
        with self._lock:
            kept = self._live(conversation_id, owner)
            record = kept.records.pop(item_id, None) if kept else None
            if kept is None or record is None:
                return False
            self._bytes -= len(record)
            self._used(kept)
            return True

    def delete(self, conversation_id: str, owner: str) -> bool:
        with self._lock:
            return self._live(conversation_id, owner) is not None and self._drop(conversation_id)

    def purge(self) -> int:
        with self._lock:
            now = self._clock()
            return sum([self._drop(one) for one, kept in list(self._kept.items()) if kept.expires_at <= now])

    def _live(self, conversation_id: str, owner: str) -> _Kept | None:
        kept = self._kept.get(conversation_id)
        if kept is not None and kept.expires_at <= self._clock():
            self._drop(conversation_id)
            return None
        return kept if kept is not None and kept.conversation.owner == owner else None

    def _used(self, kept: _Kept) -> None:
        kept.expires_at = self._clock() + self._ttl
        self._kept.move_to_end(kept.conversation.id)

    def _drop(self, conversation_id: str) -> bool:
        kept = self._kept.pop(conversation_id, None)
        if kept is not None:
            self._bytes -= kept.size
        return kept is not None

    def _make_room(self) -> None:
        while len(self._kept) > self._max_count or self._bytes > self._max_bytes:
            self._drop(next(iter(self._kept)))

    def _refuse_oversize(self, records: dict[str, bytes]) -> None:
        size = sum(map(len, records.values()))
        if size > self._max_bytes:
            raise unavailable("memory", f"a conversation of {size} bytes is larger than the whole store")


def _records(entries: Sequence[Entry]) -> dict[str, bytes]:
    return {entry.item["id"]: encode_entry(entry) for entry in entries}
