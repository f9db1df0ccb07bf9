"""How Zhipu's wire differs: thinking as an object, calls that only stream on request, errors as numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bridge.protocol.chat import ChatRequest
from bridge.spec import UpstreamFault
from providers import error_shapes
from providers.thinking import effort_with_switch

# What the numbers mean, as words that providers/fault_words.py knows.
ERROR_WORDS = {
    **dict.fromkeys(("1000", "1001", "1002", "1003", "1004"), "authentication_error"),
    **dict.fromkeys(("1110", "1111", "1112", "1120", "1220"), "permission_denied"),
    **dict.fromkeys(("1113", "1308", "1309", "1310"), "insufficient_quota"),
    **dict.fromkeys(("1210", "1212", "1213", "1214", "1215"), "invalid_request_error"),
    "1211": "model_not_found",
    "1234": "server_error",
    "1261": "context_length_exceeded",
    **dict.fromkeys(("1300", "1301"), "content_filter"),
    **dict.fromkeys(("1302", "1303", "1304", "1305"), "rate_limit_exceeded"),
}


def patch_request(request: ChatRequest) -> ChatRequest:
    patched = effort_with_switch(request)
    if patched.get("tools") and patched.get("stream"):
        patched = {**patched, "tool_stream": True}  # without it a call arrives whole, after a long silence
    return patched


def read_error(value: Any) -> UpstreamFault | None:
    fault = error_shapes.read_error(value)
    if fault is not None and fault.code in ERROR_WORDS:
        return replace(fault, type=ERROR_WORDS[fault.code])
    return fault
