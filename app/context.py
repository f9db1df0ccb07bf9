"""All that one request carries, from the edge to the last stage."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from bridge.errors import GodeXError, SessionError
from bridge.plan.diagnostics import Diagnostics
from bridge.protocol.chat import ChatRequest
from bridge.request.build import Plan
from bridge.response.assemble import new_response
from bridge.response.contract import answer_text
from bridge.spec import Usage
from bridge.stream.turn import Turn
from providers.registry import Provider

from .config.model import KeyLimits
from .ids import new_item_id
from .logs import fields
from .resolver import Target
from .sessions.chain import input_items
from .sessions.conversations import Entry
from .sessions.ids import item_id
from .sessions.items import turn_items
from .sessions.session import make_session

if TYPE_CHECKING:
    from .gateway import Gateway
    from .limits.limiter import Admission

log = logging.getLogger("godex")


class ClientGone(BaseException):
    """Nobody reads the answer any more. Not an Exception: no stage may take it for a failure of the response."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. owner: hash of the API key, "" where the gateway is open; key: what they sent, for passthrough."""

    owner: str = ""
    name: str = ""
    limits: KeyLimits = KeyLimits()
    key: str = field(default="", repr=False)


@dataclass(slots=True)
class ResponsesContext:
    """Made by pipelines/exchange.prepare once everything about the request is decided.

    stored        the response is to be saved (store is not false)
    chat          what the upstream is asked now
    full_chat     what it is asked for the answer, as long as `chat` asks it for a summary to go on from
    summary       from which the answer goes on
    compacts      the answer is one sealed summary of the conversation
    conversation_id        of the conversation that the turn is added to when it has ended
    standing_instructions  those in effect that the request itself does not give
    wants_report  the reply carries its diagnostics in full
    calls         how often the upstream was asked for this answer
    full_length   estimated tokens of the request before it was shortened, 0 as long as it was not
    shortened     how often a refusal for length was answered with a shorter request
    admission     the caller's limits, to be told what the answer used
    span          of the upstream call, see spans.py
    error         what failed the response, for callers that need more than its `error` object
    cancel        stops the upstream's stream, from any thread; close_stream lets go of it, for the side that reads it
    interrupted   why the gateway itself ends the response before the upstream does
    """

    gateway: Gateway
    caller: Caller
    request: dict[str, Any]
    request_id: str
    response_id: str
    target: Target
    provider: Provider
    plan: Plan
    chat: ChatRequest
    full_chat: ChatRequest | None
    stored: bool
    compacts: bool
    conversation_id: str | None
    standing_instructions: str | None
    wants_report: bool
    created_at: int
    started: float
    turn: Turn = field(init=False)
    calls: int = 0
    summary: str | None = None
    full_length: int = 0
    shortened: int = 0
    _items_made: Iterator[int] = field(default_factory=count)
    admission: Admission | None = None
    span: Any = None
    error: BaseException | None = None
    interrupted: GodeXError | None = None
    first_event: float | None = None
    cancel: Callable[[], None] = field(default=lambda: None)
    close_stream: Callable[[], None] = field(default=lambda: None)

    def __post_init__(self) -> None:
        self.turn = self._new_turn(None)

    @property
    def notes(self) -> Diagnostics:
        return self.plan.notes

    @property
    def passthrough(self) -> bool:
        """The upstream is called with the key that the client sent."""
        return self.gateway.config.providers[self.target.provider].credentials.passthrough

    @property
    def streams(self) -> bool:
        return bool(self.request.get("stream"))

    def ask_instead(self, chat: ChatRequest) -> None:
        """The summary is there, or there will be none: what follows is the answer."""
        self.chat, self.full_chat = chat, None
        self.full_length = self.shortened = 0

    def ask_again(self, error: GodeXError) -> None:
        """Put a faulty answer and what is wrong with it before the model; the next turn has the same response id."""
        faulty = answer_text(self.turn.output) or "(no text)"
        self.chat = {
            **self.chat,
            "messages": [
                *self.chat["messages"],
                {"role": "assistant", "content": faulty},
                {"role": "user", "content": f"{error.message}. Give the corrected answer and nothing else."},
            ],
        }
        self.notes.repaired("output", f"the model was asked again: {error.message}")
        self.turn = self._new_turn(self.turn.total_usage)

    def _new_turn(self, spent: Usage | None) -> Turn:
        """A fresh accumulator for this response: no items yet."""
        response = new_response(
            self.request, response_id=self.response_id, created_at=self.created_at, stored=self.stored
        )
        sealed = "reasoning.encrypted_content" in (self.request.get("include") or ())
        return Turn(
            response,
            self.plan.tools,
            self.plan.notes,
            new_id=self._new_id,
            now=lambda: int(time.time()),
            seal=self.seal if sealed else None,
            raw=self.gateway.config.reasoning.stream == "raw",
            spent=spent,
        )

    def interrupt(self, error: GodeXError) -> None:
        """End a running answer as failed. Returns at once; from any thread or greenlet."""
        self.interrupted = error
        self.cancel()

    def _new_id(self, prefix: str) -> str:
        """Items are found by their ids, which carry the response's; those of calls also go to the provider."""
        return new_item_id(prefix) if prefix == "call" else item_id(prefix, self.response_id, next(self._items_made))

    def save(self, response: dict[str, Any]) -> None:
        """Store the response, and its turn in the conversation. Raises SessionError where the store cannot take it."""
        store, owner = self.gateway.store, self.caller.owner
        compacted = any(item["type"] == "compaction" for item in response["output"])
        session = make_session(self.request, response, owner, self.standing_instructions if compacted else None)
        store.save(session)
        if self.conversation_id is None or not self._continues(response):
            return
        items = [*turn_items(input_items(session.request), self.response_id), *response["output"]]
        try:
            added = store.conversations.add_turn(
                self.conversation_id, owner, [Entry(item, self.response_id) for item in items]
            )
        except SessionError:
            with suppress(SessionError):  # no response without its turn: the client is told that it failed
                store.delete(self.response_id, owner)
            raise
        if not added:
            log.warning("the conversation is gone", extra=fields(self.log_fields(), conversation=self.conversation_id))

    def _continues(self, response: dict[str, Any]) -> bool:
        """Whether later turns may go on from this response: the same for chains and conversations."""
        may_be_incomplete = self.gateway.config.session.include_incomplete
        return response["status"] == "completed" or (may_be_incomplete and response["status"] == "incomplete")

    def log_fields(self) -> dict[str, Any]:
        return {
            "request_id": self.request_id,
            "response_id": self.response_id,
            "provider": self.target.provider,
            "model": self.target.model,
            "stream": self.streams,
        }

    def milliseconds(self, moment: float | None) -> float | None:
        """Since the request arrived; moment is a reading of time.monotonic()."""
        return None if moment is None else round((moment - self.started) * 1000, 1)

    def seal(self, payload: dict[str, Any]) -> str:
        return self.gateway.sealer.seal(payload, self.caller.owner)
