"""What must not be in a trace, not even where payloads are kept: keys, and images and files, which are only heavy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from providers.masking import mask

Redact = Callable[[Any], Any]

MASK: Final = "***"
# Names under which clients, tools and upstreams carry keys, with - and _ taken out.
_SECRET_NAMES: Final = frozenset(
    {
        "apikey", "xapikey", "authorization", "proxyauthorization", "bearer", "token", "accesstoken", "refreshtoken",
        "idtoken", "authtoken", "secret", "clientsecret", "secretkey", "privatekey", "password", "passwd", "cookie",
        "setcookie",
    }
)  # fmt: skip
# Bytes as base64, and sealed items: nobody can read them, and they are most of a payload.
_OPAQUE_NAMES: Final = frozenset({"filedata", "encryptedcontent", "b64json", "partialimageb64"})
_DATA_URI: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+)?[^,\s]{0,100},[A-Za-z0-9+/=_%-]{16,}")
_LONG_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{512,}={0,2}")


def redactor(secrets: Iterable[str]) -> Redact:
    """JSON data → the same without keys, images and files. secrets: keys that are known to be in use."""
    known = tuple(secrets)

    def text(value: str) -> str:
        value = _DATA_URI.sub(lambda found: f"data:{found[1] or ''},({len(found[0])} characters)", value)
        value = _LONG_BASE64.sub(lambda found: f"({len(found[0])} characters)", value)
        return mask(value, known)

    def redact(value: Any) -> Any:
        if isinstance(value, str):
            return text(value)
        if isinstance(value, dict):
            return {key: _named(_plain(key), item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [redact(item) for item in value]
        return value

    def _named(name: str, value: Any) -> Any:
        if name in _SECRET_NAMES and isinstance(value, str):
            return MASK
        if name == "headers" and isinstance(value, dict):  # of an MCP server
            return dict.fromkeys(value, MASK)
        if name in _OPAQUE_NAMES and isinstance(value, str):
            return f"({len(value)} characters)"
        return redact(value)

    return redact


def _plain(name: object) -> str:
    return str(name).lower().replace("-", "").replace("_", "")
