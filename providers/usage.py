"""Token counts, in all the spellings that upstreams use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bridge.spec import Usage

Fields = Mapping[str, Any]


def read_usage(body: Fields) -> Usage | None:
    """The usage that a chunk or a whole answer reports, wherever it stands in it; None when it reports nothing.

    Seen: at the top (nearly all), in choices[0] (Moonshot), in x_groq (Groq, the last chunk). Zeros in every count are
    a placeholder that some servers put into each chunk, not a report.
    """
    fields = body.get("usage")
    if not fields:
        choices = body.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        fields = choice.get("usage") if isinstance(choice, dict) else None
    if not fields and isinstance(groq := body.get("x_groq"), dict):
        fields = groq.get("usage")
    return _usage(fields) if isinstance(fields, dict) else None


def _usage(fields: Fields) -> Usage | None:
    sent = _details(fields, "prompt_tokens_details", "input_tokens_details")
    made = _details(fields, "completion_tokens_details", "output_tokens_details")
    total = _count(fields, "total_tokens")
    given = _count(fields, "prompt_tokens", "input_tokens")
    written = _count(fields, "completion_tokens", "output_tokens")
    if given is None and written is None:
        return None
    if given is None:
        given = max((total or 0) - (written or 0), 0)
    if written is None:
        written = max((total or 0) - given, 0)
    if not (given or written or total):
        return None
    cached = _count(sent, "cached_tokens", "cache_read_tokens", "cache_read_input_tokens")
    if cached is None:
        cached = _count(fields, "prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens")
    cache_write = _count(sent, "cache_creation_tokens", "cache_write_tokens", "cache_creation_input_tokens")
    if cache_write is None:
        cache_write = _count(fields, "cache_creation_input_tokens", "cache_write_tokens")
    reasoning = _count(made, "reasoning_tokens")
    if reasoning is None:
        reasoning = _count(fields, "reasoning_tokens")
    return Usage(
        input_tokens=given,
        output_tokens=written,
        cached_tokens=cached,
        cache_write_tokens=cache_write,
        reasoning_tokens=reasoning,
    )


def _details(fields: Fields, *names: str) -> Fields:
    return next((fields[name] for name in names if isinstance(fields.get(name), dict)), {})


def _count(fields: Fields, *names: str) -> int | None:
    """The first of these that is a number; 12.0 is 12. None when none is."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15:
            return int(value)
    return None
