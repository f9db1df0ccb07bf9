"""OpenAI's own Chat Completions, for those who want chains and stores of their own in front of it."""

from __future__ import annotations

from providers.chat import chat_spec
from providers.openai_models import CAPABILITIES, MODELS

OPENAI = chat_spec(
    name="openai",
    base_url="https://api.openai.com/v1",
    api_key_env="OPENAI_API_KEY",
    default_model="gpt-5.5",
    capabilities=CAPABILITIES,
    models=MODELS,
)
