from __future__ import annotations

from typing import Any

import pytest

from bridge.spec import Usage
from providers.usage import read_usage

REPORTS: dict[str, tuple[dict[str, Any], Usage | None]] = {
    "OpenAI": (
        {
            "prompt_tokens": 9,
            "completion_tokens": 4,
            "total_tokens": 13,
            "prompt_tokens_details": {"cached_tokens": 8},
            "completion_tokens_details": {"reasoning_tokens": 3},
        },
        Usage(input_tokens=9, output_tokens=4, cached_tokens=8, reasoning_tokens=3),
    ),
    "DeepSeek": (
        {"prompt_tokens": 9, "completion_tokens": 4, "prompt_cache_hit_tokens": 6, "prompt_cache_miss_tokens": 3},
        Usage(input_tokens=9, output_tokens=4, cached_tokens=6),
    ),
    "cached at the top": (
        {"prompt_tokens": 9, "completion_tokens": 4, "cached_tokens": 2},
        Usage(input_tokens=9, output_tokens=4, cached_tokens=2),
    ),
    "details null": (
        {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": None, "completion_tokens_details": None},
        Usage(input_tokens=9, output_tokens=4),
    ),
    "a count in the details is null": (
        {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": None}},
        Usage(input_tokens=9, output_tokens=4),
    ),
    "floats": ({"prompt_tokens": 9.0, "completion_tokens": 4.0}, Usage(input_tokens=9, output_tokens=4)),
    "names of the Responses API": (
        {"input_tokens": 9, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 0}},
        Usage(input_tokens=9, output_tokens=4, cached_tokens=0),
    ),
    "Anthropic's cache words": (
        {
            "prompt_tokens": 9,
            "completion_tokens": 4,
            "cache_creation_input_tokens": 5,
            "cache_read_input_tokens": 2,
        },
        Usage(input_tokens=9, output_tokens=4, cached_tokens=2, cache_write_tokens=5),
    ),
    "reasoning at the top": (
        {"prompt_tokens": 9, "completion_tokens": 4, "reasoning_tokens": 1},
        Usage(input_tokens=9, output_tokens=4, reasoning_tokens=1),
    ),
    "one side and the total": ({"prompt_tokens": 9, "total_tokens": 13}, Usage(input_tokens=9, output_tokens=4)),
    "zeros are a placeholder": ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, None),
    "only a total": ({"total_tokens": 13}, None),
    "true is no number": ({"prompt_tokens": True, "completion_tokens": True}, None),
    "nothing": ({}, None),
}


@pytest.mark.parametrize(("fields", "usage"), REPORTS.values(), ids=REPORTS)
def test_usage_is_read_in_every_spelling(fields: dict[str, Any], usage: Usage | None) -> None:
    assert read_usage({"usage": fields}) == usage


PLACES: dict[str, dict[str, Any]] = {
    "top": {"usage": {"prompt_tokens": 1, "completion_tokens": 2}},
    "choices[0]": {"choices": [{"usage": {"prompt_tokens": 1, "completion_tokens": 2}}], "usage": None},
    "x_groq": {"choices": [], "x_groq": {"id": "r", "usage": {"prompt_tokens": 1, "completion_tokens": 2}}},
}


@pytest.mark.parametrize("body", PLACES.values(), ids=PLACES)
def test_usage_is_found_wherever_it_stands(body: dict[str, Any]) -> None:
    assert read_usage(body) == Usage(input_tokens=1, output_tokens=2)


@pytest.mark.parametrize("body", [{}, {"usage": "none"}, {"choices": ["x"]}, {"choices": [{}]}, {"x_groq": {}}])
def test_no_usage_is_none_and_not_zero(body: dict[str, Any]) -> None:
    assert read_usage(body) is None
