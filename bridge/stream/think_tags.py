"""Turns thinking that stands in the text between tags into reasoning, however the tags are cut across chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bridge.stream.deltas import Delta, EndDelta, FinishDelta, ReasoningDelta, TextDelta, ToolCallDelta

Tags = tuple[tuple[str, tuple[str, ...]], ...]


class ThinkFilter:
    """feed() and close() give (text, is it thinking) pieces.

    tags: (opening tag, its closing tags). Only a block at the beginning of the answer, or after another such block, is
    thinking: a tag in the middle of a text is the text's own. Nested openings are counted. prefilled: the template
    wrote the opening tag itself, so the answer begins inside the block.
    """

    def __init__(self, tags: Tags, prefilled: bool) -> None:
        self._closings = dict(tags)
        self._depth = 0
        self._opening = ""
        self._begun = False  # text of the answer itself has begun: no more tags
        self._held = ""
        if prefilled:
            self._opening, self._depth = tags[0][0], 1

    def feed(self, text: str) -> list[tuple[str, bool]]:
        if self._begun:
            return [(text, False)]
        pieces: list[tuple[str, bool]] = []
        rest = self._held + text
        self._held = ""
        while rest and not self._begun:
            rest = self._inside(rest, pieces) if self._depth else self._outside(rest)
        pieces.append((rest, False))
        return [piece for piece in pieces if piece[0]]

    def close(self) -> list[tuple[str, bool]]:
        """What is left: an unclosed block is thinking all the same."""
        held, self._held = self._held, ""
        return [(held, self._depth > 0)] if held.strip() else []

    def _outside(self, text: str) -> str:
        """At the beginning of the answer: a tag, whitespace before one, or the answer itself."""
        head = text.lstrip()
        for opening in self._closings:
            if head.startswith(opening):
                self._opening, self._depth = opening, 1
                return head[len(opening) :].removeprefix("\n")
        if not head or any(opening.startswith(head) for opening in self._closings):
            self._held = text
            return ""
        self._begun = True
        return head if self._opening else text  # blank lines behind a block only separate

    def _inside(self, text: str, pieces: list[tuple[str, bool]]) -> str:
        tag = self._first_tag(text)
        if tag is None:
            keep = self._possible_tag(text)
            self._held = text[len(text) - keep :]
            pieces.append((text[: len(text) - keep], True))
            return ""
        place, found = tag
        before, after = text[:place], text[place + len(found) :]
        if found == self._opening:
            self._depth += 1
        else:
            self._depth -= 1
        if self._depth:  # a nested tag belongs to the thinking
            pieces.append((before + found, True))
            return after
        pieces.append((before.removesuffix("\n"), True))
        return after.lstrip("\n")

    def _tags(self) -> tuple[str, ...]:
        return (self._opening, *self._closings[self._opening])

    def _first_tag(self, text: str) -> tuple[int, str] | None:
        places = [(text.find(tag), tag) for tag in self._tags()]
        return min(((place, tag) for place, tag in places if place >= 0), default=None)

    def _possible_tag(self, text: str) -> int:
        """How many characters at the end may be the beginning of a tag, or a line end before one."""
        longest = max(map(len, self._tags()))
        for size in range(min(longest, len(text)), 0, -1):
            tail = text[-size:]
            if any(tag.startswith(tail.removeprefix("\n")) for tag in self._tags()):
                return size
        return 0


def without_think_tags(deltas: Iterable[Delta], tags: Tags, prefilled: bool) -> Iterator[Delta]:
    """The same deltas, tagged thinking as ReasoningDelta."""
    think = ThinkFilter(tags, prefilled)
    for delta in deltas:
        if isinstance(delta, TextDelta):
            for text, thinking in think.feed(delta.text):
                yield ReasoningDelta(text) if thinking else TextDelta(text, delta.logprobs)
            continue
        if isinstance(delta, (FinishDelta, EndDelta, ToolCallDelta)):
            yield from _rest(think)
        yield delta
    yield from _rest(think)


def _rest(think: ThinkFilter) -> Iterator[Delta]:
    for text, thinking in think.close():
        yield ReasoningDelta(text) if thinking else TextDelta(text)
