"""Server-sent events out of bytes that are cut anywhere.

sseclient-py is the reader. Events of one plain `data: …` line, which is nearly all of them, need none: a property test
holds that both ways give the same data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from sseclient import SSEClient

from bridge.errors import UPSTREAM_INVALID_RESPONSE, ProviderError

LONGEST_EVENT: Final = 16 * 1024 * 1024  # bytes; what has no blank line behind it yet is kept in memory
BOM: Final = b"\xef\xbb\xbf"
# Line ends may be mixed. A CR that is the last byte so far counts as one: if an LF follows, the next event merely
# begins with an empty line.
_BLANK_LINE: Final = re.compile(rb"(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)")


class EventBuffer:
    """Feed it what arrives, it gives back whole events. `rest` is what has no blank line behind it."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._end = b""  # the last bytes of the parts: a blank line may be cut, too

    @property
    def rest(self) -> bytes:
        return b"".join(self._parts)

    def feed(self, data: bytes) -> bytes:
        """Everything up to the last blank line; b"" when there is none yet.

        Raises ProviderError (UPSTREAM_INVALID_RESPONSE) when one event grows past LONGEST_EVENT.
        """
        if self._parts:
            if _end_of_events(self._end + data) < 0:
                return self._keep(data)
            data = b"".join([*self._parts, data])
            self._parts.clear()
            self._size = 0
        end = _end_of_events(data)
        if end < 0:
            return self._keep(data)
        if end < len(data):
            self._keep(data[end:])
        return data[:end]

    def _keep(self, data: bytes) -> bytes:
        self._parts.append(data)
        self._size += len(data)
        self._end = (self._end + data)[-3:] if len(self._parts) > 1 else data[-3:]
        if self._size > LONGEST_EVENT:
            raise ProviderError(
                UPSTREAM_INVALID_RESPONSE, f"the upstream sent one event of more than {LONGEST_EVENT >> 20} MB"
            )
        return b""


def plain_data(events: bytes) -> list[bytes]:
    """Whole events → pieces of which each is the data of one event, if all of them are plain `data: …` lines.

    A piece that is not has more than that in it; events_data() reads it, with b"data: " put back before it.
    """
    if b"\r" in events:
        events = events.replace(b"\r\n", b"\n")
    if events.startswith(b"data: ") and b"\r" not in events:
        return events[6:].split(b"\n\ndata: ")
    return []


def events_data(events: bytes) -> Iterator[str]:
    """The data of each event, in whatever framing. What is not UTF-8 in it reads as U+FFFD: a character, not an event,
    is lost."""
    for block in _BLANK_LINE.split(events):
        sound = block.decode("utf-8", "replace").encode()
        yield from (event.data for event in SSEClient(iter([sound])).events())


def _end_of_events(data: bytes) -> int:
    """Behind the last blank line; -1 when there is none."""
    if b"\r" not in data:
        end = data.rfind(b"\n\n")
        return end + 2 if end >= 0 else -1
    end = -1
    for match in _BLANK_LINE.finditer(data):
        end = match.end()
    return end
