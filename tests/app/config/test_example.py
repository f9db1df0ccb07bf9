"""deploy/godex.example.yaml is the reference of the keys: it must be right and whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from marshmallow import Schema, fields

from app.config.model import Config
from app.config.schema import CONFIG_FILE
from app.config.text import parse_yaml

EXAMPLE = Path(__file__).parents[3] / "deploy" / "godex.example.yaml"
TEXT = EXAMPLE.read_text(encoding="utf-8")


@pytest.fixture
def example(load: Callable[..., Config]) -> Config:
    from providers.registry import builtin_specs

    variables = set(re.findall(r"\$\{([A-Z0-9_]+)\}", TEXT)) - {"NAME"}
    return load(
        EXAMPLE, environ={name: f"value-of-{name}-that-is-long-enough" for name in variables}, specs=builtin_specs()
    )


@pytest.mark.parametrize(
    "section", ["server", "session", "input", "compat", "output", "reasoning", "diagnostics", "trace", "logging"]
)
def test_the_example_states_the_defaults(example: Config, section: str) -> None:
    assert getattr(example, section) == getattr(Config(), section)


def test_the_example_states_the_defaults_of_a_provider(example: Config) -> None:
    given, default = example.providers["deepseek"], type(example.providers["deepseek"])(spec="deepseek")
    for name in ("timeouts", "retry", "pool_size"):
        assert getattr(given, name) == getattr(default, name)


def test_the_example_shows_every_key() -> None:
    shown = set(re.findall(r"[A-Za-z_0-9]+(?=:)", TEXT))
    assert set(_keys(CONFIG_FILE)) <= shown
    assert isinstance(parse_yaml(TEXT), dict)


def _keys(schema: Schema) -> Iterator[str]:
    for name, field in schema.fields.items():
        yield name
        inner = field
        while not isinstance(inner, fields.Nested) and (
            below := getattr(inner, "inner", None) or getattr(inner, "value_field", None)
        ):
            inner = below
        if isinstance(inner, fields.Nested):
            yield from _keys(inner.schema)
