"""Together, api.together.xyz: as documented by the vendor and reported in public, 2026."""

from __future__ import annotations

from providers.chat import chat_spec
from providers.together import hooks

HYBRID = {"effort": "boolean", "effort_map": {"minimal": "none"}}  # one model that thinks or does not

TOGETHER = chat_spec(
    name="together",
    base_url="https://api.together.xyz/v1",
    api_key_env="TOGETHER_API_KEY",
    default_model="openai/gpt-oss-120b",
    models=(
        (
            "openai/gpt-oss*",  # cannot be kept from thinking, and refuses "max"
            {"effort": "native", "effort_map": {"none": "low"}, "thinking_by_default": True},
        ),
        ("deepseek-ai/DeepSeek-V*", HYBRID),
        ("zai-org/*", HYBRID),
        ("moonshotai/*", HYBRID),
        ("Qwen/Qwen3*", HYBRID),
    ),
    patch_request=hooks.patch_request,
)
