"""Token counts in the Responses shape."""

from __future__ import annotations

from typing import Any

from bridge.spec import Usage


def response_usage(usage: Usage | None) -> dict[str, Any] | None:
    """The `usage` object with both details, or None when the upstream reported nothing (never a made-up zero total)."""
    if usage is None:
        return None
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cached_tokens or 0,
            "cache_write_tokens": usage.cache_write_tokens or 0,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }
