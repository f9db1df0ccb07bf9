"""Tool names that an upstream accepts, and a way back: at most 64 characters of [A-Za-z0-9_-], unique in a request.

The encoding depends on the name alone, so that a tool keeps its upstream name from turn to turn; only two tools that
would share a name are told apart by a number, in the order of their declaration.
"""

from __future__ import annotations

import hashlib
import re

LIMIT = 64
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")


def encode_name(name: str, namespace: str | None = None) -> str:
    """The preferred upstream name. Names over the limit keep a readable head and end in a hash of the whole."""
    full = f"{namespace}__{name}" if namespace else name
    legal = _ILLEGAL.sub("_", full) or "tool"
    if len(legal) <= LIMIT:
        return legal
    return f"{legal[: LIMIT - 9]}_{hashlib.sha256(full.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def distinct(name: str, taken: set[str]) -> str:
    """The name itself, or numbered from 2 until it is free."""
    candidate, number = name, 2
    while candidate in taken:
        suffix = f"_{number}"
        candidate, number = name[: LIMIT - len(suffix)] + suffix, number + 1
    return candidate
