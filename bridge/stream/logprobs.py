"""Logprobs of text that passes a filter which holds text back and takes some out."""

from __future__ import annotations

from typing import Any

from bridge.stream.deltas import TextDelta

Logprobs = tuple[dict[str, Any], ...]


class HeldLogprobs:
    """Logprobs wait while text is held, and go out with the last of it.

    They tell of tokens: where a part of the text was taken out, those of all that was under way are dropped. A filter
    adds no text, so counting tells what it left whole.
    """

    __slots__ = ("_waiting", "_missing")

    def __init__(self) -> None:
        self._waiting: list[dict[str, Any]] = []
        self._missing = 0  # characters that went in and did not come out

    def beside(self, said: int, taken: TextDelta | None, holding: bool) -> Logprobs:
        """Those to send with the `said` characters that came out when `taken` (None: the end of the text) went in."""
        if taken is not None:
            self._waiting.extend(taken.logprobs)
            self._missing += len(taken.text)
        self._missing -= said
        if holding:
            return ()
        logprobs = () if self._missing else tuple(self._waiting)
        self._waiting.clear()
        self._missing = 0
        return logprobs
