"""The contract between the kernel and a provider: a value. The kernel knows providers only through it.

Capabilities are data and are planned from; hooks are functions and say how the wire differs. A hook never decides what
is supported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal

from bridge.protocol.chat import ChatChunk, ChatRequest, ChatResponse

if TYPE_CHECKING:
    from bridge.stream.deltas import Delta

EffortMode = Literal["none", "boolean", "native"]
ReplayRule = Literal["always", "with_tools", "never"]
Roles = Literal["developer", "system"]
SystemRule = Literal["any", "merge_first"]
ToolIdFormat = Literal["any", "alnum9", "function_index"]
ToolImages = Literal["tool_message", "user_message", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts of one upstream answer. None = the upstream did not say (unknown is not zero)."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What an upstream can do, per model where models differ (see ProviderSpec.models).

    The defaults are those of a plain OpenAI-compatible server about which nothing more is known.
    """

    # Request parameters of the Responses API that have an upstream counterpart here.
    parameters: frozenset[str] = frozenset(
        {"max_output_tokens", "temperature", "top_p", "presence_penalty", "frequency_penalty", "parallel_tool_calls"}
    )
    token_limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    max_output_tokens_cap: int | None = None
    temperature_range: tuple[float, float] = (0.0, 2.0)
    top_p_range: tuple[float, float] = (0.0, 1.0)
    parameters_refused_while_thinking: frozenset[str] = frozenset()

    # Tools: types taken as they are, and types that become something else ({"shell": "function"}).
    tools: frozenset[str] = frozenset({"function"})
    degraded_tools: Mapping[str, str] = field(
        default_factory=lambda: dict.fromkeys(
            ("shell", "local_shell", "apply_patch", "custom", "namespace", "tool_search"), "function"
        )
    )
    max_tools: int | None = None
    tool_choice: frozenset[str] = frozenset({"auto", "none", "required", "function"})
    tool_choice_while_thinking: frozenset[str] | None = None
    required_word: str = "required"  # what this upstream calls tool_choice "required"
    strict_tools: bool = False  # takes `strict` in a function declaration
    tool_id_format: ToolIdFormat = "any"
    tool_names_pattern: str = r"[A-Za-z0-9_-]"

    # Output
    response_formats: frozenset[str] = frozenset({"text", "json_object", "json_schema"})
    json_word_needed: bool = False  # json_object is refused unless the prompt says JSON

    # Reasoning
    effort: EffortMode = "none"
    efforts: tuple[str, ...] = ("low", "medium", "high")  # levels that a native upstream knows
    effort_map: Mapping[str, str] = field(default_factory=dict)  # asked level → level here, before "nearest" applies
    thinking_by_default: bool = False
    reasoning_replay: ReplayRule = "never"
    reasoning_field: str = "reasoning_content"  # the message field in which replayed reasoning goes up
    reasoning_lost: Literal["omit", "empty"] = "omit"  # what a call message carries when its reasoning is unknown
    think_tags: tuple[tuple[str, tuple[str, ...]], ...] = ()  # (opening tag, closing tags) inside content
    think_prefilled: bool = False  # the answer starts inside the think block: only the closing tag is sent
    call_markup: bool = False  # leaked tool markup in content is turned back into calls

    # Messages
    input_images: bool = True
    input_files: bool = False
    input_video: bool = False
    instruction_role: Roles = "system"  # what a developer message becomes
    system_rule: SystemRule = "any"  # merge_first: one system message, at the front
    strict_turns: bool = False  # no user after tool, no two users in a row
    tool_result_images: ToolImages = "user_message"
    text_parts_as_string: bool = True  # several text parts are joined into one string

    # Streaming
    stream_usage: bool = True  # takes stream_options.include_usage
    stream_only: bool = False  # refuses stream: false

    # Facts for catalogues
    context_window: int | None = None
    prompt_cache: bool = True


def unchanged(request: ChatRequest) -> ChatRequest:
    """The request patch of an upstream that takes plain Chat Completions."""
    return request


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSpec:
    """One upstream as a value.

    name          as it stands in godex.yaml (`spec: name`)
    base_url      default; requests go to base_url + path
    capabilities  of every model that no pattern in `models` matches
    models        (pattern, {capability: value}) in order; every matching row is laid over the ones before it
    read_deltas   one parsed stream chunk → deltas
    read_response one parsed sync body → the same deltas, so that both ways share one accumulator
    read_error    an error object wherever it stands (error body, 200 body, stream chunk) → its fields, or None
    """

    name: str
    base_url: str
    read_deltas: Callable[[ChatChunk], Iterable[Delta]]
    read_response: Callable[[ChatResponse], Iterable[Delta]]
    read_error: Callable[[Any], UpstreamFault | None]
    capabilities: Capabilities = Capabilities()
    models: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    path: str = "/chat/completions"
    auth_header: str = "Authorization"
    auth_scheme: str = "Bearer "
    api_key_env: str = ""  # the well-known environment variable, for a start without a config file
    default_model: str = ""
    patch_request: Callable[[ChatRequest], ChatRequest] = unchanged
    needs_key: bool = True

    def capabilities_for(self, model: str) -> Capabilities:
        """The capabilities of one upstream model, patterns of `models` applied (shell wildcards, case kept)."""
        changes: dict[str, Any] = {}
        for pattern, row in self.models:
            if fnmatchcase(model, pattern):
                changes.update(row)
        return replace(self.capabilities, **changes) if changes else self.capabilities


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamFault:
    """An error object as an upstream wrote it, before it is mapped to a domain code. Strings may be empty."""

    message: str
    type: str = ""
    code: str = ""
    param: str | None = None
