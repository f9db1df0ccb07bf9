"""The routes' Blueprint: what every one of them has in common."""

from __future__ import annotations

import re

from flask import Blueprint, Response, current_app, g, request

from bridge.errors import GodeXError

from ..context import Caller
from ..gateway import Gateway
from ..ids import new_request_id
from .auth import authenticate
from .errors import error_response, unexpected_response

EXTENSION = "godex"
_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")

api = Blueprint("godex_api", __name__)  # under the prefix, /v1: needs a key
health = Blueprint("godex_health", __name__)  # beside it: open


def gateway() -> Gateway:
    found: Gateway = current_app.extensions[EXTENSION]
    return found


def caller() -> Caller:
    """Who asks; known after `require_key`."""
    found: Caller = g.godex_caller
    return found


def request_id() -> str:
    """The client's own X-Request-Id if it is a sane one, else a fresh id; the same for the whole request."""
    if "godex_request_id" not in g:
        given = request.headers.get("X-Request-Id", "")
        g.godex_request_id = given if _REQUEST_ID.fullmatch(given) else new_request_id()
    known: str = g.godex_request_id
    return known


@api.before_request
def require_key() -> None:
    g.godex_caller = authenticate(request, gateway().config.auth)


def name_request(response: Response) -> Response:
    response.headers["x-request-id"] = request_id()
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


for blueprint in (api, health):
    blueprint.after_request(name_request)
    blueprint.register_error_handler(GodeXError, error_response)
    blueprint.register_error_handler(Exception, unexpected_response)
