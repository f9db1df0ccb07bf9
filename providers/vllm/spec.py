"""vLLM's server. What a model behind it can do beyond this belongs into godex.yaml."""

from __future__ import annotations

from bridge.spec import Capabilities
from providers.chat import chat_spec
from providers.thinking import template_switch

VLLM = chat_spec(
    name="vllm",
    base_url="http://127.0.0.1:8000/v1",
    needs_key=False,
    capabilities=Capabilities(
        parameters=Capabilities().parameters | {"top_logprobs"},
        effort="boolean",  # chat_template_kwargs.enable_thinking, see the patch
        effort_map={"minimal": "none"},
        reasoning_replay="with_tools",
        system_rule="merge_first",
    ),
    models=(
        ("*gpt-oss*", {"effort": "native", "effort_map": {"none": "low"}, "thinking_by_default": True}),
        ("*[Kk]imi*", {"tool_id_format": "function_index"}),  # foreign ids make the model fall silent
    ),
    patch_request=template_switch,
)
