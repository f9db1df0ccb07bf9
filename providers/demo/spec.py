"""The built-in upstream: a small rule-based model in this process, for a first look without any key."""

from __future__ import annotations

from bridge.spec import Capabilities
from providers.chat import chat_spec

DEMO = chat_spec(
    name="demo",
    base_url="demo:",  # no address: nothing leaves the process
    default_model="demo-1",
    needs_key=False,
    capabilities=Capabilities(
        effort="native",
        efforts=("none", "low", "medium", "high"),
        parameters=frozenset({"max_output_tokens", "temperature", "top_p"}),
        context_window=128_000,
    ),
)
