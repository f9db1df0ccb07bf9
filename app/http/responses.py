"""POST /v1/responses."""

from __future__ import annotations

from urllib.parse import quote

from flask import Response, request

from bridge.plan.diagnostics import compat_header

from ..context import ResponsesContext
from ..pipelines.begin import begin
from ..pipelines.exchange import Answer
from ..pipelines.stream import answer_stream
from ..pipelines.sync import answer_sync
from .blueprint import api, caller, gateway, request_id
from .body import json_object
from .replies import json_reply
from .schemas import CreateResponse, load
from .sse import stream_body

MEGABYTE = 1024 * 1024
PLAIN = "/:@._-+ ()[]=,"


def max_body_bytes() -> int:
    return int(gateway().config.server.max_body_mb * MEGABYTE)


@api.post("/responses")
def create_response() -> Response:
    body = load(CreateResponse, json_object(request, max_body_bytes()))
    # The upstream is called here, before the first byte of ours: what it refuses is an HTTP status.
    context, answer = begin(
        gateway(),
        body,
        caller(),
        request_id=request_id(),
        strict=request.headers.get("x-godex-strict") == "1",
        wants_report=request.headers.get("x-godex-diagnostics") == "1",
    )
    response = _event_stream(answer, context) if context.streams else json_reply(answer_sync(answer, context))
    response.headers["x-godex-model"] = quote(str(context.target), safe=PLAIN)  # a header is ASCII, a name need not be
    response.headers["x-godex-compat"] = compat_header(context.notes.entries)
    return response


def _event_stream(answer: Answer, context: ResponsesContext) -> Response:
    body = stream_body(
        answer_stream(answer, context),
        heart=context.gateway.heart,
        cancel=lambda: context.cancel(),  # looked up when it is called: an answer may take two upstream calls
        still_in_progress=context.turn.still_in_progress,
    )
    response = Response(body, mimetype="text/event-stream")
    response.headers["Cache-Control"] = "no-cache"
    response.headers["X-Accel-Buffering"] = "no"  # nginx would else hand everything over at the end
    return response
