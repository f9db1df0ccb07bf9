"""Groq, api.groq.com: as documented by the vendor and reported in public, 2026."""

from __future__ import annotations

from bridge.spec import Capabilities
from providers.chat import chat_spec
from providers.groq import hooks

GROQ = chat_spec(
    name="groq",
    base_url="https://api.groq.com/openai/v1",
    api_key_env="GROQ_API_KEY",
    default_model="openai/gpt-oss-120b",
    capabilities=Capabilities(
        token_limit_field="max_completion_tokens",
        max_tools=128,
        response_formats=frozenset({"text", "json_object"}),
        json_word_needed=True,
        reasoning_replay="never",  # any field for reasoning in a message of the history is a 400
        input_images=False,
        stream_usage=False,  # comes unasked, in x_groq of the last chunk
    ),
    models=(
        (
            "openai/gpt-oss*",
            {
                "effort": "native",
                "thinking_by_default": True,
                "response_formats": frozenset({"text", "json_object", "json_schema"}),
            },
        ),
        ("moonshotai/*", {"response_formats": frozenset({"text", "json_object", "json_schema"})}),
        (
            "qwen/*",
            {
                "effort": "native",
                "efforts": ("none", "default"),
                "effort_map": dict.fromkeys(("minimal", "low", "medium", "high", "xhigh", "max", "ultra"), "default"),
                "thinking_by_default": True,
            },
        ),
        ("*llama-4*", {"input_images": True}),
    ),
    patch_request=hooks.patch_request,
)
