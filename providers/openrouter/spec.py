"""OpenRouter, openrouter.ai: as documented by the vendor and reported in public, 2026."""

from __future__ import annotations

from bridge.spec import Capabilities
from providers.chat import chat_spec
from providers.openrouter import hooks

OPENROUTER = chat_spec(
    name="openrouter",
    base_url="https://openrouter.ai/api/v1",
    api_key_env="OPENROUTER_API_KEY",
    default_model="deepseek/deepseek-v4-pro",
    capabilities=Capabilities(
        parameters=frozenset(
            {
                "max_output_tokens",
                "temperature",
                "top_p",
                "presence_penalty",
                "frequency_penalty",
                "parallel_tool_calls",
                "top_logprobs",
                "user",
            }
        ),
        effort="native",
        efforts=("none", "minimal", "low", "medium", "high", "xhigh"),
        effort_map={"max": "xhigh", "ultra": "xhigh"},
        reasoning_replay="always",
        reasoning_field="reasoning_details",  # signed by the model's maker: unmodified and in order
    ),
    patch_request=hooks.patch_request,
    read_error=hooks.read_error,
)
