"""What every client offers, whether it asks an upstream over HTTP (transport.py) or answers by itself (demo/)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from bridge.protocol.chat import ChatChunk, ChatRequest, ChatResponse


class Stream(Protocol):
    """An accepted streaming call; transport.ChatStream says what each member means."""

    request_id: str

    @property
    def done(self) -> bool: ...
    @property
    def body(self) -> ChatResponse | None: ...
    @property
    def skipped(self) -> int: ...
    @property
    def cancelled(self) -> bool: ...

    def batches(self) -> Iterator[list[ChatChunk]]: ...
    def __iter__(self) -> Iterator[ChatChunk]: ...
    def cancel(self) -> None: ...
    def close(self) -> None: ...


class Client(Protocol):
    """Safe to use from many threads or greenlets. Both calls raise ProviderError."""

    name: str

    def complete(self, request: ChatRequest, headers: Mapping[str, str] | None = None) -> ChatResponse: ...
    def open_stream(self, request: ChatRequest, headers: Mapping[str, str] | None = None) -> Stream: ...
    def close(self) -> None: ...
