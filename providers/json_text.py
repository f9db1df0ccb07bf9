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
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def dump_json(value: Any) -> bytes:
    """UTF-8 JSON of any JSON value. orjson refuses lone surrogates and integers above 64 bits; the reader may not."""
    try:
        return orjson.dumps(value)
    except (TypeError, ValueError):
        return json.dumps(value, separators=(",", ":")).encode()
