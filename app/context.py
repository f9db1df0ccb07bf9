"""All that one request carries, from the edge to the last stage."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bridge.errors import GodeXError
from bridge.plan.diagnostics import Diagnostics
from bridge.protocol.chat import ChatRequest
from bridge.request.build import Plan
from bridge.response.assemble import new_response
from bridge.response.contract import answer_text
from bridge.spec import Usage
from bridge.stream.turn import Turn
from providers.registry import Provider

from .ids import new_item_id
from .resolver import Target
from .sessions.session import make_session

if TYPE_CHECKING:
    from .gateway import Gateway


class ClientGone(BaseException):
    """Nobody reads the answer any more. Not an Exception: no stage may take it for a failure of the response."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. owner: hash of the API key, "" where the gateway is open; key: what they sent, for passthrough."""

    owner: str = ""
    name: str = ""
    key: str = field(default="", repr=False)


@dataclass(slots=True)
class ResponsesContext:
    """Made by pipelines/exchange.prepare once everything about the request is decided.

    stored        the response is to be saved (store is not false)
    compacts      the answer is one sealed summary of the conversation
    wants_report  the reply carries its diagnostics in full
    error         what failed the response, for callers that need more than its `error` object
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
    stored: bool
    compacts: bool
    wants_report: bool
    created_at: int
    started: float
    turn: Turn = field(init=False)
    error: BaseException | None = None
    interrupted: GodeXError | None = None
    first_event: float | None = None
    cancel: Callable[[], None] = field(default=lambda: None)

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
            new_id=new_item_id,
            now=lambda: int(time.time()),
            seal=self.seal if sealed else None,
            raw=self.gateway.config.reasoning.stream == "raw",
            spent=spent,
        )

    def interrupt(self, error: GodeXError) -> None:
        """End a running answer as failed. Returns at once; from any thread or greenlet."""
        self.interrupted = error
        self.cancel()

    def save(self, response: dict[str, Any]) -> None:
        """Store the response. Raises SessionError where the store cannot take it."""
        self.gateway.store.save(make_session(self.request, response, self.caller.owner))

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
