"""The Response object: all of its 31 fields, with the contract's defaults (section 2) where the client was silent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Response = dict[str, Any]

EFFORTS = frozenset({"none", "minimal", "low", "medium", "high", "xhigh", "max"})


def new_response(request: Mapping[str, Any], *, response_id: str, created_at: int, stored: bool) -> Response:
    """The response as it is when it begins: status in_progress, no output. `request` is a validated body."""
    response: Response = {
        "id": response_id,
        "object": "response",
        "created_at": created_at,
        "completed_at": None,
        "status": "in_progress",
        "incomplete_details": None,
        "error": None,
        "model": request["model"],
        "previous_response_id": request.get("previous_response_id"),
        "instructions": request.get("instructions"),
        "output": [],
        "tools": [_echo_tool(tool) for tool in request.get("tools") or ()],
        "tool_choice": _echo_choice(request.get("tool_choice")),
        "truncation": request.get("truncation") or "disabled",
        "parallel_tool_calls": _or(request.get("parallel_tool_calls"), True),
        "text": _echo_text(request.get("text")),
        "temperature": _or(request.get("temperature"), 1.0),
        "top_p": _or(request.get("top_p"), 1.0),
        "presence_penalty": _or(request.get("presence_penalty"), 0),
        "frequency_penalty": _or(request.get("frequency_penalty"), 0),
        "top_logprobs": _or(request.get("top_logprobs"), 0),
        "reasoning": _echo_reasoning(request.get("reasoning")),
        "usage": None,
        "max_output_tokens": request.get("max_output_tokens"),
        "max_tool_calls": request.get("max_tool_calls"),
        "store": stored,
        "background": False,
        "service_tier": "default",
        "metadata": request.get("metadata") or {},
        "safety_identifier": request.get("safety_identifier"),
        "prompt_cache_key": request.get("prompt_cache_key"),
    }
    conversation = request.get("conversation")
    if conversation is not None:  # beyond the 31: shown where there is one
        response["conversation"] = {"id": conversation["id"] if isinstance(conversation, dict) else conversation}
    return response


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def _echo_tool(tool: dict[str, Any]) -> dict[str, Any]:
    if tool.get("type") != "function":
        return tool
    return {"description": None, "parameters": None, "strict": None, **tool}


def _echo_choice(choice: Any) -> Any:
    if choice is None:
        return "auto"
    if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        return {**choice, "mode": choice.get("mode") or "auto"}
    return choice


def _echo_text(text: Mapping[str, Any] | None) -> dict[str, Any]:
    text = text or {}
    form = text.get("format") or {"type": "text"}
    if form["type"] == "json_schema":
        form = {**form, "description": form.get("description"), "strict": bool(form.get("strict"))}
    verbosity = text.get("verbosity")
    return {"format": form} if verbosity is None else {"format": form, "verbosity": verbosity}


def _echo_reasoning(reasoning: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if reasoning is None:
        return None
    effort = reasoning.get("effort")
    # Codex passes on whatever its user typed; a word that no client's model of the API knows would break the others.
    return {"effort": effort if effort in EFFORTS else None, "summary": reasoning.get("summary")}
