"""llama.cpp's server (llama-server)."""

from __future__ import annotations

from bridge.spec import Capabilities
from providers.chat import chat_spec
from providers.thinking import template_switch

LLAMACPP = chat_spec(
    name="llamacpp",
    base_url="http://127.0.0.1:8080/v1",
    needs_key=False,
    capabilities=Capabilities(
        parameters=Capabilities().parameters | {"top_logprobs"},
        effort="boolean",  # chat_template_kwargs.enable_thinking, see the patch
        effort_map={"minimal": "none"},
        reasoning_replay="with_tools",
        input_images=False,  # only with --mmproj: set input_images: true then
        system_rule="merge_first",
    ),
    patch_request=template_switch,
)
