"""Removes a code fence around an answer that has to be JSON, while it streams.

Only used where the format was asked for by instruction: models then like to wrap the JSON, or to introduce it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from bridge.stream.deltas import Delta, EndDelta, FinishDelta, TextDelta, ToolCallDelta
from bridge.stream.logprobs import HeldLogprobs

FENCE = "```"
_CLOSING = re.compile(r"(?:\n`{0,3}|`{1,3})\s*\Z")
LONGEST_HEAD = 2000  # characters before the JSON that are taken for an introduction


class FenceFilter:
    """feed() and close() give the text without the fence: from the first bracket, quote or fenced line on, up to the
    closing fence. Text without any fence or bracket passes as it is, at the end."""

    __slots__ = ("_head", "_held", "_started", "_fenced", "_closed")

    def __init__(self) -> None:
        self._head: list[str] = []
        self._held = ""  # a tail that may turn out to be the closing fence
        self._started = False
        self._fenced = False
        self._closed = False

    def feed(self, text: str) -> str:
        if self._closed:
            return ""
        if self._started:
            return self._body(text)
        self._head.append(text)
        head = "".join(self._head)
        start = self._start_of_json(head)
        if start is None and len(head) > LONGEST_HEAD:
            start = 0  # no JSON in sight: hold nothing back any longer
        if start is None:
            return ""
        self._started = True
        self._head.clear()
        return self._body(head[start:])

    @property
    def holding(self) -> bool:
        return bool(self._head or self._held)

    def close(self) -> str:
        """The text in which no JSON began. What was held for a closing fence ends with the answer: it was one."""
        return "".join(self._head)

    def _start_of_json(self, head: str) -> int | None:
        fence = head.find(FENCE)
        bracket = min((place for place in (head.find("{"), head.find("[")) if place >= 0), default=-1)
        if fence >= 0 and (bracket < 0 or fence < bracket):
            line_end = head.find("\n", fence)
            start = bracket if bracket >= 0 and (line_end < 0 or bracket < line_end) else line_end + 1
            self._fenced = start > 0
            return start if self._fenced else None
        if bracket >= 0:
            return bracket
        first = head.lstrip()[:1]
        # A scalar answer ("x", 12, true) has no bracket to wait for.
        return 0 if first and (first in '"-0123456789' or head.strip() in ("true", "false", "null")) else None

    def _body(self, text: str) -> str:
        if not self._fenced:
            return text
        text = self._held + text
        end = text.find("\n" + FENCE)
        if end >= 0:
            self._closed = True
            self._held = ""
            return text[:end]
        keep = _possible_fence(text)
        self._held = text[len(text) - keep :] if keep else ""
        return text[: len(text) - keep]


def _possible_fence(text: str) -> int:
    """How many characters at the end may be the beginning of a closing fence, or one on the JSON's own line that ends
    the answer."""
    tail = _CLOSING.search(text)
    return len(text) - tail.start() if tail else 0


def without_fences(deltas: Iterable[Delta]) -> Iterator[Delta]:
    """The same deltas, the fence of the text removed; held text goes out before anything that ends the text."""
    fences, logprobs = FenceFilter(), HeldLogprobs()
    spoken = False
    for delta in deltas:
        if isinstance(delta, TextDelta):
            spoken = True
            text = fences.feed(delta.text)
            beside = logprobs.beside(len(text), delta, fences.holding)
            if text:
                yield TextDelta(text, beside)
            continue
        if spoken and isinstance(delta, (FinishDelta, EndDelta, ToolCallDelta)):
            yield from _rest(fences, logprobs)
            fences, spoken = FenceFilter(), False
        yield delta
    yield from _rest(fences, logprobs)


def _rest(fences: FenceFilter, logprobs: HeldLogprobs) -> Iterator[Delta]:
    text = fences.close()
    beside = logprobs.beside(len(text), None, False)
    if text:
        yield TextDelta(text, beside)
