"""The one place that knows which HTTP answer a domain code is (contract section 6, design section 5)."""

from __future__ import annotations

import logging
from typing import Any

from flask import Response, g
from werkzeug.exceptions import HTTPException

from bridge import errors as codes
from bridge.errors import GodeXError

from ..logs import fields
from .replies import json_reply

log = logging.getLogger("godex")

INVALID = "invalid_request_error"
SERVER = "server_error"

# domain code → (status, type, the code that OpenAI's clients know; None = the domain code itself)
STATUS: dict[str, tuple[int, str, str | None]] = {
    codes.INVALID_JSON: (400, INVALID, "invalid_json"),
    codes.MISSING_MODEL: (400, INVALID, "missing_required_parameter"),
    codes.INVALID_PARAMETER: (400, INVALID, "invalid_value"),
    codes.BODY_TOO_LARGE: (413, INVALID, "request_too_large"),
    codes.REQUEST_TIMEOUT: (408, INVALID, "request_timeout"),
    codes.UNSUPPORTED_ENCODING: (415, INVALID, "unsupported_content_encoding"),
    codes.INVALID_API_KEY: (401, "authentication_error", "invalid_api_key"),
    codes.RATE_LIMITED: (429, "rate_limit_error", "rate_limit_exceeded"),
    codes.ROUTE_NOT_FOUND: (404, INVALID, "unknown_url"),
    codes.METHOD_NOT_ALLOWED: (405, INVALID, "method_not_allowed"),
    codes.UPGRADE_REQUIRED: (426, INVALID, "upgrade_required"),
    codes.CONNECTION_LIMIT: (400, INVALID, "websocket_connection_limit_reached"),
    codes.RESPONSE_NOT_FOUND: (404, INVALID, "not_found"),
    codes.CONVERSATION_NOT_FOUND: (404, INVALID, "not_found"),
    codes.CONVERSATION_ITEM_NOT_FOUND: (404, INVALID, "not_found"),
    codes.MODEL_NOT_FOUND: (404, INVALID, "model_not_found"),
    codes.PROVIDER_NOT_REGISTERED: (400, INVALID, None),
    codes.CONFIG_INVALID: (500, SERVER, None),
    codes.CLIENT_GONE: (499, INVALID, None),  # nobody hears it; the number is nginx's
    codes.DRAINING: (503, SERVER, None),
    codes.INTERNAL: (500, SERVER, "internal_error"),
    codes.UNSUPPORTED_PARAMETER: (400, INVALID, "unsupported_parameter"),
    codes.UNSUPPORTED_INPUT: (400, INVALID, "invalid_value"),
    codes.UNSUPPORTED_TOOL: (400, INVALID, "unsupported_parameter"),
    codes.INVALID_REQUEST: (400, INVALID, "invalid_value"),
    codes.INVALID_TRANSITION: (500, SERVER, None),
    codes.DELTA_AFTER_TERMINAL: (500, SERVER, None),
    codes.INCOMPLETE_TOOL_CALL: (500, SERVER, None),
    codes.MISSING_TERMINAL: (502, SERVER, None),
    codes.OUTPUT_INVALID_JSON: (500, "model_error", None),
    codes.OUTPUT_SCHEMA_MISMATCH: (500, "model_error", None),
    codes.TOOL_NOT_ALLOWED: (500, "model_error", None),
    codes.UPSTREAM_TIMEOUT: (504, SERVER, None),
    codes.UPSTREAM_RATE_LIMIT: (429, "rate_limit_error", "rate_limit_exceeded"),
    codes.UPSTREAM_OVERLOADED: (503, SERVER, "server_is_overloaded"),
    codes.UPSTREAM_SERVER_ERROR: (502, SERVER, None),
    codes.UPSTREAM_UNREACHABLE: (502, SERVER, None),
    codes.UPSTREAM_CUT: (502, SERVER, None),
    codes.UPSTREAM_INVALID_RESPONSE: (502, SERVER, None),
    codes.UPSTREAM_BAD_REQUEST: (400, INVALID, None),
    codes.UPSTREAM_CONTEXT_LENGTH: (400, INVALID, "context_length_exceeded"),
    codes.UPSTREAM_AUTHENTICATION: (401, "authentication_error", "provider_authentication"),
    codes.UPSTREAM_PERMISSION: (403, "permission_error", "provider_authentication"),
    codes.UPSTREAM_QUOTA: (429, "insufficient_quota", "insufficient_quota"),
    codes.UPSTREAM_MODEL_NOT_FOUND: (404, INVALID, "model_not_found"),
    codes.UPSTREAM_CONTENT_FILTER: (400, INVALID, "content_filter"),
    codes.UPSTREAM_ERROR: (502, SERVER, None),
    codes.CHAIN_NOT_FOUND: (400, INVALID, "previous_response_not_found"),
    codes.CHAIN_CYCLE_DETECTED: (400, INVALID, None),
    codes.CHAIN_DEPTH_EXCEEDED: (400, INVALID, None),
    codes.CHAIN_UNAVAILABLE: (400, INVALID, None),
    codes.STORE_CONFLICT: (400, INVALID, None),
    codes.STORE_UNAVAILABLE: (503, SERVER, None),
}

# A client that hears 429 or 503 without a number either gives up (Codex) or hammers: the least wait is told.
DEFAULT_RETRY_AFTER = {429: 1, 503: 5}


def error_body(error: GodeXError) -> tuple[int, dict[str, Any], int | None]:
    """(status, JSON body, Retry-After in whole seconds or None)."""
    status, kind, word = STATUS[error.code]
    body = {
        "message": error.message,
        "type": kind,
        "param": error.param,
        "code": error.client_code or word or error.code,
        "godex_code": error.code,
    }
    return status, {"error": body}, error.retry_after or DEFAULT_RETRY_AFTER.get(status)


def error_response(error: GodeXError) -> Response:
    status, body, retry_after = error_body(error)
    log.log(
        logging.WARNING if status < 500 else logging.ERROR,
        "request refused",
        extra=fields(error.to_log_entry(), _request()),
    )
    response = json_reply(body, status)
    if retry_after is not None:
        response.headers["Retry-After"] = str(retry_after)
    return response


def _request() -> dict[str, str]:
    """Its id, for the log."""
    return {"request_id": g.godex_request_id} if "godex_request_id" in g else {}


def refused_by_host(error: HTTPException) -> Response:
    """abort() in a function of the host that runs before a route: its status and headers, in the shape of errors here.

    An answer that the host made itself, or a redirect, is passed on as it is.
    """
    theirs = error.get_response()
    status = error.code or theirs.status_code
    if error.response is not None or status < 400:
        return Response(theirs.get_data(), status=theirs.status_code, headers=theirs.headers)
    kind = {401: "authentication_error", 403: "permission_error"}.get(status, INVALID if status < 500 else SERVER)
    code = error.name.lower().replace(" ", "_")
    response = json_reply(
        {"error": {"message": error.description or error.name, "type": kind, "param": None, "code": code}}, status
    )
    for name, value in theirs.headers:
        response.headers.setdefault(name, value)
    return response


def unexpected_response(error: Exception) -> Response:
    return error_response(internal_error(error))


def internal_error(error: Exception) -> GodeXError:
    """A bug: logged whole, shown as nothing."""
    log.error("unexpected error", exc_info=error)
    return GodeXError(codes.INTERNAL, "The gateway met an unexpected error; its log has the details.")
