"""Capabilities set in godex.yaml, checked against the fields of `bridge.spec.Capabilities`.

The dataclass's own type hints are the schema: a capability added there can be set here at once.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields as dataclass_fields
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from marshmallow import ValidationError
from marshmallow import fields as marshmallow_fields

from bridge.spec import Capabilities

from .hints import unknown_key

_HINTS = get_type_hints(Capabilities)
CAPABILITY_NAMES = tuple(field.name for field in dataclass_fields(Capabilities))


class CapabilityMap(marshmallow_fields.Field[dict[str, Any]]):
    """{capability: value} → the same with the types that Capabilities declares (lists become tuples or sets)."""

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise ValidationError("must be a mapping of capability: value")
        typed: dict[str, Any] = {}
        problems: dict[str, list[str]] = {}
        for name, given in value.items():
            if name not in _HINTS:
                problems[str(name)] = [unknown_key(str(name), CAPABILITY_NAMES)]
                continue
            try:
                typed[name] = _as_type(given, _HINTS[name])
            except ValueError as error:
                problems[name] = [str(error)]
        if problems:
            raise ValidationError(problems)
        return typed


def _as_type(value: Any, hint: Any) -> Any:
    """YAML's value as the hinted type. Raises ValueError with the type in words."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _as_one_of(value, parts)
    if origin is Literal:
        if value not in parts:
            raise ValueError(f"must be one of: {', '.join(map(str, parts))}")
        return value
    if origin in (frozenset, tuple):
        return _as_sequence(value, origin, parts)
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise ValueError("must be a mapping")
        return {_as_type(key, parts[0]): _as_type(item, parts[1]) for key, item in value.items()}
    return _as_scalar(value, hint)


def _as_one_of(value: Any, hints: tuple[Any, ...]) -> Any:
    if value is None and type(None) in hints:
        return None
    return _as_type(value, next(hint for hint in hints if hint is not type(None)))


def _as_sequence(value: Any, kind: type, parts: tuple[Any, ...]) -> Any:
    if not isinstance(value, list | tuple):
        raise ValueError("must be a list")
    if kind is frozenset or parts[-1] is Ellipsis:
        return kind(_as_type(item, parts[0]) for item in value)
    if len(value) != len(parts):
        raise ValueError(f"must be a list of {len(parts)}")
    return tuple(_as_type(item, part) for item, part in zip(value, parts, strict=True))


def _as_scalar(value: Any, kind: type) -> Any:
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}[kind]
    fits = isinstance(value, int | float) if kind is float else isinstance(value, kind)
    if not fits or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"must be {words}")
    return kind(value)
