"""Keys out of texts: what an upstream says about a key often holds the key."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_KEY_SHAPES: Final = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|tgp|tp|ak|key|nvapi|pplx|hf)[-_][A-Za-z0-9_*.…-]{6,}"  # prefixes of providers' keys
    r"|\b[0-9a-f]{32}\.[A-Za-z0-9]{8,}"  # Zhipu: id.secret
    r"|(?<=Bearer )\S+"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_.-]+"  # JSON web tokens (MiniMax)
    r"|\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{28,}\b"  # long, letters and digits mixed: no word of a sentence
)


def mask(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` without anything that is, or looks like, an API key."""
    for secret in secrets:
        if len(secret) >= 8:  # shorter ones are words
            text = text.replace(secret, "***")
    return _KEY_SHAPES.sub("***", text)
