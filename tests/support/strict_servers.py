"""What each real upstream refuses, written down apart from our specs: a request that breaks a rule is answered 400.

Facts are those of the vendors' documents and public reports. A rule that is not certain is left out: the servers here
are at least as patient as the real ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.support.answers import Answer, answer, chunk, failure, sse

Body = dict[str, Any]

PLAIN_FIELDS = frozenset(
    "model messages stream stream_options tools tool_choice response_format temperature top_p presence_penalty "
    "frequency_penalty parallel_tool_calls max_tokens".split()
)
REASONING_FIELDS = frozenset({"reasoning", "reasoning_content", "reasoning_details"})


@dataclass(frozen=True, kw_only=True)
class Strict:
    """The rules of one upstream.

    fields      top-level fields that it knows; others are refused
    choices     words and types of tool_choice; choices_thinking the same while thinking
    replay      message field that every assistant message with calls must have; forbidden fields are refused anywhere
    ids         pattern of tool call ids
    system      where instructions may stand: "anywhere", or "first" for one message at the front
    thinks      whether a request makes the model think
    speaks      field in which reasoning comes down
    """

    model: str
    fields: frozenset[str] = PLAIN_FIELDS
    choices: frozenset[str] = frozenset({"auto", "none", "required", "function"})
    choices_thinking: frozenset[str] | None = None
    formats: frozenset[str] = frozenset({"text", "json_object", "json_schema"})
    json_word: bool = False
    replay: str | None = None
    forbidden: frozenset[str] = frozenset()
    ids: str = r".+"
    system: str = "anywhere"
    strict_turns: bool = False
    temperature: tuple[float, float] = (0.0, 2.0)
    efforts: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset({"function"})
    images: bool = True
    stream_only: bool = False
    thinks: Callable[[Body], bool] = lambda body: False
    speaks: str = "reasoning_content"
    usage: str = "own_chunk"

    def __call__(self, body: Body) -> Answer:
        broken = next(self._broken(body), None)
        if broken:
            return failure(400, f"strict server: {broken}", code="strict")
        return self._answer(body)

    def _broken(self, body: Body):
        yield from (f"unknown field {name}" for name in body if name not in self.fields)
        if self.stream_only and not body["stream"]:
            yield "only streams"
        if "temperature" in body and not self.temperature[0] <= body["temperature"] <= self.temperature[1]:
            yield f"temperature {body['temperature']}"
        if "reasoning_effort" in body and body["reasoning_effort"] not in self.efforts:
            yield f"reasoning_effort {body['reasoning_effort']}"
        if isinstance(body.get("thinking"), dict) and "reasoning_effort" in body and self.model.startswith("kimi"):
            yield "thinking and reasoning_effort together"
        yield from self._broken_tools(body)
        yield from self._broken_messages(body)
        form = (body.get("response_format") or {"type": "text"})["type"]
        if form not in self.formats:
            yield f"response_format {form}"
        if form == "json_object" and self.json_word and "json" not in json.dumps(body["messages"]).lower():
            yield "the word JSON is missing"

    def _broken_tools(self, body: Body):
        yield from (f"tool of type {tool['type']}" for tool in body.get("tools", ()) if tool["type"] not in self.tools)
        choice = body.get("tool_choice")
        if choice is None:
            return
        if not body.get("tools"):
            yield "tool_choice without tools"
        allowed = self.choices
        if self.choices_thinking is not None and self.thinks(body):
            allowed = self.choices_thinking
        if (choice["type"] if isinstance(choice, dict) else choice) not in allowed:
            yield f"tool_choice {choice}"

    def _broken_messages(self, body: Body):
        before = None
        for place, message in enumerate(body["messages"]):
            role = message["role"]
            if role not in ("system", "user", "assistant", "tool") and not (
                role == "developer" and self.model == "gpt-5.5"
            ):
                yield f"role {role}"
            if role == "system" and self.system == "first" and place > 0:
                yield "a system message that is not first"
            yield from (f"message field {name}" for name in message if name in self.forbidden)
            if self.strict_turns and role == "user" and before in ("user", "tool"):
                yield f"user behind {before}"
            if role == "assistant" and message.get("tool_calls"):
                if self.replay and self.thinks(body) and self.replay not in message:
                    yield f"{self.replay} is missing in message {place}"
                yield from (f"id {c['id']}" for c in message["tool_calls"] if not re.fullmatch(self.ids, c["id"]))
            if not self.images and isinstance(message["content"], list):
                yield "content that is no text"
            before = role

    def _answer(self, body: Body) -> Answer:
        """Thinks, says something, calls the first tool once; answers in JSON when asked for it."""
        called = any(message["role"] == "tool" for message in body["messages"])
        form = (body.get("response_format") or {}).get("type")
        asked_json = form in ("json_object", "json_schema") or "one JSON" in json.dumps(body["messages"])
        text = '{"a":1}' if asked_json else "Fine."
        thought = "hm" if self.thinks(body) else None
        calls = []
        if body.get("tools") and not called:
            name = body["tools"][0]["function"]["name"]
            calls = [
                {"index": 0, "id": "call_abc123", "type": "function", "function": {"name": name, "arguments": "{}"}}
            ]
        if not body["stream"]:
            reply = answer(text, calls=tuple((c["id"], c["function"]["name"], "{}") for c in calls))
            assert reply.message is not None
            if thought:
                reply.message[self.speaks] = self._thought(thought)
            return reply
        deltas = [chunk(**{self.speaks: self._thought(thought)})] if thought else []
        deltas.append(chunk(content=text))
        deltas += [chunk(tool_calls=[call]) for call in calls]
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        finish = chunk(finish="tool_calls" if calls else "stop")
        if self.usage == "with_finish":
            finish["usage"] = usage
        elif self.usage == "x_groq":
            finish["x_groq"] = {"usage": usage}
        elif body.get("stream_options", {}).get("include_usage"):
            return sse(*deltas, finish, {"choices": [], "usage": usage})
        return sse(*deltas, finish)

    def _thought(self, text: str) -> Any:
        return [{"type": "reasoning.text", "text": text}] if self.speaks == "reasoning_details" else text


def switched_on(body: Body) -> bool:
    return (body.get("thinking") or {}).get("type") != "disabled"


def effort_on(body: Body) -> bool:
    return switched_on(body) and body.get("reasoning_effort") != "none"


STRICT: dict[str, Strict] = {
    "deepseek": Strict(
        model="deepseek-v4-pro",
        fields=PLAIN_FIELDS - {"parallel_tool_calls"} | {"thinking", "reasoning_effort", "logprobs", "top_logprobs"},
        choices_thinking=frozenset({"auto", "none"}), formats=frozenset({"text", "json_object"}), json_word=True,
        replay="reasoning_content", efforts=frozenset({"low", "high", "max"}), images=False, thinks=switched_on,
    ),
    "zhipu": Strict(
        model="glm-5.3", fields=PLAIN_FIELDS | {"thinking", "reasoning_effort", "tool_stream"},
        choices=frozenset({"auto"}), formats=frozenset({"text", "json_object"}), temperature=(0.0001, 1.0),
        efforts=frozenset({"high", "max"}), tools=frozenset({"function", "web_search"}), images=False, thinks=switched_on,
    ),
    "minimax": Strict(
        model="MiniMax-M3", fields=PLAIN_FIELDS | {"thinking", "reasoning_split"}, formats=frozenset({"text", "json_object"}),
        replay="reasoning_details", temperature=(0.0001, 2.0), thinks=switched_on, speaks="reasoning_details",
    ),
    "xiaomi": Strict(
        model="mimo-v2.5-pro", fields=PLAIN_FIELDS - {"max_tokens"} | {"max_completion_tokens", "thinking"},
        choices=frozenset({"auto"}), formats=frozenset({"text", "json_object"}), replay="reasoning_content", images=False,
        tools=frozenset({"function", "web_search"}), thinks=switched_on,
    ),
    "moonshot": Strict(
        model="kimi-k3", fields=PLAIN_FIELDS - {"max_tokens", "temperature", "top_p"} | {"max_completion_tokens", "thinking"},
        choices_thinking=frozenset({"auto", "none"}), replay="reasoning_content", thinks=switched_on,
    ),
    "qwen": Strict(
        model="qwen3.8-max", fields=PLAIN_FIELDS | {"enable_thinking", "thinking_budget", "logprobs", "top_logprobs"},
        choices_thinking=frozenset({"auto", "none"}), formats=frozenset({"text", "json_object"}), json_word=True,
        system="first", thinks=lambda body: body.get("enable_thinking", False),
    ),
    "mistral": Strict(
        model="mistral-large-latest", fields=PLAIN_FIELDS - {"stream_options"}, choices=frozenset({"auto", "none", "any", "function"}),
        forbidden=REASONING_FIELDS, ids=r"[A-Za-z0-9]{9}", strict_turns=True, temperature=(0.0, 1.5), usage="with_finish",
    ),
    "groq": Strict(
        model="openai/gpt-oss-120b", fields=PLAIN_FIELDS - {"max_tokens"} | {"max_completion_tokens", "reasoning_effort", "reasoning_format"},
        forbidden=REASONING_FIELDS, efforts=frozenset({"low", "medium", "high"}), images=False, thinks=lambda body: True,
        speaks="reasoning", usage="x_groq",
    ),
    "together": Strict(
        model="openai/gpt-oss-120b", fields=PLAIN_FIELDS | {"reasoning_effort"}, efforts=frozenset({"low", "medium", "high"}),
        thinks=lambda body: True, speaks="reasoning", usage="with_finish",
    ),
    "openrouter": Strict(
        model="deepseek/deepseek-v4-pro", fields=PLAIN_FIELDS | {"reasoning", "user", "logprobs", "top_logprobs"},
        replay="reasoning_details", thinks=lambda body: (body.get("reasoning") or {}).get("effort") != "none",
        speaks="reasoning_details",
    ),
    "openai": Strict(
        model="gpt-5.5",
        fields=PLAIN_FIELDS - {"max_tokens", "temperature", "top_p", "presence_penalty", "frequency_penalty"}
        | {"max_completion_tokens", "reasoning_effort", "service_tier", "prompt_cache_key", "safety_identifier", "verbosity",
           "user", "metadata", "store", "prompt_cache_retention"},
        forbidden=REASONING_FIELDS, efforts=frozenset({"none", "minimal", "low", "medium", "high", "xhigh"}),
    ),
    "vllm": Strict(
        model="Qwen/Qwen3-8B", fields=PLAIN_FIELDS | {"chat_template_kwargs", "logprobs", "top_logprobs"}, system="first",
        thinks=lambda body: True, speaks="reasoning",
    ),
    "sglang": Strict(
        model="moonshotai/Kimi-K2", fields=PLAIN_FIELDS | {"chat_template_kwargs", "separate_reasoning"}, system="first",
        ids=r"functions\.\w+:\d+", thinks=lambda body: True,
    ),
    "llamacpp": Strict(
        model="gemma", fields=PLAIN_FIELDS | {"chat_template_kwargs", "logprobs", "top_logprobs"}, system="first",
        images=False, thinks=lambda body: True,
    ),
    "ollama": Strict(
        model="qwen3", fields=PLAIN_FIELDS | {"reasoning_effort"}, choices=frozenset({"auto"}), system="first",
        efforts=frozenset({"none", "low", "medium", "high", "max"}), thinks=lambda body: True, speaks="reasoning",
    ),
    "lmstudio": Strict(
        model="any", choices=frozenset({"auto", "none", "required"}), formats=frozenset({"text", "json_schema"}), system="first",
    ),
    "openai_compatible": Strict(model="any"),
}  # fmt: skip
