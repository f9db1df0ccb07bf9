"""Ids of what is stored.

A response's is `resp_`, 16 hex digits that name the chain, 32 that nobody can guess. All ids of a chain carry the same
tag, so that a Redis cluster keeps the chain on one node. The length is that of OpenAI's own ids. Ids of any other shape
(imported, or made by an older gateway) work as well: their tag is a hash.

An item's id carries the digits of its response, so that a reference to the item leads to the response without an index.
"""

from __future__ import annotations

import re
import secrets
from hashlib import blake2b

TAG_DIGITS = 16
SECRET_DIGITS = 32  # 128 bits: possession of an id is no right, but it must not be found by trying either

_OWN_SHAPE = re.compile(rf"resp_([0-9a-f]{{{TAG_DIGITS}}})([0-9a-f]{{{SECRET_DIGITS}}})")
_CONVERSATION = re.compile(r"conv_[0-9a-f]{48}")
_ITEM = re.compile(rf"[a-z]{{2,8}}_([0-9a-f]{{{TAG_DIGITS + SECRET_DIGITS}}})[0-9a-f]{{3,}}i?")
_STORABLE = re.compile(r"[\x21-\x7e]{1,256}")


def new_response_id(previous_response_id: str | None = None) -> str:
    """An id for a response that continues `previous_response_id`; for None, one that begins a chain."""
    tag = chain_tag(previous_response_id) if previous_response_id else secrets.token_hex(TAG_DIGITS // 2)
    return f"resp_{tag}{secrets.token_hex(SECRET_DIGITS // 2)}"


def chain_tag(response_id: str) -> str:
    """The 16 hex digits that this response shares with all that follow it."""
    if own := _OWN_SHAPE.fullmatch(response_id):
        return own[1]
    return blake2b(response_id.encode("utf-8", "surrogatepass"), digest_size=TAG_DIGITS // 2).hexdigest()


def is_storable(response_id: str) -> bool:
    """Whether a store may be asked for this id at all: clients send anything, also lone surrogates and megabytes."""
    return _STORABLE.fullmatch(response_id) is not None


def secret_part(response_id: str) -> bytes | None:
    """The 16 bytes behind the chain's tag; None for an id of another shape, which has no such part."""
    own = _OWN_SHAPE.fullmatch(response_id)
    return bytes.fromhex(own[2]) if own else None


def from_parts(tag: str, secret: bytes) -> str:
    """The id of which `chain_tag` and `secret_part` are these."""
    return f"resp_{tag}{secret.hex()}"


def is_own_response_id(response_id: str) -> bool:
    return _OWN_SHAPE.fullmatch(response_id) is not None


def new_conversation_id() -> str:
    return f"conv_{secrets.token_hex(24)}"


def is_conversation_id(conversation_id: str) -> bool:
    """Whether a store may be asked for it: no conversation has an id of another shape."""
    return _CONVERSATION.fullmatch(conversation_id) is not None


def item_id(prefix: str, response_id: str, number: int, *, of_input: bool = False) -> str:
    """The id of a response's item. number: counts the items of its output, or the places of its input."""
    own = _OWN_SHAPE.fullmatch(response_id)
    digits = (
        own[1] + own[2] if own else blake2b(response_id.encode("utf-8", "surrogatepass"), digest_size=24).hexdigest()
    )
    return f"{prefix}_{digits}{number:03x}{'i' if of_input else ''}"


def response_of_item(item_id: str) -> str | None:
    """The id of the response that this item went into or came out of, as far as the id tells."""
    own = _ITEM.fullmatch(item_id)
    return f"resp_{own[1]}" if own else None
