"""How Groq's wire differs: some models write their reasoning into the text unless told otherwise."""

from __future__ import annotations

from bridge.protocol.chat import ChatRequest


def patch_request(request: ChatRequest) -> ChatRequest:
    # Only where the parameter is known: elsewhere it is a 400.
    if str(request.get("model")).startswith("qwen/"):
        return {**request, "reasoning_format": "parsed"}
    return request
