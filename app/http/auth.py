"""Who may call."""

from __future__ import annotations

import hashlib

from flask import Request
from werkzeug.datastructures import Headers

from bridge.errors import INVALID_API_KEY, ServerError

from ..config.keys import KeyRing
from ..config.model import is_loopback
from ..context import Caller

FORWARDED = ("X-Forwarded-For", "X-Real-IP", "Forwarded", "Via")
OWNER_DIGITS = 32  # of the key's SHA-256: names a tenant in the store without giving the key away


def authenticate(request: Request, keys: KeyRing) -> Caller:
    """The caller by `Authorization: Bearer`, or `api-key` as Azure's clients send it.

    Without configured keys everybody may call and nothing is told apart. Raises ServerError INVALID_API_KEY.
    """
    key = _presented_key(request.headers)
    if not keys.required:
        return Caller(key=key)
    if not key:
        raise ServerError(INVALID_API_KEY, "no API key was sent; send one as Authorization: Bearer KEY")
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    found = keys.find(digest)
    if found is None:
        raise ServerError(INVALID_API_KEY, "the API key is not known to this gateway")
    return Caller(owner=digest[:OWNER_DIGITS], name=found.name, limits=found.limits, key=key)


def may_look(request: Request, keys: KeyRing) -> bool:
    """Whether the caller may see how the gateway is doing: someone on this machine, or with a key."""
    if _from_this_machine(request):
        return True
    try:
        authenticate(request, keys)
    except ServerError:
        return False
    return keys.required


def _from_this_machine(request: Request) -> bool:
    """Not for what a proxy on this machine passes on; "" is a Unix socket."""
    if any(name in request.headers for name in FORWARDED):
        return False
    peer = request.environ.get("REMOTE_ADDR") or ""
    return not peer or is_loopback(peer)


def _presented_key(headers: Headers) -> str:
    scheme, _, token = (headers.get("Authorization") or "").partition(" ")
    if scheme.lower() == "bearer" and token:
        return token.strip()
    return (headers.get("api-key") or headers.get("x-api-key") or "").strip()
