"""The routes of stored responses: GET, DELETE, input_items, cancel. What belongs to another key is not found."""

from __future__ import annotations

from flask import Response, request

from bridge.errors import INVALID_PARAMETER, RESPONSE_NOT_FOUND, ServerError

from ..pipelines.history import inherited_items
from ..sessions.items import listed_items
from ..sessions.session import StoredResponseSession, response_object
from .blueprint import api, caller, gateway
from .listing import page
from .replies import json_reply


@api.get("/responses/<response_id>")
def get_response(response_id: str) -> Response:
    """The object that the create call, or the terminal event, gave."""
    session = _stored(response_id)
    if request.args.get("stream", "false").lower() not in ("false", "0", ""):
        raise ServerError(
            INVALID_PARAMETER, "only background responses can be streamed again; there are none here", param="stream"
        )
    return json_reply(response_object(session))


@api.delete("/responses/<response_id>")
def delete_response(response_id: str) -> Response:
    if not gateway().store.delete(response_id, caller().owner):
        raise _not_found(response_id)
    return json_reply({"id": response_id, "object": "response", "deleted": True})


@api.get("/responses/<response_id>/input_items")
def list_input_items(response_id: str) -> Response:
    """What the model was given: the items of the chain before it, then the response's own input."""
    session = _stored(response_id)
    items = [*inherited_items(gateway(), session), *listed_items(session)]
    return json_reply(page(items, request.args))


@api.post("/responses/<response_id>/cancel")
def cancel_response(response_id: str) -> Response:
    _stored(response_id)
    raise ServerError(
        INVALID_PARAMETER, "only background responses can be cancelled; this one has ended", param="response_id"
    )


def _stored(response_id: str) -> StoredResponseSession:
    session = gateway().store.get(response_id, caller().owner)
    if session is None:
        raise _not_found(response_id)
    return session


def _not_found(response_id: str) -> ServerError:
    return ServerError(RESPONSE_NOT_FOUND, f"no response with id {response_id[:80]!r} is stored", param="response_id")
