"""Secrets as values that cannot be printed by accident."""

from __future__ import annotations

import re
from typing import Final

MASK: Final = "***"

_USERINFO = re.compile(r"(?<=://)[^/?#@\s]+@")
_SECRET_QUERY = re.compile(r"(?i)([?&][\w-]*(?:key|token|secret|password|sig)[\w-]*=)[^&#\s]+")


class Secret:
    """Text whose repr and str are a mask; only `reveal()` gives it away."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    def __str__(self) -> str:
        return MASK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)


def masked_url(url: str) -> str:
    """The URL without user, password and key-like query values: `redis://***@cache:6379/0`."""
    return _SECRET_QUERY.sub(rf"\1{MASK}", _USERINFO.sub(f"{MASK}@", url))
