"""Replies of the fake upstream: how they are written in a test, and what they are on the wire."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

USAGE = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}


@dataclass(frozen=True)
class Answer:
    """One reply. Exactly one of `message`, `body` and `chunks` says what; the rest says how. Times are in seconds.

    message      a whole Chat Completions message, sent as JSON or as a stream, as the request asks
    body         dict, list → JSON; str, bytes → as it stands
    chunks       server-sent events: dict → one data line; str, bytes, {"base64": …} → raw; {"pause": seconds} → silence
    delay        before the head; `pause` before each chunk but the first
    stall        no head ever comes; `drop` closes the connection in its place
    stall_after  silence after so many chunks; `cut_after` closes the connection there, with `reset` by RST
    split        bytes per write
    framing      "chunked", or "close": the end of the body is the end of the connection
    """

    message: dict[str, Any] | None = None
    finish: str | None = None
    usage: dict[str, Any] | None = None
    body: Any = None
    chunks: tuple[Any, ...] | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    pause: float = 0.0
    stall: bool = False
    drop: bool = False
    stall_after: int | None = None
    cut_after: int | None = None
    reset: bool = False
    gzip: bool = False
    split: int | None = None
    crlf: bool = False
    done: bool = True
    framing: str = "chunked"


def answer(
    text: str | None = None,
    *,
    reasoning: str | None = None,
    calls: tuple[tuple[str, str, str], ...] = (),
    finish: str | None = None,
    usage: dict[str, Any] | None = USAGE,
    **how: Any,
) -> Answer:
    """A whole message; calls are (id, name, arguments)."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if reasoning is not None:
        message["reasoning_content"] = reasoning
    if calls:
        message["tool_calls"] = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for call_id, name, arguments in calls
        ]
    reason = finish or ("tool_calls" if calls else "stop")
    return Answer(message=message, finish=reason, usage=usage, **how)


def sse(*chunks: Any, **how: Any) -> Answer:
    return Answer(chunks=chunks, **how)


def body(value: Any, **how: Any) -> Answer:
    return Answer(body=value, **how)


def failure(status: int, message: str, *, code: Any = None, param: str | None = None, **how: Any) -> Answer:
    """An error in OpenAI's shape."""
    error = {"message": message, "type": "upstream_error", "param": param, "code": code}
    return Answer(status=status, body={"error": error}, **how)


def chunk(finish: str | None = None, usage: dict[str, Any] | None = None, **delta: Any) -> dict[str, Any]:
    """One `chat.completion.chunk`: chunk(content="Hi"), chunk(finish="stop"), chunk(usage={…}) without choices."""
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}] if delta or finish else []
    made: dict[str, Any] = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "choices": choices}
    return made if usage is None else made | {"usage": usage}


class Compressor:
    """gzip whose every write can be read at once."""

    def __init__(self) -> None:
        self._pieces = _Pieces()
        self._file = gzip.GzipFile(fileobj=self._pieces, mode="wb")

    def flushed(self, data: bytes) -> bytes:
        self._file.write(data)
        self._file.flush()
        return self._pieces.take()

    def end(self) -> bytes:
        self._file.close()
        return self._pieces.take()


class _Pieces:
    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""

    def take(self) -> bytes:
        taken = b"".join(self._parts)
        self._parts.clear()
        return taken


def wire(part: Any, crlf: bool) -> bytes:
    if isinstance(part, bytes):
        return part
    if isinstance(part, dict) and set(part) == {"base64"}:
        return base64.b64decode(part["base64"])
    text = part if isinstance(part, str) else f"data: {json.dumps(part, ensure_ascii=False)}\n\n"
    return (text.replace("\n", "\r\n") if crlf else text).encode("utf-8", "surrogatepass")


def whole(chosen: Answer, asked: dict[str, Any]) -> Answer:
    choice = {"index": 0, "message": chosen.message, "finish_reason": chosen.finish}
    made: dict[str, Any] = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "choices": [choice]}
    made["model"] = asked.get("model")
    if chosen.usage is not None:
        made["usage"] = chosen.usage
    return replace(chosen, message=None, body=made)


def streamed(chosen: Answer, asked: dict[str, Any]) -> Answer:
    return replace(chosen, message=None, chunks=tuple(_chunks_of(chosen, asked)))


def _chunks_of(chosen: Answer, asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
    message = chosen.message or {}
    yield chunk(role="assistant", content="")
    for name in ("reasoning_content", "content"):
        for word in re.findall(r"\s*\S+|\s+$", message.get(name) or ""):
            yield chunk(**{name: word})
    for index, call in enumerate(message.get("tool_calls") or ()):
        arguments = call["function"]["arguments"]
        half = len(arguments) // 2
        yield chunk(tool_calls=[{**call, "index": index, "function": {"name": call["function"]["name"]}}])
        for piece in (arguments[:half], arguments[half:]):
            yield chunk(tool_calls=[{"index": index, "function": {"arguments": piece}}])
    yield chunk(finish=chosen.finish)
    if chosen.usage is not None and (asked.get("stream_options") or {}).get("include_usage"):
        yield chunk(usage=chosen.usage)
