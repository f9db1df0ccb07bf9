"""The input of a custom tool, taken out of the JSON in which the model wraps it, while it arrives.

Upstream a custom tool is a function with one string, {"input": "…"}. The string is decoded as it comes, so that the
client sees the text grow; escapes and surrogate pairs may be cut anywhere. A model that wrapped it otherwise (another
key, a bare string, no JSON at all) is understood at the end: never an error, never a character of the input lost.
"""

from __future__ import annotations

import json
import re
from enum import Enum

import orjson

from bridge.tools.builtin import CUSTOM_INPUT

_OPENING = re.compile(r'\s*\{\s*"' + CUSTOM_INPUT + r'"\s*:\s*"')
_COMPACT_OPENING = f'{{"{CUSTOM_INPUT}":"'
_WHITESPACE = re.compile(r"\s+")
_PLAIN = re.compile(r'[^"\\]*')
_REPLACEMENT = "\ufffd"
_SHORT = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\", "/": "/"}


class _State(Enum):
    UNDECIDED = "undecided"  # not enough text to tell how the input is wrapped
    DECODING = "decoding"  # inside the string of {"input": "…"}
    DONE = "done"  # the string was closed
    BARE = "bare"  # no JSON: the text is the input
    HELD = "held"  # JSON of another shape: understood at the end


class CustomInput:
    """feed() and close() give the pieces of the input; their sum is the input."""

    __slots__ = ("_state", "_raw", "_rest")

    def __init__(self) -> None:
        self._state = _State.UNDECIDED
        self._raw: list[str] = []  # the wrapper, as far as it may still be needed
        self._rest = ""  # an escape that is not complete yet

    def feed(self, fragment: str) -> str:
        """The input text that became certain with this fragment, often ""."""
        if self._state is _State.DECODING:
            return self._decode(fragment)
        if self._state is _State.BARE:
            return fragment
        if self._state is _State.DONE:
            return ""
        self._raw.append(fragment)
        return self._decide() if self._state is _State.UNDECIDED else ""

    def close(self) -> str:
        """What is left at the end of the arguments."""
        if self._state in (_State.DECODING, _State.DONE, _State.BARE):  # a cut escape stands for no character yet
            return ""
        return unwrap("".join(self._raw))

    def _decide(self) -> str:
        text = "".join(self._raw)
        opening = _OPENING.match(text)
        if opening:
            self._state = _State.DECODING
            self._raw.clear()
            return self._decode(text[opening.end() :])
        head = text.lstrip()
        if head and head[0] not in '{"':
            self._state = _State.BARE
            self._raw.clear()
            return text
        if not _COMPACT_OPENING.startswith(_WHITESPACE.sub("", text)):
            self._state = _State.HELD
        return ""

    def _decode(self, fragment: str) -> str:
        text, self._rest = self._rest + fragment, ""
        pieces: list[str] = []
        position = 0
        while True:
            plain = _PLAIN.match(text, position)
            assert plain is not None  # the pattern matches the empty string
            pieces.append(plain.group())
            position = plain.end()
            if position == len(text):
                break
            if text[position] == '"':
                self._state = _State.DONE
                break
            decoded = _decode_escape(text, position)
            if decoded is None:
                self._rest = text[position:]
                break
            piece, position = decoded
            pieces.append(piece)
        return "".join(pieces)


def unwrap(arguments: str) -> str:
    """The input inside complete arguments, however the model wrapped it.

    {"input": text} → text; an object whose only string stands under another key → that string; a JSON string → its
    value; anything else → the arguments as they are.
    """
    try:
        value = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        try:
            value = json.loads(arguments, strict=False)  # takes raw line breaks inside strings
        except ValueError:
            return arguments
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        if isinstance(value.get(CUSTOM_INPUT), str):
            return str(value[CUSTOM_INPUT])
        strings = [entry for entry in value.values() if isinstance(entry, str)]
        if len(strings) == 1 and len(value) == 1:
            return strings[0]
        if not value:
            return ""
    return arguments


def _decode_escape(text: str, position: int) -> tuple[str, int] | None:
    """(character, position behind it) of the escape at `position`; None when it is cut. Unknown ones stay as text."""
    if position + 1 >= len(text):
        return None
    kind = text[position + 1]
    if kind in _SHORT:
        return _SHORT[kind], position + 2
    if kind != "u":
        return text[position : position + 2], position + 2
    unit = _code_unit(text, position)
    if unit is None:
        return (text[position : position + 2], position + 2) if len(text) >= position + 6 else None
    if not 0xD800 <= unit < 0xE000:
        return chr(unit), position + 6
    if unit >= 0xDC00:
        return _REPLACEMENT, position + 6  # a low half alone stands for nothing
    behind = text[position + 6 : position + 12]
    if len(behind) < 6 and (behind.startswith("\\u") or behind in ("", "\\")):
        return None  # the low half may still come
    low = _code_unit(text, position + 6) if behind.startswith("\\u") else None
    if low is None or not 0xDC00 <= low < 0xE000:
        return _REPLACEMENT, position + 6
    return chr(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)), position + 12


def _code_unit(text: str, position: int) -> int | None:
    digits = text[position + 2 : position + 6]
    if len(digits) < 4:
        return None
    try:
        return int(digits, 16)
    except ValueError:
        return None
