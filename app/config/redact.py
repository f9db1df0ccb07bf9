"""A Config as the plain data of a godex.yaml, defaults filled in and every secret masked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from .model import ApiKey, Config
from .secret import MASK, Secret, masked_url

_FACTS = ("source", "unsupported")  # fields of Config that are no keys of the file


def redacted(config: Config) -> dict[str, Any]:
    """Keys in the file's order; numbers are seconds and MB. Fit for JSON and YAML."""
    told: dict[str, Any] = _plain(config)
    return {key: value for key, value in told.items() if key not in _FACTS}


def _plain(value: Any) -> Any:
    if isinstance(value, Secret):
        return MASK
    if isinstance(value, ApiKey):  # the hash of a short key can be guessed back
        return {"name": value.name, "sha256": MASK, "limits": _plain(value.limits)}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return masked_url(value) if isinstance(value, str) else value
