"""Where the pipeline reports what happened to a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from bridge.protocol.chat import ChatChunk, ChatResponse
from bridge.stream.numbering import Event

if TYPE_CHECKING:
    from ..context import ResponsesContext


class Recorder(Protocol):
    """What the stages tell. No method blocks or raises: a trace never costs a client its answer."""

    def request(self, context: ResponsesContext) -> None:
        """The chat request goes up."""

    def chunk(self, context: ResponsesContext, chunk: ChatChunk | ChatResponse) -> None:
        """The upstream said this."""

    def event(self, context: ResponsesContext, event: Event) -> None:
        """The client hears this."""

    def finished(self, context: ResponsesContext, response: dict[str, Any] | None) -> None:
        """The response ended; None: its client left."""

    def close(self) -> None: ...


class NullRecorder:
    """Records nothing."""

    def request(self, context: ResponsesContext) -> None:
        pass

    def chunk(self, context: ResponsesContext, chunk: ChatChunk | ChatResponse) -> None:
        pass

    def event(self, context: ResponsesContext, event: Event) -> None:
        pass

    def finished(self, context: ResponsesContext, response: dict[str, Any] | None) -> None:
        pass

    def close(self) -> None:
        pass
