"""Azure OpenAI. The address is the resource's own: https://NAME.openai.azure.com/openai/v1, or, with deployments,
https://NAME.openai.azure.com/openai/deployments/DEPLOYMENT?api-version=…
"""

from __future__ import annotations

from providers.chat import chat_spec
from providers.openai_models import CAPABILITIES, MODELS

AZURE = chat_spec(
    name="azure",
    base_url="",
    auth_header="api-key",
    auth_scheme="",
    api_key_env="AZURE_OPENAI_API_KEY",
    capabilities=CAPABILITIES,
    models=MODELS,
)
