"""Who may call."""

from __future__ import annotations

import hashlib
import hmac

from flask import Request
from werkzeug.datastructures import Headers

from bridge.errors import INVALID_API_KEY, ServerError

from ..config.model import AuthConfig
from ..context import Caller

OWNER_DIGITS = 32  # of the key's SHA-256: names a tenant in the store without giving the key away


def authenticate(request: Request, auth: AuthConfig) -> Caller:
    """The caller by `Authorization: Bearer`, or `api-key` as Azure's clients send it.

    Without configured keys everybody may call and nothing is told apart. Raises ServerError INVALID_API_KEY.
    """
    key = _presented_key(request.headers)
    if not auth.keys:
        return Caller(key=key)
    if not key:
        raise ServerError(INVALID_API_KEY, "no API key was sent; send one as Authorization: Bearer KEY")
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    found = None
    for known in auth.keys:  # all of them, so that the time tells nothing about which one came close
        if hmac.compare_digest(known.sha256, digest):
            found = known
    if found is None:
        raise ServerError(INVALID_API_KEY, "the API key is not known to this gateway")
    return Caller(owner=digest[:OWNER_DIGITS], name=found.name, key=key)


def _presented_key(headers: Headers) -> str:
    scheme, _, token = (headers.get("Authorization") or "").partition(" ")
    if scheme.lower() == "bearer" and token:
        return token.strip()
    return (headers.get("api-key") or headers.get("x-api-key") or "").strip()
