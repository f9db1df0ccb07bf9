"""DeepSeek, api.deepseek.com: as documented by the vendor and reported in public, 2026."""

from __future__ import annotations

from bridge.spec import Capabilities
from providers.chat import chat_spec
from providers.thinking import effort_with_switch

DEEPSEEK = chat_spec(
    name="deepseek",
    base_url="https://api.deepseek.com",  # works with and without /v1
    api_key_env="DEEPSEEK_API_KEY",
    default_model="deepseek-v4-pro",
    capabilities=Capabilities(
        parameters=frozenset(
            {"max_output_tokens", "temperature", "top_p", "presence_penalty", "frequency_penalty", "top_logprobs"}
        ),
        # Taken, but without effect: the client should hear that.
        parameters_refused_while_thinking=frozenset(
            {"temperature", "presence_penalty", "frequency_penalty", "top_logprobs"}
        ),
        max_tools=128,
        tool_choice_while_thinking=frozenset({"auto", "none"}),  # a forced choice is a 400 then
        response_formats=frozenset({"text", "json_object"}),
        json_word_needed=True,
        effort="native",
        efforts=("none", "low", "high", "max"),  # "none" becomes the switch `thinking`, see the patch
        effort_map={"minimal": "low", "medium": "high", "xhigh": "high", "ultra": "max"},
        thinking_by_default=True,
        # With tools in the request every earlier reasoning_content must be there word for word, else 400. For lost
        # ones the empty string is accepted, a placeholder is not.
        reasoning_replay="with_tools",
        reasoning_lost="empty",
        input_images=False,  # an image_url to a text model is a deserialisation error
    ),
    models=(("deepseek-flash*", {"input_images": True}),),
    patch_request=effort_with_switch,
)
