"""The routes' Blueprint: what every one of them has in common."""

from __future__ import annotations

import re
from functools import partial

from flask import Blueprint, Response, current_app, g, request
from werkzeug.exceptions import HTTPException

from bridge.errors import GodeXError

from ..context import Caller
from ..drain import InProgress, process_drain
from ..gateway import Gateway
from ..ids import new_request_id
from ..metrics import metrics
from ..spans import spans
from .auth import authenticate
from .errors import error_response, refused_by_host, unexpected_response

EXTENSION = "godex"
# An API: nothing that it says is a page, and what it says is for one caller only.
HARDENED = (
    ("X-Content-Type-Options", "nosniff"),
    ("Cache-Control", "no-store"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)
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
def enter_request() -> None:
    """Known to the process from here on, so that it ends properly when its worker has to stop."""
    request_id()  # from here on it stands in the log
    g.godex_in_progress = process_drain.enter(request.environ.get("gunicorn.socket"))
    g.godex_in_progress.span = spans().request(request.method, request.path, request.headers)
    if request.method == "POST":
        g.godex_in_progress.reads_body(request.content_length or 0)


@api.after_request
def leave_when_written(response: Response) -> Response:
    """The request is over when its answer is written, not when it is made."""
    running = g.pop("godex_in_progress", None)
    if running is not None:
        if not response.is_streamed:
            running.writes(response.content_length or 0)
        response.headers.update(running.headers)
        response.call_on_close(partial(_left, running, _route(), response.status_code))
    return response


@api.after_request
def count_answer(response: Response) -> Response:
    metrics().request_answered(_route(), request.method, response.status_code)
    return response


def _route() -> str:
    """The same for all requests that are served alike."""
    return request.url_rule.rule if request.url_rule is not None else "unknown"


def _left(running: InProgress, route: str, status: int) -> None:
    process_drain.leave(running)
    spans().request_ended(running.span, route, status)


@api.teardown_request
def leave_without_answer(error: BaseException | None) -> None:
    running = g.pop("godex_in_progress", None)
    if running is not None:
        _left(running, _route(), 500)


@api.before_request
def require_key() -> None:
    g.godex_caller = authenticate(request, gateway().keys)


def name_request(response: Response) -> Response:
    response.headers["x-request-id"] = request_id()
    for name, value in HARDENED:
        response.headers.setdefault(name, value)
    return response


for blueprint in (api, health):
    blueprint.after_request(name_request)
    blueprint.register_error_handler(GodeXError, error_response)
    blueprint.register_error_handler(HTTPException, refused_by_host)
    blueprint.register_error_handler(Exception, unexpected_response)
