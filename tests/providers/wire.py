"""A spec at work: the body that a Responses request becomes for it, the deltas that it reads out of wire samples."""

from __future__ import annotations

from typing import Any

import orjson

from bridge.plan.diagnostics import Diagnostics
from bridge.request.build import build_chat_request, plan_request
from bridge.spec import ProviderSpec
from bridge.stream.deltas import Delta
from providers.chunks import ChunkReader, read_body


def body_sent(spec: ProviderSpec, request: dict[str, Any], model: str = "") -> dict[str, Any]:
    """request: a Responses body; model and input are filled in when it has none."""
    model = model or spec.default_model or "m"
    request = {"model": model, "input": "hi", **request}
    items = request["input"]
    if isinstance(items, str):
        items = [{"type": "message", "role": "user", "content": items}]
    plan = plan_request(request, items, spec.capabilities_for(model), Diagnostics())
    built = build_chat_request(request, items, plan, model=model, first_input=0, unseal=lambda sealed: None)
    return spec.patch_request(built)


def deltas_of(spec: ProviderSpec, stream: str) -> list[Delta]:
    """stream: a body of server-sent events. Raises ProviderError as the transport does."""
    reader = ChunkReader(spec.name, [stream.encode()], spec.read_error)
    return [delta for batch in reader.batches() for chunk in batch for delta in spec.read_deltas(chunk)]


def deltas_of_body(spec: ProviderSpec, body: Any) -> list[Delta]:
    """body: a whole answer, parsed. Raises ProviderError as the transport does."""
    return list(spec.read_response(read_body(spec.name, [orjson.dumps(body)], spec.read_error)))
