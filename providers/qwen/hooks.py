"""How DashScope's wire differs: thinking is a plain boolean."""

from __future__ import annotations

from bridge.protocol.chat import ChatRequest
from providers.thinking import thinks, without_switch


def patch_request(request: ChatRequest) -> ChatRequest:
    switch = thinks(request)
    patched = without_switch(request)
    if (request.get("response_format") or {}).get("type") == "json_object":
        switch = False  # JSON mode is refused while the model thinks
    if switch is not None:
        patched["enable_thinking"] = switch
    return patched
