"""Mistral, api.mistral.ai: as documented by the vendor and reported in public, 2026."""

from __future__ import annotations

from bridge.spec import Capabilities
from providers.chat import chat_spec

MISTRAL = chat_spec(
    name="mistral",
    base_url="https://api.mistral.ai/v1",
    api_key_env="MISTRAL_API_KEY",
    default_model="mistral-large-latest",
    capabilities=Capabilities(
        temperature_range=(0.0, 1.5),
        required_word="any",
        tool_id_format="alnum9",  # error 3280
        strict_turns=True,  # error 3230: no user behind a tool
        stream_usage=False,  # usage comes unasked, and an unknown field is a 422
    ),
)
