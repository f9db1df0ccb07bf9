"""Is this text, so far, a complete JSON value? Looks at each character once, however often it is asked."""

from __future__ import annotations

import re

_MARKS = re.compile(r'["\\{}\[\]]')
_IN_STRING = re.compile(r'["\\]')


class JsonScan:
    """Follows brackets and strings of one JSON text that arrives in fragments. Not a validator: only nesting counts."""

    __slots__ = ("_depth", "_in_string", "_escaped", "_seen", "_bare", "complete")

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._seen = 0  # fragments already read
        self._bare: bool | None = None  # the text does not begin as an object or array; None = no text yet
        self.complete = False  # an object or array was opened and closed again

    def read(self, fragments: list[str]) -> JsonScan:
        """Look at the fragments that were appended since the last call."""
        for fragment in fragments[self._seen :]:
            self._scan(fragment)
        self._seen = len(fragments)
        return self

    @property
    def unfinished(self) -> bool:
        """The text broke off inside a string or an open bracket (cut, not merely malformed)."""
        return self._bare is False and (self._in_string or self._depth > 0)

    def _scan(self, text: str) -> None:
        if self._bare is None:
            head = text.lstrip()
            self._bare = head[0] not in "{[" if head else None
        if self._bare:
            return
        position = 0
        if self._escaped and text:
            self._escaped, position = False, 1
        while True:
            mark = (_IN_STRING if self._in_string else _MARKS).search(text, position)
            if mark is None:
                return
            position = mark.end()
            character = mark.group()
            if character == '"':
                self._in_string = not self._in_string
            elif character == "\\":
                if self._in_string:
                    if position == len(text):
                        self._escaped = True
                        return
                    position += 1
            elif character in "{[":
                self._depth += 1
            else:
                self._depth -= 1
                if self._depth == 0:
                    self.complete = True
