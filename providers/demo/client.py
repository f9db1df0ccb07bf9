"""The demo model behind the interface of every other client: whole answers, and streams with small pauses."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from bridge.protocol.chat import ChatChunk, ChatRequest, ChatResponse
from bridge.spec import ProviderSpec
from providers.demo.model import Answer, answer, pieces
from providers.settings import ClientSettings

PAUSE = 0.02  # seconds between two words of a stream


class DemoStream:
    """Members as in transport.ChatStream."""

    body: ChatResponse | None = None
    skipped = 0

    def __init__(self, chunks: Iterator[ChatChunk], request_id: str, pause: float) -> None:
        self.request_id = request_id
        self.done = False
        self._chunks = chunks
        self._pause = pause
        self._cancelled = threading.Event()

    @property
    def cancelled(self) -> bool:
        return self._cancelled.is_set()

    def batches(self) -> Iterator[list[ChatChunk]]:
        for chunk in self._chunks:
            if self._cancelled.wait(self._pause):
                return
            yield [chunk]
        self.done = True

    def __iter__(self) -> Iterator[ChatChunk]:
        return chain.from_iterable(self.batches())

    def cancel(self) -> None:
        self._cancelled.set()

    def close(self) -> None:
        """Nothing is held."""


class DemoClient:
    def __init__(self, name: str = "demo", pause: float = PAUSE) -> None:
        self.name = name
        self._pause = pause

    def complete(self, request: ChatRequest, headers: Mapping[str, str] | None = None) -> ChatResponse:
        made = answer(request)
        message: dict[str, Any] = {"role": "assistant", "content": made.text or None}
        if made.reasoning:
            message["reasoning_content"] = made.reasoning
        if made.call:
            call_id, name, arguments = made.call
            call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            message["tool_calls"] = [call]
        choice = {"index": 0, "message": message, "finish_reason": made.finish}
        return {**_head(made, request, "chat.completion"), "choices": [choice], "usage": made.usage}  # type: ignore[typeddict-item]

    def open_stream(self, request: ChatRequest, headers: Mapping[str, str] | None = None) -> DemoStream:
        made = answer(request)
        return DemoStream(_chunks(made, request), made.id, self._pause)

    def close(self) -> None:
        """Nothing is held."""


def connect(name: str, spec: ProviderSpec, settings: ClientSettings) -> DemoClient:
    """For the registry. The settings are about a network that is not there."""
    return DemoClient(name)


def _chunks(made: Answer, request: ChatRequest) -> Iterator[ChatChunk]:
    head = _head(made, request, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish: str | None = None) -> ChatChunk:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}  # type: ignore[typeddict-item]

    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces(made.reasoning):
        yield chunk({"reasoning_content": piece})
    for piece in pieces(made.text):
        yield chunk({"content": piece})
    if made.call:
        call_id, name, arguments = made.call
        yield chunk(
            {
                "tool_calls": [
                    {"index": 0, "id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
                ]
            }
        )
        for start in range(0, len(arguments), 12):
            yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": arguments[start : start + 12]}}]})
    yield chunk({}, made.finish)
    if (request.get("stream_options") or {}).get("include_usage"):
        yield {**head, "choices": [], "usage": made.usage}  # type: ignore[typeddict-item]


def _head(made: Answer, request: ChatRequest, kind: str) -> dict[str, Any]:
    return {"id": made.id, "object": kind, "created": int(time.time()), "model": request.get("model") or "demo-1"}
