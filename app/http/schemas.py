"""Request bodies. Unknown fields are kept: clients send new ones unasked, and the plan reports them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from marshmallow import INCLUDE, Schema, ValidationError, fields, validate

from bridge.errors import INVALID_PARAMETER, MISSING_MODEL, ServerError

from . import checks


class Strict(fields.Boolean):
    """true or false; not "yes", 1 or "on"."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> bool:
        if not isinstance(value, bool):
            raise ValidationError("must be a boolean.")
        return value


class Number(fields.Float):
    """A JSON number; not a string that reads like one."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValidationError("must be a number.")
        return value


class Checked(fields.Field[Any]):
    """A value whose inside a function of checks.py looks at; it is passed on unchanged."""

    def __init__(self, check: Callable[[Any], None], **options: Any) -> None:
        super().__init__(**{"allow_none": True, **options})
        self._check = check

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        self._check(value)
        return value


def printable(text: str) -> None:
    if not text.isprintable():
        raise ValidationError("must not hold control characters.")


def string(max_length: int | None = None) -> fields.String:
    return fields.String(allow_none=True, validate=validate.Length(max=max_length) if max_length else None)


def number(low: float, high: float) -> Number:
    return Number(allow_none=True, validate=validate.Range(low, high))


def integer(low: int, high: int | None = None) -> fields.Integer:
    return fields.Integer(strict=True, allow_none=True, validate=validate.Range(low, high))


def flag() -> Strict:
    return Strict(allow_none=True)


def metadata(**options: Any) -> fields.Dict:
    return fields.Dict(
        keys=fields.String(validate=validate.Length(max=64)),
        values=fields.String(validate=validate.Length(max=512)),
        allow_none=True,
        validate=validate.Length(max=16),
        **options,
    )


class CreateResponse(Schema):
    """POST /v1/responses. Ranges are those of the contract, section 2."""

    class Meta:
        unknown = INCLUDE

    model = fields.String(required=True, validate=[validate.Length(min=1, max=256), printable])
    input = Checked(checks.check_input)
    instructions = string()
    previous_response_id = string()
    conversation = Checked(checks.check_conversation)
    stream = flag()
    store = flag()
    background = flag()
    include = fields.List(fields.String(), allow_none=True)
    tools = Checked(checks.check_tools)
    tool_choice = Checked(checks.check_tool_choice)
    parallel_tool_calls = flag()
    max_output_tokens = integer(1)  # the document says 16; smaller limits are meaningful upstream and harm nobody
    max_tool_calls = integer(1)
    temperature = number(0, 2)
    top_p = number(0, 1)
    presence_penalty = number(-2, 2)
    frequency_penalty = number(-2, 2)
    top_logprobs = integer(0, 20)
    text = Checked(checks.check_text)
    reasoning = Checked(checks.check_reasoning)
    truncation = fields.String(allow_none=True, validate=validate.OneOf(["auto", "disabled"]))
    service_tier = string()
    metadata = metadata()
    safety_identifier = string(64)
    prompt_cache_key = string(64)
    user = string()
    stream_options = fields.Dict(allow_none=True)
    context_management = Checked(checks.check_context_management)


MOST_ITEMS = 20  # that a conversation takes at once, as at OpenAI


class CreateConversation(Schema):
    class Meta:
        unknown = INCLUDE

    items = Checked(checks.check_items, validate=validate.Length(max=MOST_ITEMS))
    metadata = metadata()


class UpdateConversation(Schema):
    class Meta:
        unknown = INCLUDE

    metadata = metadata(required=True)


class CreateItems(Schema):
    class Meta:
        unknown = INCLUDE

    items = Checked(
        checks.check_items, required=True, allow_none=False, validate=validate.Length(min=1, max=MOST_ITEMS)
    )


def load(schema: type[Schema], body: dict[str, Any]) -> dict[str, Any]:
    """The validated body; explicit nulls are dropped, so that null means absent everywhere behind the edge.

    Raises ServerError INVALID_PARAMETER or MISSING_MODEL with the path of the first field at fault.
    """
    try:
        loaded = _narrowed(schema, frozenset(_fields(schema).keys() & body.keys())).load(body)
    except ValidationError as problem:
        param, message = first_problem(problem.messages)
        missing_model = param == "model" and body.get("model") in (None, "")
        raise ServerError(
            MISSING_MODEL if missing_model else INVALID_PARAMETER, f"{param}: {message}", param=param
        ) from problem
    return {name: value for name, value in loaded.items() if value is not None}


@functools.lru_cache(maxsize=64)  # a client sends the same few sets of fields again and again; making one takes 120 µs
def _narrowed(schema: type[Schema], given: frozenset[str]) -> Schema:
    """The schema without the optional fields that are absent: marshmallow looks at each one it knows (70 µs to 10)."""
    return schema(only=[name for name, field in _fields(schema).items() if field.required or name in given])


@functools.cache
def _fields(schema: type[Schema]) -> Mapping[str, fields.Field[Any]]:
    return schema().fields


def first_problem(messages: Any, path: str = "") -> tuple[str, str]:
    """{"metadata": {"a": {"value": ["Not a valid string."]}}} → ("metadata.a", "Not a valid string.")"""
    if isinstance(messages, list):
        return path or "body", str(messages[0])
    key, inner = next(iter(messages.items()))
    if key in ("value", "key") and path:
        return first_problem(inner, path)
    if isinstance(key, int):
        return first_problem(inner, f"{path}[{key}]")
    return first_problem(inner, f"{path}.{key}" if path else str(key))
