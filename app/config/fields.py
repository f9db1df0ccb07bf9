"""marshmallow fields for what people write in a YAML file.

A value that came out of ${NAME} is always text, so "5678" is a number here and "true" a switch; 5.5 is still no port
and `yes` no text. No message repeats the value: it may be a secret that stands in the wrong place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from marshmallow import ValidationError, fields
from marshmallow.validate import Length, OneOf

from .secret import Secret

_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)?\s*")
_SECONDS = {None: 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


class Text(fields.String):
    """Text that is not empty, or one of the given words."""

    default_error_messages = {"invalid": "must be text (put it in quotes)", "null": "must not be empty"}

    def __init__(self, *words: str, **options: Any) -> None:
        check = OneOf(words, error="must be one of: {choices}") if words else Length(min=1, error="must not be empty")
        super().__init__(validate=check, **options)


class SecretText(Text):
    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> Any:
        text = super()._deserialize(value, attr, data, **kwargs)
        if not text:
            raise ValidationError("must not be empty (is the environment variable set?)")
        return Secret(text)

    def _validate(self, value: Any) -> None:
        """Emptiness is checked above, where the text is still readable."""


class Whole(fields.Field[int]):
    """A whole number between two bounds, both included."""

    default_error_messages = {"null": "must be a whole number"}

    def __init__(self, minimum: int, maximum: int | None = None, **options: Any) -> None:
        self.minimum, self.maximum = minimum, maximum
        super().__init__(**options)

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> int:
        if isinstance(value, str) and re.fullmatch(r"\d{1,18}", value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValidationError("must be a whole number")
        if value < self.minimum or (self.maximum is not None and value > self.maximum):
            upper = "" if self.maximum is None else f" and at most {self.maximum}"
            raise ValidationError(f"must be at least {self.minimum}{upper}")
        return value


class Positive(fields.Field[float]):
    """A number above zero, fractions allowed."""

    default_error_messages = {"null": "must be a number above zero"}

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> float:
        if isinstance(value, str) and re.fullmatch(r"\d{1,12}(\.\d+)?", value):
            value = float(value)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
            raise ValidationError("must be a number above zero")
        return float(value)


class Duration(fields.Field[float]):
    """Seconds as a number, or a number with a unit: 500ms, 10s, 15m, 2h, 30d, 4w. Gives seconds.

    or_zero: 0 is a value too; else they are above zero.
    """

    default_error_messages = {"null": "must be a duration: seconds, or a number with a unit such as 15m, 2h, 30d"}

    def __init__(self, or_zero: bool = False, **options: Any) -> None:
        self.or_zero = or_zero
        super().__init__(**options)

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> float:
        match = None if isinstance(value, bool) else _DURATION.fullmatch(str(value))
        if match is None or (float(match[1]) == 0 and not self.or_zero):
            kind = "a duration" if self.or_zero else "a duration above zero"
            raise ValidationError(f"must be {kind}: seconds, or a number with a unit (500ms, 10s, 15m, 2h, 30d)")
        return float(match[1]) * _SECONDS[match[2]]


class Switch(fields.Boolean):
    truthy = {True, "true", "yes", "on"}
    falsy = {False, "false", "no", "off"}
    default_error_messages = {"invalid": "must be true or false", "null": "must be true or false"}

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> bool:
        # 1 == True for a set's look-up: a number is refused before it
        if not isinstance(value, bool | str):
            raise ValidationError("must be true or false")
        return bool(super()._deserialize(value, attr, data, **kwargs))
