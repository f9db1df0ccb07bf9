"""What a request is about: the items of the turns before it, instructions, and its own input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bridge.errors import CHAIN_NOT_FOUND, CONVERSATION_NOT_FOUND, INVALID_PARAMETER, ServerError, SessionError

from ..context import Caller
from ..sessions.chain import flatten_turns, input_items, instruction_items
from ..sessions.conversations import Entry
from ..sessions.ids import is_conversation_id
from ..sessions.items import listed_items
from ..sessions.session import Item, StoredResponseSession
from .references import resolved

if TYPE_CHECKING:
    from ..gateway import Gateway

Known = Mapping[str, StoredResponseSession]


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """items            history, instructions, input, in the order in which the model is to see them
    first_input      index of the first item that is the request's own input
    own              that input; references to stored items are replaced by the items
    standing         instructions in effect that the request itself does not give
    conversation_id  of the conversation that the request names
    """

    items: list[Item]
    first_input: int
    own: list[Item]
    standing: str | None = None
    conversation_id: str | None = None


def read_history(gateway: Gateway, request: dict[str, Any], caller: Caller, known: Known | None = None) -> History:
    """request: a validated body. known: responses that the caller's connection remembers, stored or not.

    Raises ServerError or SessionError for what cannot be continued.
    """
    own = input_items(request)  # type: ignore[arg-type]  # a validated body has the snapshot's fields
    conversation_id = conversation_of(request)
    if "previous_response_id" in request:
        if conversation_id is not None:
            raise ServerError(
                INVALID_PARAMETER,
                "previous_response_id and conversation exclude each other; send one of them",
                param="previous_response_id",
            )
        return _after_response(gateway, request, own, caller, known or {})
    if conversation_id is not None:
        return _in_conversation(gateway, request, own, caller, conversation_id)
    if request.get("input") is None:
        hint = "; messages are Chat Completions' way of saying it" if "messages" in request else ""
        raise ServerError(INVALID_PARAMETER, f"input is required{hint}", param="input")
    own = resolved(own, (), gateway.store, caller.owner, known or {})
    before = instruction_items(request.get("instructions"))
    return History(items=[*before, *own], first_input=len(before), own=own)


def conversation_of(request: Mapping[str, Any]) -> str | None:
    """The id in `conversation`, which is a string or an object."""
    named = request.get("conversation")
    return named["id"] if isinstance(named, dict) else named


def inherited_items(gateway: Gateway, session: StoredResponseSession) -> list[Item]:
    """What the model was given before the input of this stored response, except instructions.

    Items of a conversation that is gone are not.
    """
    owner = session.owner
    if session.previous_response_id is None:
        return _items(_entries_before(gateway, session, owner) or ())
    turns = _chain(gateway, session.previous_response_id, owner, {})
    items = _items(_entries_before(gateway, turns[0], owner) or ())
    for turn in turns:
        items += listed_items(turn)
        items += turn.response["output"]
    return items


def _after_response(
    gateway: Gateway, request: dict[str, Any], own: list[Item], caller: Caller, known: Known
) -> History:
    previous = request["previous_response_id"]
    turns = _chain(gateway, previous, caller.owner, known)
    entries = _entries_before(gateway, turns[0], caller.owner)
    if entries is None:
        raise SessionError(
            CHAIN_NOT_FOUND,
            "The previous response cannot be continued: it belonged to a conversation that is gone.",
            param="previous_response_id",
            responseId=turns[0].id,
            previousResponseId=previous,
        )
    rule = gateway.config.session.instructions
    history = flatten_turns(turns, rule)
    before = [*_items(entries), *history.items]
    present = instruction_items(request.get("instructions"))
    if rule == "current":
        before = [*present, *before]
    elif request.get("instructions") != history.instructions:  # those in effect are not said again
        before = [*before, *present]
    own = resolved(own, before, gateway.store, caller.owner, {**known, **{turn.id: turn for turn in turns}})
    return History(items=[*before, *own], first_input=len(before), own=own, standing=history.instructions)


def _in_conversation(
    gateway: Gateway, request: dict[str, Any], own: list[Item], caller: Caller, conversation_id: str
) -> History:
    """Instructions are no part of a conversation: those of the request stand at the front."""
    found = None
    if is_conversation_id(conversation_id):
        found = gateway.store.conversations.read(conversation_id, caller.owner)
    if found is None:
        raise conversation_not_found(conversation_id, "conversation")
    before = [*instruction_items(request.get("instructions")), *_items(_since_compaction(found.entries))]
    own = resolved(own, (entry.item for entry in found.entries), gateway.store, caller.owner, {})
    return History(items=[*before, *own], first_input=len(before), own=own, conversation_id=conversation_id)


def conversation_not_found(conversation_id: str, param: str) -> ServerError:
    return ServerError(
        CONVERSATION_NOT_FOUND, f"no conversation with id {ascii(conversation_id[:80])} is stored", param=param
    )


def _chain(gateway: Gateway, previous: str, owner: str, known: Known) -> list[StoredResponseSession]:
    settings = gateway.config.session
    return gateway.store.resolve_chain(
        previous,
        owner=owner,
        max_depth=settings.max_depth,
        include_incomplete=settings.include_incomplete,
        known=known,
    ).turns


def _entries_before(gateway: Gateway, turn: StoredResponseSession, owner: str) -> list[Entry] | None:
    """What its conversation held before a turn that does not continue another: nothing where it had none.

    None when that cannot be told any more, because the conversation or the turn's place in it is gone.
    """
    conversation_id = turn.conversation_id
    if turn.previous_response_id is not None or conversation_id is None or not is_conversation_id(conversation_id):
        return []
    found = gateway.store.conversations.read(conversation_id, owner)
    places = [place for place, entry in enumerate(found.entries if found else ()) if entry.response_id == turn.id]
    return _since_compaction(found.entries[: places[0]]) if found and places else None


def _since_compaction(entries: list[Entry]) -> list[Entry]:
    """A compaction that a response made stands for everything before it."""
    places = [
        place for place, entry in enumerate(entries) if entry.response_id and entry.item.get("type") == "compaction"
    ]
    return entries[places[-1] :] if places else entries


def _items(entries: Iterable[Entry]) -> list[Item]:
    return [entry.item for entry in entries]
