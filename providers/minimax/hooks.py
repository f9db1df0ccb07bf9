"""How MiniMax's wire differs: reasoning on request, failures inside a 200, flags for filtered content."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from bridge.protocol.chat import ChatChunk, ChatRequest, ChatResponse
from bridge.spec import UpstreamFault
from bridge.stream.deltas import Delta, FinishDelta
from providers import chat, error_shapes
from providers.minimax.protocol import MiniMaxChunk
from providers.thinking import thinks

# What the numbers mean, as words that providers/fault_words.py knows.
ERROR_WORDS = {
    **dict.fromkeys((1000, 1013, 1024, 1033), "server_error"),
    1001: "timeout",
    **dict.fromkeys((1002, 1041), "rate_limit_exceeded"),
    **dict.fromkeys((1004, 2049), "authentication_error"),
    1008: "insufficient_quota",
    **dict.fromkeys((1026, 1027), "content_filter"),
    1039: "context_length_exceeded",
    2013: "invalid_request_error",
}


def patch_request(request: ChatRequest) -> ChatRequest:
    patched = {**request, "reasoning_split": True}  # else the reasoning stands in the text, between think tags
    switch = thinks(request)
    if switch is not None:
        patched["thinking"] = {"type": "adaptive" if switch else "disabled"}
    return patched


def read_deltas(chunk: ChatChunk) -> Iterable[Delta]:
    return _told_if_filtered(chunk, chat.read_deltas(chunk))


def read_response(body: ChatResponse) -> Iterable[Delta]:
    return _told_if_filtered(body, chat.read_response(body))


def _told_if_filtered(said: ChatChunk | ChatResponse, deltas: Iterable[Delta]) -> Iterable[Delta]:
    """The end of a filtered answer says "stop" like any other: only a flag tells."""
    if cast(MiniMaxChunk, said).get("output_sensitive"):
        return [FinishDelta("content_filter") if isinstance(delta, FinishDelta) else delta for delta in deltas]
    return deltas


def read_error(value: Any) -> UpstreamFault | None:
    base = value.get("base_resp") if isinstance(value, dict) else None
    if isinstance(base, dict) and base.get("status_code"):
        code = base["status_code"]
        word = ERROR_WORDS.get(code, "") if isinstance(code, int) else ""
        return UpstreamFault(message=str(base.get("status_msg") or ""), type=word, code=str(code))
    return error_shapes.read_error(value)
