"""`godex codex-config`."""

from __future__ import annotations

import json
import tomllib

import pytest


@pytest.fixture
def write_config(folder):
    def write(text):
        (folder / "godex.yaml").write_text(text)

    return write


PROVIDER = "providers: {up: {spec: openai_compatible, endpoint: {base_url: http://127.0.0.1:1/v1}}}\n"


def block_of(result):
    assert result.exit_code == 0, result.output
    return tomllib.loads(result.stdout)


def test_the_block_is_toml_that_names_the_gateway(godex):
    block = block_of(godex("codex-config", "--demo"))
    assert block["model"] == "demo/demo-1"
    assert block["web_search"] == "disabled"
    provider = block["model_providers"][block["model_provider"]]
    assert provider["base_url"] == "http://127.0.0.1:5678/v1"
    assert provider["wire_api"] == "responses"
    assert provider["supports_websockets"] is True
    assert "env_key" not in provider


def test_write_makes_a_profile_and_the_catalogue_that_it_names(godex, folder):
    result = godex("codex-config", "--demo", "--write", CODEX_HOME=str(folder / "codex"))
    assert "codex --profile godex" in result.output
    block = tomllib.loads((folder / "codex" / "godex.config.toml").read_text())
    with open(block["model_catalog_json"]) as catalogue:
        assert [entry["slug"] for entry in json.load(catalogue)["models"]] == ["demo/demo-1"]


def test_without_write_nothing_is_written(godex, folder):
    assert godex("codex-config", "--demo").exit_code == 0
    assert list(folder.iterdir()) == []


CONFIGS = {
    "keys of the gateway": ("auth: {keys: [secret]}\n", {"env_key": "GODEX_API_KEY"}),
    "another port": ("server: {port: 99}\n", {"base_url": "http://127.0.0.1:99/v1"}),
    "any address": ("server: {host: 0.0.0.0}\nauth: {open: true}\n", {"base_url": "http://127.0.0.1:5678/v1"}),
    "any address of IPv6": ("server: {host: '::'}\nauth: {open: true}\n", {"base_url": "http://[::1]:5678/v1"}),
    "a name": ("server: {host: localhost}\n", {"base_url": "http://localhost:5678/v1"}),
    "no WebSockets": ("server: {websockets: false}\n", {"supports_websockets": None}),
}


@pytest.mark.parametrize(("sections", "expected"), CONFIGS.values(), ids=CONFIGS)
def test_the_block_follows_the_configuration(godex, write_config, sections, expected):
    write_config(PROVIDER + sections + "models: {aliases: {mine: up/m}}\n")
    provider = block_of(godex("codex-config"))["model_providers"]["godex"]
    assert {key: provider.get(key) for key in expected} == expected


def test_keys_in_a_file_are_asked_for_like_others(godex, write_config, folder):
    (folder / "keys.yaml").write_text("keys: [secret]\n")
    write_config(PROVIDER + "auth: {keys_file: keys.yaml}\nmodels: {aliases: {mine: up/m}}\n")
    assert block_of(godex("codex-config"))["model_providers"]["godex"]["env_key"] == "GODEX_API_KEY"


def test_a_key_that_is_passed_through_is_the_providers_own(godex, write_config):
    write_config("providers: {d: {spec: deepseek, credentials: {passthrough: true}}}\n")
    assert block_of(godex("codex-config"))["model_providers"]["godex"]["env_key"] == "DEEPSEEK_API_KEY"


def test_a_model_can_be_named_that_is_not_listed(godex, write_config, folder):
    write_config(PROVIDER)
    result = godex("codex-config", "--model", 'odd "name"', "--base-url", "https://ai.example/v1", "--write")
    assert result.exit_code == 0, result.output
    block = tomllib.loads((folder / ".codex" / "godex.config.toml").read_text())
    assert block["model"] == 'odd "name"'
    assert block["model_providers"]["godex"]["base_url"] == "https://ai.example/v1"
    assert json.loads((folder / ".codex" / "godex-models.json").read_text())["models"][0]["slug"] == 'odd "name"'


def test_nothing_to_name_is_said(godex, write_config):
    write_config(PROVIDER)
    result = godex("codex-config")
    assert result.exit_code == 2 and "--model" in result.output


def test_a_unix_socket_needs_an_address_in_front_of_it(godex, write_config):
    write_config(PROVIDER + "server: {host: 'unix:/tmp/godex.sock'}\nmodels: {aliases: {mine: up/m}}\n")
    result = godex("codex-config")
    assert result.exit_code == 2 and "--base-url" in result.output
    assert godex("codex-config", "--base-url", "http://127.0.0.1/v1").exit_code == 0


def test_demo_takes_no_file(godex):
    assert godex("codex-config", "--demo", "--config", "x.yaml").exit_code == 2
