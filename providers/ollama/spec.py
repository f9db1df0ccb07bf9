"""Ollama. Its small default context is cut in silence: raise it there (OLLAMA_CONTEXT_LENGTH)."""

from __future__ import annotations

from bridge.spec import Capabilities
from providers.chat import chat_spec

OLLAMA = chat_spec(
    name="ollama",
    base_url="http://127.0.0.1:11434/v1",
    needs_key=False,
    capabilities=Capabilities(
        # parallel_tool_calls and every tool_choice but auto are taken and have no effect.
        parameters=Capabilities().parameters - {"parallel_tool_calls"},
        tool_choice=frozenset({"auto"}),
        effort="native",
        efforts=("none", "low", "medium", "high", "max"),  # minimal and xhigh are refused
        reasoning_replay="with_tools",
        reasoning_field="reasoning",
        system_rule="merge_first",  # some renderers fail with a 500 on a late system message
    ),
)
