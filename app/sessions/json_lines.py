"""JSON on one line, whatever a client's JSON held, read back exactly as it was."""

from __future__ import annotations

import json
from typing import Any

import orjson

# orjson refuses lone surrogates, integers beyond 64 bit and nesting beyond 254 levels, and would read such integers
# as floats. What the standard library had to write starts with a blank (still JSON), and is read by it again.
_BY_STANDARD_LIBRARY = b" "


def dumps(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:
        return _BY_STANDARD_LIBRARY + json.dumps(value, separators=(",", ":")).encode()


def loads(line: bytes) -> Any:
    """Raises ValueError for what is not JSON."""
    return json.loads(line) if line.startswith(_BY_STANDARD_LIBRARY) else orjson.loads(line)
