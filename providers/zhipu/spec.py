"""Zhipu GLM, open.bigmodel.cn: as documented by the vendor and reported in public, 2026.

The coding plan answers at /api/coding/paas/v4, the international site at https://api.z.ai/api/paas/v4.
"""

from __future__ import annotations

from bridge.spec import Capabilities
from providers.chat import chat_spec
from providers.zhipu import hooks

# Models before 5.2 only switch thinking on and off.
ON_OFF = {"effort": "boolean", "effort_map": {"minimal": "none"}}

ZHIPU = chat_spec(
    name="zhipu",
    base_url="https://open.bigmodel.cn/api/paas/v4",
    api_key_env="ZHIPU_API_KEY",
    default_model="glm-5.3",
    capabilities=Capabilities(
        parameters=frozenset({"max_output_tokens", "temperature", "top_p"}),
        max_output_tokens_cap=131_072,
        temperature_range=(0.01, 1.0),
        top_p_range=(0.01, 1.0),
        max_tools=128,
        tools=frozenset({"function", "web_search", "web_search_preview"}),
        tool_choice=frozenset({"auto"}),
        response_formats=frozenset({"text", "json_object"}),
        effort="native",
        efforts=("none", "high", "max"),  # "none" becomes the switch `thinking`, see the patch
        effort_map={"minimal": "none", "low": "high", "medium": "high", "xhigh": "max", "ultra": "max"},
        thinking_by_default=True,
        reasoning_replay="with_tools",  # asked for; missing reasoning costs quality, not the request
        input_images=False,
    ),
    models=(
        ("glm-4*", ON_OFF),
        ("glm-5", ON_OFF),
        ("glm-5.1*", ON_OFF),
        ("glm-5.2", {"context_window": 1_000_000}),
        ("glm-*v", {"input_images": True}),
        ("glm-*v-*", {"input_images": True}),
    ),
    patch_request=hooks.patch_request,
    read_deltas=hooks.read_deltas,
    read_response=hooks.read_response,
    read_error=hooks.read_error,
)
