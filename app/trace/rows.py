"""What the trace keeps: four kinds of rows, all with the ids that tie them together.

request  what was asked: by the client (Responses), of the upstream (Chat Completions)
usage    the tokens of an answer
event    what was said: by the upstream (chunks), to the client (Responses events)
error    what went wrong, with its domain code
"""

from __future__ import annotations

import hashlib
import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import orjson

from bridge.errors import GodeXError
from bridge.stream.numbering import Event

from .redact import Redact

if TYPE_CHECKING:
    from ..context import ResponsesContext

Kind = Literal["request", "usage", "event", "error"]
Side = Literal["client", "upstream"]

CLIENT_GONE: Final = "client_disconnected"  # event_name of the end of a response whose client left
CHUNK: Final = "chunk"  # event_name of what an upstream says

PIECE: Final = 2047  # bytes
LONG: Final = 64 * 1024  # bytes

_numbers = itertools.count()


@dataclass(slots=True, kw_only=True)
class Row:
    """created_at: Unix seconds. size and sha256 are those of the whole payload as JSON, kept also where it is not."""

    kind: Kind
    created_at: float
    request_id: str
    response_id: str
    provider: str
    model: str
    caller: str  # the name of the API key
    side: Side | None = None
    stream: bool | None = None
    event_name: str | None = None
    sequence: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    error_type: str | None = None
    domain: str | None = None
    code: str | None = None
    message: str | None = None
    status: int | None = None  # HTTP, of the upstream
    size: int | None = None  # bytes
    sha256: str | None = None
    payload: Any = None  # JSON data until encode(), then text or None
    number: int = field(default_factory=_numbers.__next__)  # order within this process
    encoded: bool = False

    def encode(self, redact: Redact | None) -> None:
        """Payload → size, hash and, where it is to be kept (redact is given), text without keys and images."""
        if self.encoded:
            return
        self.encoded = True
        if self.payload is None:
            return
        text = _dumps(self.payload)
        self.size, self.sha256 = len(text), _sha256(text)
        self.payload = None if redact is None else _dumps(redact(self.payload)).decode()


COMMON: Final = ("kind", "created_at", "request_id", "response_id", "provider", "model", "caller")
# kind → the columns that it has beside the common ones
COLUMNS_OF: Final[dict[Kind, tuple[str, ...]]] = {
    "request": ("side", "stream", "size", "sha256", "payload"),
    "usage": ("input_tokens", "output_tokens", "total_tokens", "cached_tokens", "reasoning_tokens"),
    "event": ("side", "event_name", "sequence", "size", "sha256", "payload"),
    "error": ("event_name", "error_type", "domain", "code", "message", "status", "size", "sha256", "payload"),
}
COLUMNS: Final = (*COMMON, *dict.fromkeys(column for columns in COLUMNS_OF.values() for column in columns))


def _sha256(text: bytes) -> str:
    """Of a short text in pieces: from 2,048 bytes on hashlib lets go of the interpreter's lock, and getting it back
    from a busy worker takes longer than the hash."""
    if len(text) > LONG:
        return hashlib.sha256(text).hexdigest()
    digest = hashlib.sha256()
    for start in range(0, len(text), PIECE):
        digest.update(text[start : start + PIECE])
    return digest.hexdigest()


def _dumps(payload: Any) -> bytes:
    try:
        return orjson.dumps(payload, default=str, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:  # lone surrogates, numbers above 64 bit
        return json.dumps(payload, default=str).encode()


def _row(kind: Kind, context: ResponsesContext, **columns: Any) -> Row:
    return Row(
        kind=kind,
        created_at=time.time(),
        request_id=context.request_id,
        response_id=context.response_id,
        provider=context.target.provider,
        model=context.target.model,
        caller=context.caller.name,
        **columns,
    )


def request_rows(context: ResponsesContext, *, again: bool) -> Iterator[Row]:
    """again: the upstream is asked once more for the same answer."""
    if not again:
        yield _row("request", context, side="client", stream=context.streams, payload=context.request)
    yield _row("request", context, side="upstream", stream=bool(context.chat.get("stream")), payload=context.chat)


def chunk_row(context: ResponsesContext, chunk: Any) -> Row:
    return _row("event", context, side="upstream", event_name=CHUNK, payload=chunk)


def event_row(context: ResponsesContext, event: Event, *, whole: bool) -> Row:
    """whole: with its payload."""
    return _row(
        "event",
        context,
        side="client",
        event_name=event["type"],
        sequence=event["sequence_number"],
        payload=event if whole else None,
    )


def end_rows(context: ResponsesContext, response: dict[str, Any] | None) -> Iterator[Row]:
    """response: as it ended; None when its client left."""
    if response is None:
        yield _row("event", context, side="client", event_name=CLIENT_GONE)
        return
    if context.error is not None:
        yield error_row(context, context.error, "response.failed")
    usage = response["usage"]
    if usage is not None:
        yield _row(
            "usage",
            context,
            input_tokens=usage["input_tokens"],
            output_tokens=usage["output_tokens"],
            total_tokens=usage["total_tokens"],
            cached_tokens=(usage.get("input_tokens_details") or {}).get("cached_tokens"),
            reasoning_tokens=(usage.get("output_tokens_details") or {}).get("reasoning_tokens"),
        )


def error_row(context: ResponsesContext, error: BaseException, event_name: str) -> Row:
    known = isinstance(error, GodeXError)
    told = error.context if isinstance(error, GodeXError) else {}
    status = told.get("status")
    return _row(
        "error",
        context,
        event_name=event_name,
        error_type=type(error).__name__,
        domain=error.domain if isinstance(error, GodeXError) else None,
        code=error.code if isinstance(error, GodeXError) else None,
        message=error.message if isinstance(error, GodeXError) else repr(error),
        status=status if isinstance(status, int) else None,
        payload=told if known and told else None,
    )
