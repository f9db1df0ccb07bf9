"""Any server that speaks Chat Completions and about which nothing more is known.

Its capabilities can be set in godex.yaml, for the provider and for single models.
"""

from __future__ import annotations

from providers.chat import chat_spec

OPENAI_COMPATIBLE = chat_spec(name="openai_compatible", base_url="", needs_key=False)
