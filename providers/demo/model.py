"""One request → one answer. No clock, no randomness: equal requests get equal answers."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bridge.protocol.chat import ChatRequest
from providers.demo.conversation import count_tokens, read_conversation, text_of
from providers.demo.examples import Examples
from providers.demo.rules import reply
from providers.demo.tools import chosen_call
from providers.json_text import dump_json


@dataclass(frozen=True, slots=True)
class Answer:
    """call: (id, name, arguments as JSON text) or None. finish: stop, tool_calls or length."""

    id: str
    reasoning: str
    text: str
    call: tuple[str, str, str] | None
    finish: str
    usage: dict[str, Any]


def answer(request: ChatRequest) -> Answer:
    messages: Sequence[Mapping[str, Any]] = [m for m in request.get("messages") or () if isinstance(m, Mapping)]
    print_of_request = hashlib.blake2s(dump_json(request)).hexdigest()
    talk = read_conversation(messages)
    recognised, text = reply(talk)
    call: tuple[str, str, str] | None = None
    last = messages[-1] if messages else {}
    if last.get("role") == "tool":
        recognised, text = "the output of a tool", _told_by_tool(messages)
    elif picked := chosen_call(request, talk.now):
        name, arguments = picked
        recognised, text = f"a task for the tool {name}", ""
        call = (f"call_{print_of_request[:20]}", name, dump_json(arguments).decode())
    if call is None:
        text = _in_format(request.get("response_format"), talk.now, text)
    reasoning = ""
    if request.get("reasoning_effort") not in (None, "none"):
        turns = f"message {len(talk.said)} of the user" if talk.said else "no message of the user"
        reasoning = f"This is {turns}. I recognise {recognised}. I answer by the rule for that."
    return _limited(request, Answer(f"chatcmpl-{print_of_request[:24]}", reasoning, text, call, "stop", {}))


def pieces(text: str) -> list[str]:
    """Word by word, as a model streams; joined they are the text again."""
    return re.findall(r"\s*[\u3040-\u9fff]|\s*\S[^\s\u3040-\u9fff]*|\s+$", text)


def _told_by_tool(messages: Sequence[Mapping[str, Any]]) -> str:
    """The outputs behind the last assistant message, each with the name of its tool."""
    outputs: list[str] = []
    names: dict[Any, str] = {}
    for message in messages:
        if message.get("role") == "assistant":
            outputs.clear()
            for call in message.get("tool_calls") or ():
                names[call.get("id")] = (call.get("function") or {}).get("name") or "tool"
        elif message.get("role") == "tool":
            outputs.append(f"The tool {names.get(message.get('tool_call_id'), 'tool')} says: {text_of(message)}")
    return "\n".join(outputs)


def _in_format(response_format: Any, words: str, text: str) -> str:
    kind = response_format.get("type") if isinstance(response_format, Mapping) else None
    if kind == "json_object":
        return dump_json({"answer": text}).decode()
    if kind == "json_schema":
        schema = (response_format.get("json_schema") or {}).get("schema")
        return dump_json(Examples(schema if isinstance(schema, Mapping) else {}, words).instance()).decode()
    return text


def _limited(request: ChatRequest, whole: Answer) -> Answer:
    """Cut at max_tokens, as a model's budget does: reasoning counts, a call may lose its end."""
    limit = request.get("max_completion_tokens") or request.get("max_tokens")
    left = limit if isinstance(limit, int) else 1_000_000
    reasoning = _cut(whole.reasoning, left)
    left -= count_tokens(reasoning)
    text = _cut(whole.text, left)
    left -= count_tokens(text)
    call = whole.call
    if call is not None:
        call = (call[0], call[1], _cut(call[2], left))
    complete = (reasoning, text, call) == (whole.reasoning, whole.text, whole.call)
    finish = ("tool_calls" if call else "stop") if complete else "length"
    sent = sum(count_tokens(text_of(message)) + 3 for message in request.get("messages") or ())
    sent += count_tokens(dump_json(request["tools"]).decode()) if request.get("tools") else 0
    thought = count_tokens(reasoning)
    made = thought + count_tokens(text) + (count_tokens(call[2]) + 2 if call else 0)
    usage = {
        "prompt_tokens": sent,
        "completion_tokens": made,
        "total_tokens": sent + made,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": thought},
    }
    return Answer(whole.id, reasoning, text, call, finish, usage)


def _cut(text: str, tokens: int) -> str:
    if count_tokens(text) <= tokens:
        return text
    kept = ""
    for piece in re.findall(r"\s*[\u3040-\u9fff]|\s*[^\W\u3040-\u9fff]+|\s*[^\w\s]|\s+$", text):
        tokens -= count_tokens(piece)
        if tokens < 0:
            break
        kept += piece
    return kept
