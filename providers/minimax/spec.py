"""MiniMax, api.minimax.io (in China api.minimaxi.com): as documented by the vendor and reported in public, 2026."""

from __future__ import annotations

from bridge.spec import Capabilities
from providers.chat import chat_spec
from providers.minimax import hooks

MINIMAX = chat_spec(
    name="minimax",
    base_url="https://api.minimax.io/v1",
    api_key_env="MINIMAX_API_KEY",
    default_model="MiniMax-M3",
    capabilities=Capabilities(
        parameters=frozenset({"max_output_tokens", "temperature", "top_p"}),  # others are dropped without a word
        temperature_range=(0.01, 2.0),
        tool_choice=frozenset({"auto", "none"}),
        response_formats=frozenset({"text", "json_object"}),
        effort="boolean",
        effort_map={"minimal": "none"},
        thinking_by_default=True,
        reasoning_replay="always",  # the whole message must come back, or tool loops lose their thread
        reasoning_field="reasoning_details",
        # Where `reasoning_split` is not honoured. Long sessions close the block with other spellings.
        think_tags=(("<think>", ("</think>", "</mm:think>", "</minimax:think>")),),
        input_video=True,
        context_window=1_000_000,
    ),
    models=(
        (
            "MiniMax-M2*",
            {
                "temperature_range": (0.01, 1.0),
                "effort": "none",  # always thinks: the switch is ignored
                "input_images": False,
                "input_video": False,
                "context_window": None,
            },
        ),
    ),
    patch_request=hooks.patch_request,
    read_deltas=hooks.read_deltas,
    read_response=hooks.read_response,
    read_error=hooks.read_error,
)
