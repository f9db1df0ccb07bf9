"""Which declared tool the user's words ask for, and with what arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bridge.protocol.chat import ChatRequest
from providers.demo.examples import Examples

Tool = Mapping[str, Any]

# Words that stand in nearly every tool's name or description, and in nearly every sentence.
_EMPTY_WORDS = frozenset(
    "a an and any are as at be by call do does for from function get give has have how i in is it its me my no of on "
    "or please run set show tell that the this to tool up use uses was what when where which who will with you "
    "your".split()
)
_SHELL_WORDS = frozenset("bash command commands execute files folder ls run shell terminal".split())


def chosen_call(request: ChatRequest, words: str) -> tuple[str, dict[str, Any]] | None:
    """(name, arguments) of the call to make for these words, or None for an answer in text."""
    tools = [tool for tool in map(_function, request.get("tools") or ()) if tool.get("name")]
    choice = request.get("tool_choice")
    if not tools or choice == "none":
        return None
    if isinstance(choice, Mapping):
        named = _function(choice).get("name")
        tool = next((tool for tool in tools if tool["name"] == named), None)
    else:
        best = max(tools, key=lambda tool: _fit(tool, words))  # the first of equals
        tool = best if choice in ("required", "any") or _fit(best, words) >= 2 else None
    if tool is None:
        return None
    arguments = Examples(tool.get("parameters") or {}, words).instance()
    return tool["name"], arguments if isinstance(arguments, dict) else {}


def _function(declared: Any) -> Tool:
    function = declared.get("function") if isinstance(declared, Mapping) else None
    return function if isinstance(function, Mapping) else {}


def _fit(tool: Tool, words: str) -> int:
    """Two points for a word of the tool's name in the user's words, one for a word of its description."""
    said = _stems(words)
    name = _stems(re.sub(r"([a-z])([A-Z])", r"\1 \2", tool["name"]).replace("_", " ").replace("-", " "))
    points = 2 * len(said & name) + len(said & _stems(str(tool.get("description") or "")[:500]))
    if name & {"shell", "exec", "bash", "terminal", "command"} and _plain(words) & _SHELL_WORDS:
        points += 2
    return points


def _stems(text: str) -> set[str]:
    return {word.removesuffix("s") for word in _plain(text) - _EMPTY_WORDS if len(word) > 2}


def _plain(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", text.lower()))
