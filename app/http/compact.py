"""POST /v1/responses/compact and POST /v1/responses/input_tokens."""

from __future__ import annotations

from typing import Any

from flask import Response, request

from bridge.errors import INVALID_PARAMETER, ServerError
from bridge.request.estimate import estimate_tokens
from bridge.stream.compaction import TRIGGER

from ..ids import new_item_id
from ..pipelines.begin import begin
from ..pipelines.prepare import prepare
from ..pipelines.sync import answer_sync
from ..sessions.chain import input_items
from .blueprint import api, caller, gateway, request_id
from .body import json_object
from .replies import json_reply
from .responses import max_body_bytes
from .schemas import CreateResponse, load

ESTIMATE = {"x-godex-input-tokens": "estimate"}


@api.post("/responses/compact")
def compact_conversation() -> Response:
    """One sealed item that stands for a whole conversation; it is the input of a new chain. Nothing is stored."""
    body = load(CreateResponse, json_object(request, max_body_bytes()))
    if body.get("input") is None and "previous_response_id" not in body:
        raise ServerError(INVALID_PARAMETER, "input is required", param="input")
    items = [*input_items(body), {"type": TRIGGER}]  # type: ignore[arg-type]  # a validated body has these fields
    asked = {**body, "input": items, "stream": False, "store": False}
    context, answer = begin(gateway(), asked, caller(), request_id=request_id())
    response = answer_sync(answer, context)
    return json_reply(
        {
            "id": new_item_id("resp"),
            "object": "response.compaction",
            "created_at": response["created_at"],
            "output": response["output"],
            "usage": response["usage"] or _estimated_usage(estimate_tokens(context.chat)),
        }
    )


@api.post("/responses/input_tokens")
def count_input_tokens() -> Response:
    """An estimate, and said to be one by a header: upstreams of this protocol have no route that counts."""
    body = load(CreateResponse, json_object(request, max_body_bytes()))
    body.pop("context_management", None)  # what would be compacted is still counted
    context = prepare(gateway(), {**body, "store": False}, caller(), request_id=request_id())
    reply = json_reply({"object": "response.input_tokens", "input_tokens": estimate_tokens(context.chat)})
    reply.headers.update(ESTIMATE)
    return reply


def _estimated_usage(input_tokens: int) -> dict[str, Any]:
    """The contract demands a usage here even where the upstream reported none."""
    return {
        "input_tokens": input_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input_tokens,
    }
