"""What OpenAI's models take, wherever they are served (OpenAI, Azure)."""

from __future__ import annotations

from bridge.spec import Capabilities

SAMPLING = frozenset({"temperature", "top_p", "presence_penalty", "frequency_penalty", "top_logprobs"})

CAPABILITIES = Capabilities(
    parameters=SAMPLING
    | {
        "max_output_tokens",
        "parallel_tool_calls",
        "service_tier",
        "prompt_cache_key",
        "prompt_cache_retention",
        "safety_identifier",
        "user",
        "verbosity",
    },
    token_limit_field="max_completion_tokens",
    max_tools=128,
    strict_tools=True,
    input_files=True,
    instruction_role="developer",
    json_word_needed=True,
)
_REASONS = {"effort": "native", "thinking_by_default": True, "parameters_refused_while_thinking": SAMPLING}
MODELS = (
    ("gpt-5*", {**_REASONS, "efforts": ("none", "minimal", "low", "medium", "high", "xhigh")}),
    ("o[0-9]*", _REASONS),
)
