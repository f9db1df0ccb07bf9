"""`godex models`: what can be asked for, as a table and as JSON."""

from __future__ import annotations

import json

import pytest
import yaml
from click.testing import CliRunner

from app.cli import main

CONFIG = {
    "default_provider": "deepseek",
    "models": {
        "aliases": {"gpt-5.5": "deepseek/deepseek-v4-pro", "*": "deepseek/deepseek-v4-pro"},
        "fallbacks": {"deepseek/deepseek-v4-pro": ["mine/big"]},
    },
    "providers": {
        "deepseek": {"spec": "deepseek", "credentials": {"api_key": "sk-secret"}},
        "mine": {"spec": "openai_compatible", "endpoint": {"base_url": "http://127.0.0.1:1/v1"},
                 "models": {"big": {"context_window": 32000, "input_images": False}}},
        "odd": {"spec": "unheard_of"},
    },
}  # fmt: skip


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "godex.yaml"
    path.write_text(yaml.safe_dump(CONFIG))
    return lambda *options: CliRunner().invoke(main, ["models", "--config", str(path), *options])


def test_the_table_shows_who_answers(run):
    shown = run().output
    assert "gpt-5.5" in shown and "deepseek/deepseek-v4-pro → mine/big" in shown
    assert "32,000" in shown
    assert "Any other name is answered by deepseek/deepseek-v4-pro." in shown
    assert "unheard_of" in shown
    assert "sk-secret" not in shown


def test_json_is_for_programs(run):
    shown = json.loads(run("--json").output)
    rows = {row["model"]: row for row in shown["models"]}
    assert rows["gpt-5.5"]["fallbacks"] == ["mine/big"]
    assert rows["mine/big"]["input"] == ["text"] and rows["mine/big"]["context_window"] == 32000
    assert rows["gpt-5.5"]["effort"] == ["none", "low", "high", "max"]
    assert shown["unsupported"] == ["odd"]


def test_a_wrong_configuration_is_told_on_one_line_each(tmp_path):
    path = tmp_path / "godex.yaml"
    path.write_text("providers: {a: {}}")
    result = CliRunner().invoke(main, ["models", "--config", str(path)])
    assert result.exit_code == 2
