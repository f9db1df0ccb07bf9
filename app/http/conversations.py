"""/v1/conversations: lists of items that responses read and add to. What belongs to another key is not found."""

from __future__ import annotations

import time
from typing import Any

from flask import Response, request

from bridge.errors import CONVERSATION_ITEM_NOT_FOUND, INVALID_PARAMETER, ServerError

from ..ids import new_item_id
from ..pipelines.history import conversation_not_found
from ..pipelines.references import REFERENCE, resolved
from ..sessions.conversations import Conversation, ConversationStore, Entry
from ..sessions.ids import is_conversation_id, is_storable, new_conversation_id
from ..sessions.items import full_items, prefix
from ..sessions.session import Item
from .blueprint import api, caller, gateway
from .body import json_object
from .listing import item_list, page
from .replies import json_reply
from .responses import max_body_bytes
from .schemas import CreateConversation, CreateItems, UpdateConversation, load


@api.post("/conversations")
def create_conversation() -> Response:
    body = load(CreateConversation, json_object(request, max_body_bytes()) if _has_body() else {})
    conversation = Conversation(
        id=new_conversation_id(),
        created_at=int(time.time()),
        metadata=body.get("metadata") or {},
        owner=caller().owner,
    )
    _store().create(conversation, _entries(body.get("items") or []))
    return json_reply(_shown(conversation))


@api.get("/conversations/<conversation_id>")
def get_conversation(conversation_id: str) -> Response:
    return json_reply(_shown(_found(conversation_id)))


@api.post("/conversations/<conversation_id>")
def update_conversation(conversation_id: str) -> Response:
    """The metadata is replaced; null takes it away."""
    body = load(UpdateConversation, json_object(request, max_body_bytes()))
    _check_id(conversation_id)
    conversation = _store().update(conversation_id, caller().owner, body.get("metadata") or {})
    if conversation is None:
        raise _not_found(conversation_id)
    return json_reply(_shown(conversation))


@api.delete("/conversations/<conversation_id>")
def delete_conversation(conversation_id: str) -> Response:
    _check_id(conversation_id)
    if not _store().delete(conversation_id, caller().owner):
        raise _not_found(conversation_id)
    return json_reply({"id": conversation_id, "object": "conversation.deleted", "deleted": True})


@api.get("/conversations/<conversation_id>/items")
def list_items(conversation_id: str) -> Response:
    return json_reply(page(_items(conversation_id), request.args))


@api.post("/conversations/<conversation_id>/items")
def create_items(conversation_id: str) -> Response:
    """The items as they were added, in order: not the page of a list."""
    body = load(CreateItems, json_object(request, max_body_bytes()))
    _check_id(conversation_id)
    entries = _entries(body["items"])
    if not _store().append(conversation_id, caller().owner, entries):
        raise _not_found(conversation_id)
    return json_reply(item_list([entry.item for entry in entries], has_more=False))


@api.get("/conversations/<conversation_id>/items/<item_id>")
def get_item(conversation_id: str, item_id: str) -> Response:
    for item in _items(conversation_id):
        if item["id"] == item_id:
            return json_reply(item)
    raise _no_item(item_id)


@api.delete("/conversations/<conversation_id>/items/<item_id>")
def delete_item(conversation_id: str, item_id: str) -> Response:
    """Gives the conversation that the item was in."""
    conversation = _found(conversation_id)
    if not (is_storable(item_id) and _store().remove(conversation_id, caller().owner, item_id)):
        raise _no_item(item_id)
    return json_reply(_shown(conversation))


def _store() -> ConversationStore:
    return gateway().store.conversations


def _has_body() -> bool:
    """A conversation can be made without one."""
    return bool(request.content_length) or "Transfer-Encoding" in request.headers


def _entries(items: list[Item]) -> list[Entry]:
    """Items as they go into a conversation: in full form, under ids of their own, references replaced."""
    whole = resolved(items, (), gateway().store, caller().owner, {})
    for place, item in enumerate(whole):
        if item.get("type") == REFERENCE:
            path = f"items[{place}].id"
            raise ServerError(INVALID_PARAMETER, f"{path}: no stored item has this id; send the item", param=path)
    return [Entry(item) for item in full_items(whole, lambda item, kind, place: new_item_id(prefix(kind)))]


def _items(conversation_id: str) -> list[Item]:
    _check_id(conversation_id)
    found = _store().read(conversation_id, caller().owner)
    if found is None:
        raise _not_found(conversation_id)
    return [entry.item for entry in found.entries]


def _found(conversation_id: str) -> Conversation:
    _check_id(conversation_id)
    conversation = _store().get(conversation_id, caller().owner)
    if conversation is None:
        raise _not_found(conversation_id)
    return conversation


def _shown(conversation: Conversation) -> dict[str, Any]:
    return {
        "id": conversation.id,
        "object": "conversation",
        "created_at": conversation.created_at,
        "metadata": conversation.metadata,
    }


def _check_id(conversation_id: str) -> None:
    if not is_conversation_id(conversation_id):
        raise _not_found(conversation_id)


def _not_found(conversation_id: str) -> ServerError:
    return conversation_not_found(conversation_id, "conversation_id")


def _no_item(item_id: str) -> ServerError:
    return ServerError(
        CONVERSATION_ITEM_NOT_FOUND, f"the conversation has no item with id {ascii(item_id[:80])}", param="item_id"
    )
