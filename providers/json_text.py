"""JSON as upstreams write it, which is not always what the standard allows."""

from __future__ import annotations

import json
from typing import Any

import orjson


def parse_json(text: bytes | str) -> Any:
    """The value, or None where the text is no JSON.

    orjson refuses what Python's own reader takes and servers do send: NaN and Infinity, lone surrogates.
    """
    try:
        return orjson.loads(text)
    except ValueError:
        pass
    try:
        return _sound(json.loads(text if isinstance(text, str) else text.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return None


def _sound(value: Any) -> Any:
    """Halves of surrogate pairs that stand alone become U+FFFD: nothing behind this point could encode them."""
    if isinstance(value, str):
        return value if _is_utf8(value) else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_sound(entry) for entry in value]
    if isinstance(value, dict):
        return {_sound(key): _sound(entry) for key, entry in value.items()}
    return value


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def dump_json(value: Any) -> bytes:
    """UTF-8 JSON of any JSON value. orjson refuses lone surrogates and integers above 64 bits; the reader may not."""
    try:
        return orjson.dumps(value)
    except (TypeError, ValueError):
        return json.dumps(value, separators=(",", ":")).encode()
