"""What GET /v1/models says about each model."""

from __future__ import annotations

import pytest

from app.catalogue import codex_catalogue, reasoning_levels, served_models
from app.config.loader import load_config
from app.gateway import Gateway
from bridge.plan.reasoning import LEVELS
from bridge.spec import Capabilities
from providers.registry import builtin_specs

# What Codex cannot do without in an entry; one that lacks any of them spoils the whole list.
NEEDED = {
    "slug": str,
    "display_name": str,
    "supported_reasoning_levels": list,
    "shell_type": str,
    "visibility": str,
    "supported_in_api": bool,
    "priority": int,
    "support_verbosity": bool,
    "truncation_policy": dict,
    "experimental_supported_tools": list,
    "base_instructions": str,
}


def catalogue(**sections):
    config = load_config({**sections}, environ={})
    return {entry["slug"]: entry for entry in codex_catalogue(list(served_models(Gateway(config))))}


@pytest.mark.parametrize("spec", sorted(set(builtin_specs()) - {"demo"}))
def test_every_provider_gives_entries_that_codex_can_read(spec):
    section = {"spec": spec, "credentials": {"api_key": "k"}, "endpoint": {"base_url": "http://127.0.0.1:1/v1"}}
    entries = catalogue(providers={"p": section}, models={"aliases": {"mine": "p/some-model"}})
    assert {"mine", "p/some-model"} <= entries.keys()
    for entry in entries.values():
        for key, kind in NEEDED.items():
            assert isinstance(entry[key], kind), key
        levels = [level["effort"] for level in entry["supported_reasoning_levels"]]
        assert levels == [level for level in LEVELS if level in levels]
        assert all(level["description"] for level in entry["supported_reasoning_levels"])
        assert entry.get("default_reasoning_level") in [*levels, None]
        assert entry["apply_patch_tool_type"] == "freeform"
        assert entry["input_modalities"][0] == "text"


def test_a_model_that_can_only_be_told_not_to_think_has_no_default_level():
    model = {"effort": "native", "efforts": ["none"], "thinking_by_default": True}
    section = {"spec": "deepseek", "credentials": {"api_key": "k"}, "models": {"m": model}}
    entry = catalogue(providers={"d": section}, models={"aliases": {"a": "d/m"}})["a"]
    assert [level["effort"] for level in entry["supported_reasoning_levels"]] == ["none"]
    assert "default_reasoning_level" not in entry


def test_an_entry_shows_the_capabilities_of_its_model():
    section = {
        "spec": "deepseek",
        "credentials": {"api_key": "k"},
        "models": {"big*": {"context_window": 1000, "input_images": True}, "plain": {"effort": "none"}},
    }
    entries = catalogue(providers={"d": section}, models={"aliases": {"a": "d/big-1", "b": "d/plain", "*": "d/big-1"}})
    assert entries["a"]["context_window"] == 1000
    assert entries["a"]["input_modalities"] == ["text", "image"]
    assert entries["a"]["default_reasoning_level"] == "high"
    assert [level["effort"] for level in entries["a"]["supported_reasoning_levels"]] == ["none", "low", "high", "max"]
    assert entries["b"]["supported_reasoning_levels"] == []
    assert entries["b"]["context_window"] > 0
    assert entries["b"]["input_modalities"] == ["text"]
    assert "*" not in entries
    assert entries["a"]["priority"] == 1


LEVEL_CASES = {
    "no setting": (Capabilities(), ()),
    "a switch": (Capabilities(effort="boolean"), ("none", "high")),
    "levels": (Capabilities(effort="native", efforts=("max", "low")), ("low", "max")),
    "a word of the upstream's own": (
        Capabilities(effort="native", efforts=("none", "default"), effort_map={"low": "default", "medium": "default"}),
        ("none", "medium"),
    ),
    "a word that nothing leads to": (Capabilities(effort="native", efforts=("low", "odd")), ("low",)),
}


@pytest.mark.parametrize(("caps", "levels"), LEVEL_CASES.values(), ids=LEVEL_CASES)
def test_levels_are_those_that_make_a_difference(caps, levels):
    assert reasoning_levels(caps) == levels
