"""Xiaomi MiMo, api.xiaomimimo.com: as documented by the vendor, 2026.

Token plans answer at https://token-plan-cn.xiaomimimo.com/v1 and https://token-plan-sgp.xiaomimimo.com/v1.
"""

from __future__ import annotations

from bridge.spec import Capabilities
from providers.chat import chat_spec
from providers.xiaomi import hooks

XIAOMI = chat_spec(
    name="xiaomi",
    base_url="https://api.xiaomimimo.com/v1",
    api_key_env="MIMO_API_KEY",
    default_model="mimo-v2.5-pro",
    capabilities=Capabilities(
        parameters=frozenset({"max_output_tokens", "temperature", "top_p", "presence_penalty", "frequency_penalty"}),
        token_limit_field="max_completion_tokens",
        parameters_refused_while_thinking=frozenset({"temperature", "top_p"}),  # forced to 1.0 and 0.95 then
        tools=frozenset({"function", "web_search", "web_search_preview"}),
        tool_choice=frozenset({"auto"}),
        response_formats=frozenset({"text", "json_object"}),
        effort="boolean",  # the bridge's `thinking` object is this upstream's own
        effort_map={"minimal": "none"},
        thinking_by_default=True,
        # A history with calls must bring their reasoning, else 400; the empty string stands for what is lost.
        reasoning_replay="with_tools",
        reasoning_lost="empty",
        input_images=False,
    ),
    patch_request=hooks.patch_request,
    models=(
        ("mimo-v2.5", {"input_images": True}),
        ("*omni*", {"input_images": True}),
        ("mimo-v2-flash", {"thinking_by_default": False}),
    ),
)
