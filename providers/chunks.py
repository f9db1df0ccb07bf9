"""The body of an answer → parsed chunks, a list for each read: what arrived together is handed on together."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import orjson

from bridge.errors import UPSTREAM_CUT, UPSTREAM_INVALID_RESPONSE, ProviderError
from bridge.protocol.chat import ChatChunk, ChatResponse
from bridge.spec import UpstreamFault
from providers.faults import fault_error
from providers.json_text import parse_json
from providers.masking import mask
from providers.sse import BOM, EventBuffer, events_data, plain_data

LARGEST_BODY: Final = 64 * 1024 * 1024  # bytes of an answer that is no stream
MOST_BROKEN: Final = 3  # broken chunks of one stream that are passed over


class ChunkReader:
    """Reads one body that was asked for as a stream.

    done     [DONE] came; without it a stream has ended in order only if there was a finish reason
    body     the upstream answered with one JSON object in place of a stream; then there are no chunks
    skipped  chunks that were no JSON objects and were passed over, because others came after them
    """

    def __init__(
        self,
        provider: str,
        reads: Iterable[bytes],
        read_error: Callable[[Any], UpstreamFault | None],
        secrets: tuple[str, ...] = (),
    ) -> None:
        self.done = False
        self.body: ChatResponse | None = None
        self.skipped = 0
        self._provider = provider
        self._reads = iter(reads)
        self._read_error = read_error
        self._secrets = secrets
        self._broken_last = False  # nothing good has come since the last broken chunk

    def batches(self) -> Iterator[list[ChatChunk]]:
        """Raises ProviderError: a fault in the stream, a stream that breaks off (UPSTREAM_CUT), garbage."""
        data = self._opening()
        if data.lstrip()[:1] in (b"{", b"[", b"<", b'"'):  # no field of an event begins like this
            whole = itertools.chain([data], self._reads)
            self.body = read_body(self._provider, whole, self._read_error, self._secrets)
            return
        events = EventBuffer()
        while data:
            batch: list[ChatChunk] = []
            error = self._parse(events.feed(data), batch)
            if batch:
                yield batch
            if error is not None:
                raise error
            if self.done:
                return
            data = next(self._reads, b"")
        batch = []
        error = self._parse(events.rest, batch)
        if batch:
            yield batch
        if self._broken_last and error is None and not self.done:
            error = ProviderError(
                UPSTREAM_CUT, f"the stream from {self._provider} broke off inside a chunk", provider=self._provider
            )
        if error is not None:
            raise error

    def _opening(self) -> bytes:
        """The first bytes, without the BOM, up to one that tells what they are."""
        opening = b""
        for data in self._reads:
            opening += data
            if not BOM.startswith(opening) and opening.removeprefix(BOM).strip():
                break
        return opening.removeprefix(BOM)

    def _parse(self, events: bytes, batch: list[ChatChunk]) -> ProviderError | None:
        """Append the chunks in these events to the batch, up to [DONE] or to the error that is returned."""
        pieces = plain_data(events)
        if not pieces:
            return self._parse_odd(events, batch)
        read_error, loads = self._read_error, orjson.loads
        chunk: Any
        for piece in pieces:
            try:
                chunk = loads(piece)
            except orjson.JSONDecodeError:
                chunk = None
            if chunk.__class__ is dict and read_error(chunk) is None:
                batch.append(chunk)  # type: ignore[arg-type]  # JSON is not checked against the TypedDict
                self._broken_last = False
                continue
            error = self._parse_odd(b"data: " + piece, batch)
            if error is not None or self.done:
                return error
        return None

    def _parse_odd(self, events: bytes, batch: list[ChatChunk]) -> ProviderError | None:
        for data in events_data(events):
            if not data.strip():
                continue
            if data.strip() == "[DONE]":
                self.done = True
                return None
            chunk = parse_json(data)
            if not isinstance(chunk, dict):
                self._broken_last = True
                self.skipped += 1
                if self.skipped > MOST_BROKEN:
                    return _garbage(self._provider, f"{self.skipped} chunks of its stream are no JSON objects", b"")
                continue
            self._broken_last = False
            fault = self._read_error(chunk)
            if fault is not None:
                return fault_error(self._provider, fault, secrets=self._secrets)
            batch.append(chunk)  # type: ignore[arg-type]
        return None


def read_body(
    provider: str,
    reads: Iterable[bytes],
    read_error: Callable[[Any], UpstreamFault | None],
    secrets: tuple[str, ...] = (),
) -> ChatResponse:
    """One whole JSON answer. Raises ProviderError: the fault that it is, UPSTREAM_INVALID_RESPONSE for all else."""
    data = joined(provider, reads, LARGEST_BODY)
    value = parse_json(data.removeprefix(BOM))
    fault = read_error(value)
    if fault is not None:
        raise fault_error(provider, fault, secrets=secrets)
    if not isinstance(value, dict) or not isinstance(value.get("choices"), list):
        what = "no JSON" if value is None else "no Chat Completions object"
        raise _garbage(provider, f"its answer is {what}", data, secrets)
    return value  # type: ignore[return-value]


def joined(provider: str, reads: Iterable[bytes], limit: int) -> bytes:
    """All of a body in one piece. Raises ProviderError (UPSTREAM_INVALID_RESPONSE) past `limit` bytes."""
    parts: list[bytes] = []
    size = 0
    for data in reads:
        parts.append(data)
        size += len(data)
        if size > limit:
            raise _garbage(provider, f"its answer has more than {limit >> 20} MB", b"")
    return b"".join(parts)


def _garbage(provider: str, what: str, data: bytes, secrets: tuple[str, ...] = ()) -> ProviderError:
    begins = mask(data[:200].decode("utf-8", "replace"), secrets)
    return ProviderError(
        UPSTREAM_INVALID_RESPONSE, f"{provider} sent something unusable: {what}", provider=provider, begins=begins
    )
