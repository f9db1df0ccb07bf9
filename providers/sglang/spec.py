"""SGLang's server. What a model behind it can do beyond this belongs into godex.yaml."""

from __future__ import annotations

from bridge.spec import Capabilities
from providers.chat import chat_spec
from providers.thinking import template_switch

SGLANG = chat_spec(
    name="sglang",
    base_url="http://127.0.0.1:30000/v1",
    needs_key=False,
    capabilities=Capabilities(
        effort="boolean",  # chat_template_kwargs.enable_thinking, see the patch
        effort_map={"minimal": "none"},
        reasoning_replay="with_tools",
        call_markup=True,  # DeepSeek's call syntax has been seen in the text
        system_rule="merge_first",
    ),
    models=(
        ("*gpt-oss*", {"effort": "native", "effort_map": {"none": "low"}, "thinking_by_default": True}),
        ("*[Kk]imi*", {"tool_id_format": "function_index"}),  # the server counts calls through the whole history
    ),
    patch_request=template_switch,
)
