"""An estimate of a request's tokens, for upstreams that cannot count. Stated as an estimate wherever it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from bridge.protocol.chat import ChatRequest

# Tokenisers of today's models: about four characters of English or code a token, one to two of Chinese, Japanese or
# Korean. A message costs a few tokens of framing; a picture what OpenAI charges for one tile at high detail.
ASCII_PER_TOKEN = 4.0
OTHER_PER_TOKEN = 1.4
MESSAGE_TOKENS = 4
IMAGE_TOKENS = 765


def estimate_tokens(chat: ChatRequest) -> int:
    """Input tokens of a built chat request: messages and tool declarations."""
    total = sum(map(message_tokens, chat["messages"]))
    if chat.get("tools"):
        total += _text(orjson.dumps(chat["tools"]).decode())
    return round(total)


def message_tokens(message: Mapping[str, Any]) -> float:
    content = message.get("content")
    tokens = _text(content) if isinstance(content, str) else sum(map(_part, content or ()))
    tokens += MESSAGE_TOKENS + _text(message.get("reasoning_content") or message.get("reasoning") or "")
    if message.get("reasoning_details"):
        tokens += _text(orjson.dumps(message["reasoning_details"]).decode())
    for call in message.get("tool_calls") or ():
        tokens += MESSAGE_TOKENS + _text(call["function"]["name"]) + _text(call["function"]["arguments"])
    return tokens


def _part(part: dict[str, Any]) -> float:
    return _text(part["text"]) if part["type"] == "text" else IMAGE_TOKENS


def _text(text: str) -> float:
    ascii_length = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return ascii_length / ASCII_PER_TOKEN + (len(text) - ascii_length) / OTHER_PER_TOKEN
