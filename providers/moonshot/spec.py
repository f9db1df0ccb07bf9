"""Moonshot Kimi, api.moonshot.ai (in China api.moonshot.cn): as documented and reported in public, 2026."""

from __future__ import annotations

from bridge.spec import Capabilities
from providers.chat import chat_spec

MOONSHOT = chat_spec(
    name="moonshot",
    base_url="https://api.moonshot.ai/v1",
    api_key_env="MOONSHOT_API_KEY",
    default_model="kimi-k3",
    capabilities=Capabilities(
        parameters=frozenset({"max_output_tokens"}),  # temperature and top_p are pinned: other values are refused
        token_limit_field="max_completion_tokens",
        tool_choice_while_thinking=frozenset({"auto", "none"}),  # a forced choice is refused then
        effort="boolean",  # the object `thinking`; beside it reasoning_effort would be a 400
        effort_map={"minimal": "none"},
        thinking_by_default=True,
        reasoning_replay="with_tools",  # needed in tool loops
        reasoning_lost="empty",
    ),
    models=(("kimi-k3", {"context_window": 1_000_000}),),
)
