"""Conversations in Redis: one hash each, so that all of one is read in one round trip and expires at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any, Protocol, TypeVar

import zstandard

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
from .redis_compression import compressed, decompressed

T = TypeVar("T")

APPEND = files(__package__).joinpath("append.lua").read_text()
# Both check the owner in the same step: a hash must not come back to life by a write that follows its deletion.
UPDATE = """
    if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return false end
    local written = redis.pcall('HSET', KEYS[1], 'metadata', ARGV[3])
    if type(written) == 'table' then return written end
    redis.call('EXPIRE', KEYS[1], ARGV[2])
    return redis.call('HGET', KEYS[1], 'created_at')
"""
REMOVE = """
    if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
    local removed = redis.pcall('HDEL', KEYS[1], ARGV[3])
    if type(removed) == 'table' then return removed end
    redis.call('EXPIRE', KEYS[1], ARGV[2])
    return removed
"""

PLACE_SIZE = 4  # bytes in front of an entry


class Ask(Protocol):
    """The server's answer to a question that may be asked twice. Raises SessionError STORE_UNAVAILABLE."""

    def __call__(self, question: Callable[[Any], T]) -> T: ...


class RedisConversations(ConversationStore):
    def __init__(self, ask: Ask, *, prefix: str, ttl: int) -> None:
        self._ask = ask
        self._prefix = prefix
        self._ttl = ttl

    def create(self, conversation: Conversation, entries: Sequence[Entry]) -> None:
        head = (str(conversation.created_at), encode_metadata(conversation.metadata))
        self._append(conversation.id, conversation.owner, head, entries)

    def get(self, conversation_id: str, owner: str) -> Conversation | None:
        names = ("owner", "created_at", "metadata")
        values = self._ask(lambda client: client.hmget(self._key(conversation_id), names))
        return _conversation(conversation_id, owner, dict(zip(names, values, strict=True)))

    def read(self, conversation_id: str, owner: str) -> Contents | None:
        found: dict[bytes, bytes] = self._ask(lambda client: client.hgetall(self._key(conversation_id)))
        head = {name.decode(): value for name, value in found.items() if not name.startswith(b"i:")}
        conversation = _conversation(conversation_id, owner, head)
        if conversation is None:
            return None
        decompressor = zstandard.ZstdDecompressor()
        values = sorted(value for name, value in found.items() if name.startswith(b"i:"))  # places are big-endian
        return readable_contents(conversation, [decompressed(value[PLACE_SIZE:], decompressor) for value in values])

    def update(self, conversation_id: str, owner: str, metadata: dict[str, str]) -> Conversation | None:
        record = encode_metadata(metadata)
        created_at = self._ask(
            lambda client: client.eval(UPDATE, 1, self._key(conversation_id), owner, self._ttl, record)
        )
        if created_at is None:
            return None
        return Conversation(id=conversation_id, created_at=int(created_at), metadata=metadata, owner=owner)

    def append(self, conversation_id: str, owner: str, entries: Sequence[Entry]) -> bool:
        return self._append(conversation_id, owner, ("", b""), entries)

    def remove(self, conversation_id: str, owner: str, item_id: str) -> bool:
        key, field = self._key(conversation_id), f"i:{item_id}"
        return bool(self._ask(lambda client: client.eval(REMOVE, 1, key, owner, self._ttl, field)))

    def delete(self, conversation_id: str, owner: str) -> bool:
        key = self._key(conversation_id)

        def unlink(client: Any) -> bool:
            found = client.hget(key, "owner")  # which never changes
            return found == owner.encode() and client.unlink(key) > 0

        return self._ask(unlink)

    def _append(self, conversation_id: str, owner: str, head: tuple[str, bytes], entries: Sequence[Entry]) -> bool:
        pairs = [part for entry in entries for part in (entry.item["id"], compressed(encode_entry(entry)))]
        key = self._key(conversation_id)
        answer = self._ask(lambda client: client.eval(APPEND, 1, key, owner, self._ttl, *head, *pairs))
        if isinstance(answer, bytes):
            raise taken(conversation_id, answer.decode())
        return bool(answer)

    def _key(self, conversation_id: str) -> str:
        return f"{self._prefix}:{conversation_id}"


def _conversation(conversation_id: str, owner: str, head: dict[str, Any]) -> Conversation | None:
    if head.get("owner") != owner.encode() or head.get("created_at") is None:
        return None
    return Conversation(
        id=conversation_id,
        created_at=int(head["created_at"]),
        metadata=decode_metadata(head["metadata"] or b""),
        owner=owner,
    )
