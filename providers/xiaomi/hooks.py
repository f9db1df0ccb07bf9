"""How MiMo's wire differs: its search tool keeps its settings beside the type; citations come as annotations."""

from __future__ import annotations

from typing import Any

from bridge.protocol.chat import ChatRequest

# How many results the words of the Responses API stand for.
SEARCH_LIMIT = {"low": 1, "medium": 3, "high": 5}


def patch_request(request: ChatRequest) -> ChatRequest:
    if not request.get("tools"):
        return request
    return {**request, "tools": [_tool(tool) for tool in request["tools"]]}


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    if tool["type"] == "function":
        return tool
    search: dict[str, Any] = {"type": "web_search", "force_search": False}
    search["limit"] = SEARCH_LIMIT.get(tool.get("search_context_size") or "", SEARCH_LIMIT["medium"])
    if tool.get("user_location"):
        search["user_location"] = {key: value for key, value in tool["user_location"].items() if value is not None}
    return search
