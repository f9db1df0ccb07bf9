"""LM Studio's server."""

from __future__ import annotations

from bridge.spec import Capabilities
from providers.chat import chat_spec

LMSTUDIO = chat_spec(
    name="lmstudio",
    base_url="http://127.0.0.1:1234/v1",
    needs_key=False,
    capabilities=Capabilities(
        tool_choice=frozenset({"auto", "none", "required"}),  # a word only, no object
        response_formats=frozenset({"text", "json_schema"}),  # json_object is refused
        system_rule="merge_first",
    ),
    models=(("*gpt-oss*", {"effort": "native", "effort_map": {"none": "low"}, "thinking_by_default": True}),),
)
