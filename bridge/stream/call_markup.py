"""Tool calls that leak into the text as the model's own markup, turned back into calls.

Hosts whose parser does not know a template pass its markup on: DSML, <tool_call> with JSON, <function_calls> with
<invoke>. Switched on by the capability `call_markup`; unreadable markup stays text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator

import orjson

from bridge.stream.deltas import Delta, EndDelta, FinishDelta, TextDelta, ToolCallDelta
from bridge.stream.logprobs import HeldLogprobs

Calls = list[tuple[str, str]]  # (name, arguments as JSON text)

_MARK = "｜DSML｜"
_INVOKE = re.compile(r'<(?:｜DSML｜)?invoke name="([^"]+)"\s*>(.*?)</(?:｜DSML｜)?invoke>', re.DOTALL)
_PARAMETER = re.compile(
    r'<(?:｜DSML｜)?parameter name="([^"]+)"([^>]*)>(.*?)</(?:｜DSML｜)?parameter>', re.DOTALL
)  # fmt: skip


def _invocations(body: str) -> Calls:
    calls = []
    for name, inner in _INVOKE.findall(body):
        arguments = {key: _value(text, attributes) for key, attributes, text in _PARAMETER.findall(inner)}
        calls.append((name, orjson.dumps(arguments).decode()))
    return calls


def _value(text: str, attributes: str) -> object:
    """A parameter is JSON unless it is marked as a string; text that is no JSON is a string anyway."""
    if 'string="true"' in attributes:
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def _json_call(body: str) -> Calls:
    try:
        call = json.loads(body, strict=False)
    except ValueError:
        return []
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        return []
    arguments = call.get("arguments", call.get("parameters"))
    if not isinstance(arguments, str):
        arguments = orjson.dumps(arguments or {}).decode()
    return [(call["name"], arguments)]


# opening tag → (closing tag, what reads the text between them)
MARKUP: dict[str, tuple[str, Callable[[str], Calls]]] = {
    f"<{_MARK}tool_calls>": (f"</{_MARK}tool_calls>", _invocations),
    f"<{_MARK}function_calls>": (f"</{_MARK}function_calls>", _invocations),
    "<function_calls>": ("</function_calls>", _invocations),
    "<tool_call>": ("</tool_call>", _json_call),
}


def without_call_markup(deltas: Iterable[Delta]) -> Iterator[Delta]:
    """The same deltas; whole blocks of markup in the text become ToolCallDeltas, blanks around them go."""
    held = ""  # text that may be, or is, the beginning of a block
    logprobs = HeldLogprobs()
    behind_a_block = False
    for delta in deltas:
        if isinstance(delta, TextDelta):
            held += delta.text.lstrip() if behind_a_block else delta.text
            pieces, held = _split(held)
            if pieces or held:
                behind_a_block = bool(pieces) and not held and isinstance(pieces[-1], ToolCallDelta)
            said = [piece for piece in pieces if isinstance(piece, TextDelta)]
            beside = logprobs.beside(sum(len(piece.text) for piece in said), delta, bool(held))
            if said:
                said[-1].logprobs = beside
            yield from pieces
            continue
        if isinstance(delta, (FinishDelta, EndDelta, ToolCallDelta)) and held:
            beside = logprobs.beside(len(held), None, False)
            if held.strip() or not isinstance(delta, ToolCallDelta):  # blanks before a call only separate
                yield TextDelta(held, beside)
            held = ""
        yield delta
    if held:
        yield TextDelta(held, logprobs.beside(len(held), None, False))


def _split(text: str) -> tuple[list[Delta], str]:
    """(what is certain, what has to wait for more text)"""
    pieces: list[Delta] = []
    while True:
        place, opening = min(((text.find(tag), tag) for tag in MARKUP if tag in text), default=(-1, ""))
        if place < 0:
            keep = _possible_opening(text)
            if len(text) > keep:
                pieces.append(TextDelta(text[: len(text) - keep]))
            return pieces, text[len(text) - keep :]
        closing, read = MARKUP[opening]
        end = text.find(closing, place)
        if end < 0:
            before = text[:place].rstrip()
            if before:
                pieces.append(TextDelta(before))
            return pieces, text[len(before) :]
        calls = read(text[place + len(opening) : end])
        if calls:
            before = text[:place].rstrip()
            pieces += [TextDelta(before)] if before else []
            pieces += [ToolCallDelta(None, None, name, arguments) for name, arguments in calls]
            text = text[end + len(closing) :].lstrip()
        else:
            pieces.append(TextDelta(text[: end + len(closing)]))
            text = text[end + len(closing) :]


def _possible_opening(text: str) -> int:
    """How many characters at the end may begin a block, the blanks before it included."""
    longest = max(map(len, MARKUP))
    for size in range(min(longest - 1, len(text)), 0, -1):
        if any(tag.startswith(text[-size:]) for tag in MARKUP):
            return len(text) - len(text[:-size].rstrip())
    return len(text) - len(text.rstrip())
