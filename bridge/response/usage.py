"""Token counts in the Responses shape."""

from __future__ import annotations

from typing import Any

from bridge.spec import Usage


def added(first: Usage | None, second: Usage | None) -> Usage | None:
    """The counts of two rounds that made one answer."""
    if first is None or second is None:
        return first or second
    return Usage(
        input_tokens=first.input_tokens + second.input_tokens,
        output_tokens=first.output_tokens + second.output_tokens,
        cached_tokens=_sum(first.cached_tokens, second.cached_tokens),
        cache_write_tokens=_sum(first.cache_write_tokens, second.cache_write_tokens),
        reasoning_tokens=_sum(first.reasoning_tokens, second.reasoning_tokens),
    )


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None and second is None else (first or 0) + (second or 0)


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
