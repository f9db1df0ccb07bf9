"""How Zhipu's wire differs: thinking as an object, calls that only stream on request, search results beside
the choices, errors as numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from bridge.protocol.chat import ChatChunk, ChatRequest, ChatResponse
from bridge.spec import UpstreamFault
from bridge.stream.deltas import AnnotationDelta, Delta, SearchDelta
from providers import chat, error_shapes
from providers.thinking import effort_with_switch
from providers.zhipu.protocol import Searched, SearchResult

# What the numbers mean, as words that providers/fault_words.py knows.
ERROR_WORDS = {
    **dict.fromkeys(("1000", "1001", "1002", "1003", "1004"), "authentication_error"),
    **dict.fromkeys(("1110", "1111", "1112", "1120", "1220"), "permission_denied"),
    **dict.fromkeys(("1113", "1308", "1309", "1310"), "insufficient_quota"),
    **dict.fromkeys(("1210", "1212", "1213", "1214", "1215"), "invalid_request_error"),
    "1211": "model_not_found",
    "1234": "server_error",
    "1261": "context_length_exceeded",
    **dict.fromkeys(("1300", "1301"), "content_filter"),
    **dict.fromkeys(("1302", "1303", "1304", "1305"), "rate_limit_exceeded"),
}


# How many results the words of the Responses API stand for.
SEARCH_COUNT = {"low": 3, "medium": 5, "high": 10}


def patch_request(request: ChatRequest) -> ChatRequest:
    patched = effort_with_switch(request)
    if patched.get("tools"):
        patched = {**patched, "tools": [_tool(tool) for tool in patched["tools"]]}
        if patched.get("stream"):
            patched["tool_stream"] = True  # without it a call arrives whole, after a long silence
    return patched


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    """The search tool as this vendor declares it: an object under its own name; the model decides when to search."""
    if tool["type"] == "function":
        return tool
    search: dict[str, Any] = {"enable": True, "search_engine": "search_std", "search_result": True}
    search["count"] = SEARCH_COUNT.get(tool.get("search_context_size") or "", SEARCH_COUNT["medium"])
    domains = (tool.get("filters") or {}).get("allowed_domains")
    if domains:
        search["search_domain_filter"] = domains[0]  # it takes one
    return {"type": "web_search", "web_search": search}


def read_deltas(chunk: ChatChunk) -> Iterable[Delta]:
    deltas = chat.read_deltas(chunk)
    found = cast(Searched, chunk).get("web_search")
    return [*_search(found), *deltas] if found else deltas


def read_response(body: ChatResponse) -> Iterable[Delta]:
    return [*_search(cast(Searched, body).get("web_search") or []), *chat.read_response(body)]


def _search(results: list[SearchResult]) -> list[Delta]:
    """Results stand beside `choices`: {title, link, content, refer …} each."""
    sources = [(entry["link"], entry.get("title") or "") for entry in results if entry.get("link")]
    if not sources:
        return []
    cited: list[Delta] = [
        AnnotationDelta({"type": "url_citation", "start_index": 0, "end_index": 0, "url": url, "title": title})
        for url, title in sources
    ]
    return [SearchDelta("", tuple(url for url, _ in sources)), *cited]


def read_error(value: Any) -> UpstreamFault | None:
    fault = error_shapes.read_error(value)
    if fault is not None and fault.code in ERROR_WORDS:
        return replace(fault, type=ERROR_WORDS[fault.code])
    return fault
