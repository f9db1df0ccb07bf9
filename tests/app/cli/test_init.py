"""`godex init` writes a file that the loader takes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.cli.init import Choices, godex_yaml
from app.config.loader import load_config
from app.config.text import parse_yaml
from providers.registry import builtin_specs
from tests.app.cli.conftest import Godex


def test_flags_alone_are_enough(godex: Godex, folder: Path) -> None:
    result = godex(
        "init", "--yes", "--provider", "deepseek", "--model", "some-model", "--port", "8080", "--store", "redis"
    )
    assert result.exit_code == 0, result.output
    assert "export DEEPSEEK_API_KEY=" in result.stdout
    assert result.stdout.endswith("Then:  godex serve\n")
    config = load_config(folder / "godex.yaml", environ={"DEEPSEEK_API_KEY": "k", "REDIS_URL": "redis://r/1"})
    assert (config.server.port, config.session.redis.url) == (8080, "redis://r/1")
    assert config.models.aliases == {"*": "deepseek/some-model"}


def test_the_key_of_the_environment_chooses_the_provider_and_is_not_written(godex: Godex, folder: Path) -> None:
    result = godex("init", "--yes", DEEPSEEK_API_KEY="hush-hush")
    assert result.exit_code == 0, result.output
    text = (folder / "godex.yaml").read_text()
    assert "spec: deepseek" in text
    assert "hush-hush" not in text
    assert "export" not in result.stdout


def test_answers_are_asked_for(godex: Godex, folder: Path) -> None:
    result = godex("init", answers="openai_compatible\nhttp://127.0.0.1:9/v1\nqwen3\n0.0.0.0\nsqlite\n")
    assert result.exit_code == 0, result.output
    config = load_config(folder / "godex.yaml", environ={"GODEX_API_KEY": "mine", "UPSTREAM_API_KEY": "theirs"})
    assert config.server.host == "0.0.0.0"
    assert len(config.auth.keys) == 1
    assert config.models.aliases == {"*": "openai_compatible/qwen3"}
    assert config.providers["openai_compatible"].endpoint.base_url == "http://127.0.0.1:9/v1"


def test_a_file_is_never_overwritten_unless_forced(godex: Godex, folder: Path) -> None:
    file = folder / "godex.yaml"
    file.write_text("mine")
    refused = godex("init", "--yes", "--provider", "demo")
    assert (refused.exit_code, refused.stderr) == (2, "godex: godex.yaml exists; --force overwrites it\n")
    assert file.read_text() == "mine"
    assert godex("init", "--yes", "--provider", "demo", "--force").exit_code == 0
    assert load_config(file).default_provider == "demo"


def test_an_unknown_provider_is_refused(godex: Godex, folder: Path) -> None:
    result = godex("init", "--yes", "--provider", "nobody")
    assert result.exit_code == 2
    assert "no provider is called 'nobody'; known: " in result.stderr
    assert not (folder / "godex.yaml").exists()


def test_another_place_is_named_in_the_next_step(godex: Godex, folder: Path) -> None:
    result = godex("init", "--yes", "--provider", "demo", "--output", "conf/g.yaml")
    assert "godex serve --config conf/g.yaml" in result.stdout
    assert (folder / "conf/g.yaml").exists()


@pytest.mark.parametrize("provider", sorted(builtin_specs()))
def test_each_provider_gives_a_right_file(provider: str) -> None:
    spec = builtin_specs()[provider]
    choices = Choices(
        provider=provider,
        key_variable=spec.api_key_env or "UPSTREAM_API_KEY",
        base_url="" if spec.base_url else "http://127.0.0.1:9/v1",
        model="m",
        host="127.0.0.1",
        port=5678,
        store="sqlite",
    )
    config = load_config(parse_yaml(godex_yaml(choices)), environ={choices.key_variable: "k", "HOME": os.devnull})
    assert config.default_provider == provider
