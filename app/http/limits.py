"""How large and how deep a JSON body may be, so that one request cannot exhaust a worker. Rates are in app/limits."""

from __future__ import annotations

from typing import Any, Final

import orjson

from bridge.errors import INVALID_JSON, INVALID_PARAMETER, ServerError

MAX_DEPTH: Final = 128  # objects and arrays inside each other; a JSON schema of a tool rarely has 20
_ORJSON_DEPTH: Final = 254
MAX_ITEMS: Final = 20_000  # in a list at the top of the body: input, tools
MAX_FIELDS: Final = 1_000  # at the top of the body; the API knows about forty
MAX_BRACKETS: Final = 2_000_000  # "[" and "{"; each may become an object of 60 to 200 bytes


def check_size(raw: bytes) -> None:
    """Before parsing, which is where the memory goes. Raises ServerError INVALID_JSON."""
    if _brackets(raw) > MAX_BRACKETS:
        raise ServerError(INVALID_JSON, f"the body holds more than {MAX_BRACKETS} objects and arrays")


def check_shape(raw: bytes, body: dict[str, Any]) -> None:
    """raw: what body was parsed from. Raises ServerError INVALID_JSON or INVALID_PARAMETER."""
    if len(body) > MAX_FIELDS:
        raise ServerError(INVALID_JSON, f"the body has more than {MAX_FIELDS} fields")
    for name, value in body.items():
        if isinstance(value, list) and len(value) > MAX_ITEMS:
            raise ServerError(INVALID_PARAMETER, f"{name} has more than {MAX_ITEMS} entries", param=name)
    if _brackets(raw) > MAX_DEPTH and _is_deep(body):
        raise ServerError(INVALID_JSON, f"the body is nested more than {MAX_DEPTH} levels deep")


def _brackets(raw: bytes) -> int:
    return raw.count(b"[") + raw.count(b"{")


def _is_deep(body: dict[str, Any]) -> bool:
    """orjson writes 254 levels and no more: inside as many lists as are left, it tells at a tenth of a walk's cost."""
    wrapped: Any = body
    for _ in range(_ORJSON_DEPTH - MAX_DEPTH):
        wrapped = [wrapped]
    try:
        orjson.dumps(wrapped)
    except orjson.JSONEncodeError as error:
        return "ecursion" in str(error)  # else lone surrogates and the like, which are refused elsewhere
    return False
