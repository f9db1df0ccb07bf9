"""The plain OpenAI-compatible accessors: what an upstream says, read out of Chat Completions objects.

They are the default of every hook in a ProviderSpec and take all the spellings that compatible servers are known to
use; a provider brings a hook of its own only where its wire contradicts these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson

from bridge.protocol.chat import ChatChunk, ChatResponse
from bridge.spec import ProviderSpec
from bridge.stream.deltas import (
    AnnotationDelta,
    Delta,
    EndDelta,
    FinishDelta,
    ReasoningDelta,
    ReasoningDetailsDelta,
    RefusalDelta,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from providers.error_shapes import read_error
from providers.usage import read_usage

Fields = Mapping[str, Any]


def chat_spec(**fields: Any) -> ProviderSpec:
    """A ProviderSpec whose accessors are the plain ones of this module, unless `fields` names others."""
    return ProviderSpec(
        **{"read_deltas": read_deltas, "read_response": read_response, "read_error": read_error, **fields}
    )


def read_deltas(chunk: ChatChunk) -> Iterable[Delta]:
    """The deltas of one stream chunk: reasoning, text, refusal, calls, usage, finish reason. Nothing → empty."""
    # Nearly every chunk is one word of text and nothing else: it takes the short way.
    try:
        choice = chunk["choices"][0]
        delta = choice["delta"]
        text = delta["content"]
        if len(delta) == 1 and text.__class__ is str and not choice["finish_reason"] and not chunk.get("usage"):
            if not text:
                return ()
            if not choice.get("logprobs") and "usage" not in choice:
                return (TextDelta(text),)
    except (LookupError, TypeError):
        pass
    first = _first_choice(chunk)
    return _closed(message_deltas(_mapping(first.get("delta")), first), chunk, first)


def read_response(body: ChatResponse) -> Iterable[Delta]:
    """A sync body as the deltas that the same answer would have been as a stream, EndDelta last."""
    choice = _first_choice(body)
    found = message_deltas(_mapping(choice.get("message")), choice)
    return [*_closed(found, body, choice), EndDelta()]


def message_deltas(message: Fields, choice: Fields) -> list[Delta]:
    """What a message or a stream delta says; `choice` is the one that holds it (for its logprobs)."""
    found: list[Delta] = []
    if reasoning := _reasoning(message):
        found.append(ReasoningDelta(reasoning))
    if blocks := _mappings(message.get("reasoning_details")):
        found.append(ReasoningDetailsDelta(tuple(blocks)))
    if content := message.get("content"):
        found += _content(content, _logprobs(choice))
    if (refusal := message.get("refusal")) and isinstance(refusal, str):
        found.append(RefusalDelta(refusal))
    if annotations := message.get("annotations"):
        found += _citations(annotations)
    if calls := message.get("tool_calls"):
        for call in _mappings(calls):
            found += _call(call, _mapping(call.get("function")))
    if legacy := message.get("function_call"):  # the API before tools
        found += _call({"index": 0}, _mapping(legacy))
    return found


def _closed(found: list[Delta], body: Fields, choice: Fields) -> list[Delta]:
    usage = read_usage(body)
    if usage is not None:
        found.append(UsageDelta(usage))
    if (reason := choice.get("finish_reason")) and isinstance(reason, str):
        found.append(FinishDelta(reason))
    return found


def _first_choice(body: Fields) -> Fields:
    choices = body.get("choices")
    return _mapping(choices[0]) if isinstance(choices, list) and choices else {}


def _reasoning(message: Fields) -> str:
    """Servers that know several of these fields repeat the same text in each: the first one with text counts."""
    for name in ("reasoning_content", "reasoning"):
        if (text := message.get(name)) and isinstance(text, str):
            return text
    details = message.get("reasoning_details")
    if not details:
        return ""
    texts = (block.get("text") or block.get("summary") for block in _mappings(details))
    return "".join(text for text in texts if isinstance(text, str))


def _content(content: Any, logprobs: tuple[dict[str, Any], ...]) -> Iterator[Delta]:
    if isinstance(content, str):
        yield TextDelta(content, logprobs)
        return
    for part in _mappings(content):
        kind = part.get("type")
        if kind == "thinking":
            if thought := _joined(part.get("thinking")):
                yield ReasoningDelta(thought)
        elif kind in ("text", "output_text", None):
            if (text := part.get("text")) and isinstance(text, str):
                yield TextDelta(text, logprobs)
                logprobs = ()
        elif kind == "refusal" and isinstance(part.get("refusal"), str):
            yield RefusalDelta(part["refusal"])


def _citations(annotations: Any) -> Iterator[Delta]:
    for annotation in _mappings(annotations):
        # OpenAI nests the citation; Xiaomi writes its fields beside the type.
        citation = annotation.get("url_citation") or annotation
        if annotation.get("type") == "url_citation" and isinstance(citation, dict):
            place = {"start_index": 0, "end_index": 0, "url": "", "title": ""}
            known = {name: citation[name] for name in place if citation.get(name) is not None}
            yield AnnotationDelta({"type": "url_citation", **place, **known})


def _joined(parts: Any) -> str:
    if isinstance(parts, str):
        return parts
    return "".join(part["text"] for part in _mappings(parts) if isinstance(part.get("text"), str))


def _logprobs(choice: Fields) -> tuple[dict[str, Any], ...]:
    logprobs = choice.get("logprobs")
    return tuple(_mappings(logprobs.get("content"))) if isinstance(logprobs, dict) else ()


def _call(call: Fields, function: Fields) -> Iterator[Delta]:
    index, call_id, name = call.get("index"), call.get("id"), function.get("name")
    arguments = function.get("arguments")
    if isinstance(arguments, dict | list):  # an empty object is how some announce a call whose arguments follow
        arguments = orjson.dumps(arguments).decode() if arguments else ""
    fragment = ToolCallDelta(
        index=index if type(index) is int else None,
        id=call_id if call_id and isinstance(call_id, str) else None,
        name=name if name and isinstance(name, str) else None,
        arguments=arguments if isinstance(arguments, str) else "",
    )
    if fragment.id or fragment.name or fragment.arguments:
        yield fragment


def _mapping(value: Any) -> Fields:
    return value if isinstance(value, dict) else {}


def _mappings(value: Any) -> list[dict[str, Any]]:
    """The objects in a list, or one object that should have been a list of one."""
    if isinstance(value, dict):
        return [value]
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
