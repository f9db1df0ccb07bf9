"""Patches that say "think" in the words of one upstream.

The bridge writes `reasoning_effort` (a level, or "none") where the capability is native, and
`thinking: {"type": "enabled" | "disabled"}` where it is boolean.
"""

from __future__ import annotations

from typing import Any

from bridge.protocol.chat import ChatRequest


def effort_with_switch(request: ChatRequest) -> ChatRequest:
    """Beside the level goes `thinking`, and "none" is the switch alone (DeepSeek, Zhipu: they refuse it as a level)."""
    if "reasoning_effort" not in request:
        return request
    patched = dict(request)
    thinks = patched["reasoning_effort"] != "none"
    if not thinks:
        del patched["reasoning_effort"]
    patched["thinking"] = {"type": "enabled" if thinks else "disabled"}
    return patched


def thinks(request: ChatRequest) -> bool | None:
    """What the boolean switch says; None when nobody asked."""
    switch: Any = request.get("thinking")
    return switch.get("type") != "disabled" if isinstance(switch, dict) else None


def template_switch(request: ChatRequest) -> ChatRequest:
    """The switch as a variable of the model's chat template (servers of open-weight models)."""
    switch = thinks(request)
    if switch is None:
        return request
    patched = without_switch(request)
    variables = request.get("chat_template_kwargs")
    patched["chat_template_kwargs"] = {**(variables if isinstance(variables, dict) else {}), "enable_thinking": switch}
    return patched


def without_switch(request: ChatRequest) -> ChatRequest:
    """A copy of the request without the boolean switch."""
    return {name: value for name, value in request.items() if name != "thinking"}
