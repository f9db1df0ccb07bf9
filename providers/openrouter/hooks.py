"""How OpenRouter's wire differs: effort inside `reasoning`, and errors that wrap those of the provider behind it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bridge.protocol.chat import ChatRequest
from bridge.spec import UpstreamFault
from providers import error_shapes
from providers.json_text import parse_json


def patch_request(request: ChatRequest) -> ChatRequest:
    if "reasoning_effort" not in request:
        return request
    patched = dict(request)
    patched["reasoning"] = {"effort": patched.pop("reasoning_effort")}
    return patched


def read_error(value: Any) -> UpstreamFault | None:
    """The fault at the top, or in the first choice: there it stands when an answer had begun."""
    if not isinstance(value, dict):
        return error_shapes.read_error(value)
    error = value.get("error")
    choices = value.get("choices")
    if not error and isinstance(choices, list) and choices and isinstance(choices[0], dict):
        error = choices[0].get("error")
    if not error:
        return error_shapes.read_error(value)
    fault = error_shapes.read_error({"error": error})
    return fault and _unwrapped(fault, error)


def _unwrapped(fault: UpstreamFault, error: Any) -> UpstreamFault:
    """ "Provider returned error" says nothing: the sentence that does is in metadata.raw, often JSON itself."""
    metadata = error.get("metadata") if isinstance(error, dict) else None
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    inner = error_shapes.read_error(parse_json(raw) or raw) if isinstance(raw, str) else error_shapes.read_error(raw)
    if inner is None or not inner.message:
        return fault
    return replace(fault, message=f"{fault.message}: {inner.message}", type=inner.type or fault.type)
