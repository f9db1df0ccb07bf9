"""The Chat Completions wire, as far as the kernel reads or writes it. Providers extend these in their protocol.py."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class ChatFunction(TypedDict):
    name: str
    arguments: str


class ChatToolCall(TypedDict):
    id: str
    type: Literal["function"]
    function: ChatFunction


class ChatMessage(TypedDict, total=False):
    role: str
    content: str | list[dict[str, Any]] | None
    tool_calls: list[ChatToolCall]
    tool_call_id: str
    refusal: str
    name: str
    reasoning_content: str
    reasoning: str
    reasoning_details: list[dict[str, Any]]


class ChatFunctionDeclaration(TypedDict):
    name: str
    description: NotRequired[str]
    parameters: NotRequired[dict[str, Any]]
    strict: NotRequired[bool]


class ChatTool(TypedDict):
    type: str
    function: NotRequired[ChatFunctionDeclaration]


# A request stays a plain dict: providers add their own fields to it.
ChatRequest = dict[str, Any]


class ChatChunk(TypedDict, total=False):
    id: str
    model: str
    choices: list[dict[str, Any]]
    usage: dict[str, Any] | None
    error: Any


class ChatResponse(TypedDict, total=False):
    id: str
    model: str
    choices: list[dict[str, Any]]
    usage: dict[str, Any] | None
    error: Any
