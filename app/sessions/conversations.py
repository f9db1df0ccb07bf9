"""Conversations: items kept under one id, which responses read and add to."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bridge.errors import STORE_CONFLICT, SessionError

from ..logs import fields
from . import json_lines
from .session import Item

LOG = logging.getLogger("godex.sessions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """created_at in Unix seconds; owner: hash of the API key that made it, "" where the gateway is open."""

    id: str
    created_at: int
    metadata: dict[str, str]
    owner: str


@dataclass(frozen=True, slots=True)
class Entry:
    """An item of a conversation, which has an `id` that no other item there has.

    response_id: the response that it went into or came out of; None for an item that a client added by itself.
    """

    item: Item
    response_id: str | None = None


@dataclass(frozen=True, slots=True)
class Contents:
    """A whole conversation; its entries, oldest first."""

    conversation: Conversation
    entries: list[Entry]


class ConversationStore(Protocol):
    """Keeps conversations for a limited time, which each change of one renews.

    One of another owner is treated everywhere as if it were not there; so is one with an entry that cannot be read.
    Ids need not be checked before: what is no conversation's id is not found.

    Every method may raise SessionError(STORE_UNAVAILABLE).
    """

    @abstractmethod
    def create(self, conversation: Conversation, entries: Sequence[Entry]) -> None:
        """Store a new conversation, or nothing at all."""

    @abstractmethod
    def get(self, conversation_id: str, owner: str) -> Conversation | None: ...

    @abstractmethod
    def read(self, conversation_id: str, owner: str) -> Contents | None: ...

    @abstractmethod
    def update(self, conversation_id: str, owner: str, metadata: dict[str, str]) -> Conversation | None:
        """Replace the metadata. The conversation as it is now, or None when there is none."""

    @abstractmethod
    def append(self, conversation_id: str, owner: str, entries: Sequence[Entry]) -> bool:
        """Add all entries at the end, in this order and with nothing between them, or none of them.

        Entries that stand there already, exactly as they are, are not added again: a call whose answer was lost can be
        repeated. False when there is no such conversation.

        Raises SessionError(STORE_CONFLICT) when another item has one of the ids.
        """

    @abstractmethod
    def remove(self, conversation_id: str, owner: str, item_id: str) -> bool:
        """Whether there was such an item."""

    @abstractmethod
    def delete(self, conversation_id: str, owner: str) -> bool:
        """Remove the conversation and its items. Whether there was one."""

    def add_turn(self, conversation_id: str, owner: str, entries: Sequence[Entry]) -> bool:
        """As `append`, for a response that has ended: where writes may wait for a store that is away, this one does."""
        return self.append(conversation_id, owner, entries)


class CorruptEntry(ValueError):
    """These bytes are no entry."""


def encode_entry(entry: Entry) -> bytes:
    return json_lines.dumps({"response_id": entry.response_id, "item": entry.item})


def decode_entry(record: bytes) -> Entry:
    """Raises CorruptEntry."""
    try:
        value = json_lines.loads(record)
        entry = Entry(value["item"], value["response_id"])
        if not isinstance(entry.item["id"], str):
            raise TypeError("an item's id is no string")
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptEntry(f"{type(error).__name__}: {error}") from error
    return entry


def encode_metadata(metadata: dict[str, str]) -> bytes:
    return json_lines.dumps(metadata)


def decode_metadata(record: bytes) -> dict[str, str]:
    """Metadata that cannot be read is none: it is a label, and no reason to lose what it labels."""
    try:
        metadata: Any = json_lines.loads(record)
    except ValueError:
        return {}
    return metadata if isinstance(metadata, dict) else {}


def readable_contents(conversation: Conversation, records: Iterable[bytes]) -> Contents | None:
    """The conversation with these records, oldest first; None when one of them cannot be read, which is logged.

    Half a conversation is never shown: a model would answer from it as if it were the whole.
    """
    try:
        return Contents(conversation, [decode_entry(record) for record in records])
    except CorruptEntry as error:
        LOG.error(
            "stored conversation cannot be read", extra=fields(conversation_id=conversation.id, reason=str(error))
        )
        return None


def taken(conversation_id: str, item_id: str) -> SessionError:
    return SessionError(
        STORE_CONFLICT,
        f"Conversation '{conversation_id}' has another item with the id '{item_id}'.",
        conversation_id=conversation_id,
        item_id=item_id,
    )
