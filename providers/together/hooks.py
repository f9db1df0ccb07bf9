"""How Together's wire differs: the switch of hybrid models is an object `reasoning`."""

from __future__ import annotations

from bridge.protocol.chat import ChatRequest
from providers.thinking import thinks, without_switch


def patch_request(request: ChatRequest) -> ChatRequest:
    switch = thinks(request)
    if switch is None:
        return request
    return {**without_switch(request), "reasoning": {"enabled": switch}}
