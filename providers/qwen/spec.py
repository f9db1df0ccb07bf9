"""Qwen on DashScope (outside China dashscope-intl.aliyuncs.com): as documented and reported in public, 2026."""

from __future__ import annotations

from bridge.spec import Capabilities
from providers.chat import chat_spec
from providers.qwen import hooks

THINKS_ALOUD = {"thinking_by_default": True, "stream_only": True}  # open weights that think: stream false is a 400

QWEN = chat_spec(
    name="qwen",
    base_url="https://dashscope.aliyuncs.com/compatible-mode/v1",
    api_key_env="DASHSCOPE_API_KEY",
    default_model="qwen3.8-max",
    capabilities=Capabilities(
        parameters=frozenset(
            {"max_output_tokens", "temperature", "top_p", "presence_penalty", "parallel_tool_calls", "top_logprobs"}
        ),
        tool_choice_while_thinking=frozenset({"auto", "none"}),
        response_formats=frozenset({"text", "json_object"}),
        json_word_needed=True,
        effort="boolean",
        effort_map={"minimal": "none"},
        system_rule="merge_first",  # Qwen's templates refuse a late system message
    ),
    models=(
        ("qwen3-[0-9]*b*", THINKS_ALOUD),
        ("*thinking*", THINKS_ALOUD),
        ("qwq*", THINKS_ALOUD),
        ("*instruct*", {"effort": "none", "thinking_by_default": False, "stream_only": False}),
        ("*coder*", {"effort": "none", "thinking_by_default": False, "stream_only": False, "input_images": False}),
        ("*max*", {"input_images": False}),
        ("qwen3-coder-plus", {}),
    ),
    patch_request=hooks.patch_request,
)
