"""The routes' Blueprint: what every one of them has in common."""

from __future__ import annotations

import re
from functools import partial

from flask import Blueprint, Request, Response, current_app, g, request
from flask.globals import request_ctx
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
    """Who asks; known after `enter_request`."""
    found: Caller = g.godex_caller
    return found


def request_id() -> str:
    """The client's own X-Request-Id if it is a sane one, else a fresh id; the same for the whole request."""
    if "godex_request_id" not in g:
        given = request.headers.get("X-Request-Id", "")
        g.godex_request_id = given if _REQUEST_ID.fullmatch(given) else new_request_id()
    known: str = g.godex_request_id
    return known


# One function before and one after each request, and not one for each step: Flask inspects each of them anew for every
# request, and each use of `request` and `g` looks them up again (together 3 % of a request).


@api.before_request
def enter_request() -> None:
    """Known to the process from here on, so that it ends properly when its worker has to stop; then the key."""
    request_id()  # from here on it stands in the log
    asked = request_ctx.request
    running = process_drain.enter(asked.environ.get("gunicorn.socket"))
    g.godex_in_progress = running
    running.span = spans().request(asked.method, asked.path, asked.headers)
    if asked.method == "POST":
        running.reads_body(asked.content_length or 0)
    g.godex_caller = authenticate(asked, gateway().keys)


@api.after_request
def leave_request(response: Response) -> Response:
    """The request is over when its answer is written, not when it is made."""
    asked = request_ctx.request
    route = _route(asked)
    metrics().request_answered(route, asked.method, response.status_code)
    running = g.pop("godex_in_progress", None)
    if running is not None:
        if not response.is_streamed:
            running.writes(response.content_length or 0)
        response.headers.extend(running.headers)
        response.call_on_close(partial(_left, running, route, response.status_code))
    return finish_headers(response)


def finish_headers(response: Response) -> Response:
    """What every answer says: its request's id, and that it is none of a browser's business."""
    headers = response.headers
    given = {name.lower() for name, _ in headers}
    headers.extend([(name, value) for name, value in HARDENED if name.lower() not in given])
    headers["x-request-id"] = request_id()
    return response


def _route(asked: Request) -> str:
    """The same for all requests that are served alike."""
    return asked.url_rule.rule if asked.url_rule is not None else "unknown"


def _left(running: InProgress, route: str, status: int) -> None:
    process_drain.leave(running)
    spans().request_ended(running.span, route, status)


@api.teardown_request
def leave_without_answer(error: BaseException | None) -> None:
    running = g.pop("godex_in_progress", None)
    if running is not None:
        _left(running, _route(request_ctx.request), 500)


health.after_request(finish_headers)
for blueprint in (api, health):
    blueprint.register_error_handler(GodeXError, error_response)
    blueprint.register_error_handler(HTTPException, refused_by_host)
    blueprint.register_error_handler(Exception, unexpected_response)
