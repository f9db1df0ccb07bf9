"""create_app(): GodeX as an application of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import Flask, Response, current_app, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound

from bridge.errors import METHOD_NOT_ALLOWED, ROUTE_NOT_FOUND, ServerError

from .config.loader import load_config
from .config.model import Config
from .extension import GodeX
from .http.blueprint import finish_headers
from .http.errors import error_response, refused_by_host
from .logs import configure_logging


def create_app(config: Config | Mapping[str, Any] | str | None = None) -> Flask:
    """config: as for GodeX. Raises ServerError CONFIG_INVALID."""
    loaded = config if isinstance(config, Config) else load_config(config)
    configure_logging(loaded.logging)
    app = Flask(__name__)
    GodeX(app, loaded)
    # A blueprint's handlers do not see unknown URLs; here, and only here, they are ours to answer.
    app.register_error_handler(NotFound, _unknown_route)
    app.register_error_handler(MethodNotAllowed, _wrong_method)
    app.register_error_handler(HTTPException, _refused_by_flask)
    return app


def _unknown_route(error: NotFound) -> Response:
    message = f"there is no {request.method} {request.path}{_hint(request.path)}"
    return finish_headers(error_response(ServerError(ROUTE_NOT_FOUND, message)))


def _hint(path: str) -> str:
    """For the usual mistakes: a base URL without its prefix, and clients that speak the other API."""
    if path.endswith("/completions"):
        return "; this gateway speaks the Responses API: POST /responses under the same base URL"
    rules = (rule.rule for rule in current_app.url_map.iter_rules())
    prefixed = next((rule for rule in rules if path != "/" and rule.endswith(path)), "")
    return f", but there is {prefixed}" if prefixed else ""


def _wrong_method(error: MethodNotAllowed) -> Response:
    allowed = ", ".join(sorted(error.valid_methods or ()))
    message = f"{request.path} does not take {request.method}; it takes {allowed}"
    response = finish_headers(error_response(ServerError(METHOD_NOT_ALLOWED, message)))
    response.headers["Allow"] = allowed
    return response


def _refused_by_flask(error: HTTPException) -> Response:
    """What werkzeug refuses by itself, e.g. a malformed request line."""
    return finish_headers(refused_by_host(error))
