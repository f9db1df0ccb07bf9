"""`godex config check` and `godex config print`."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from app.config.loader import load_config
from tests.app.cli.conftest import Godex

FILE = """\
providers:
  house:
    spec: openai_compatible
    endpoint: {base_url: "http://127.0.0.1:1/v1"}
    credentials: {api_key: "${HOUSE_KEY}"}
session: {ttl: 2h}
"""


def test_a_right_file_is_summed_up(godex: Godex, folder: Path) -> None:
    (folder / "godex.yaml").write_text(FILE)
    result = godex("config", "check", HOUSE_KEY="hush")
    assert result.exit_code == 0
    assert result.stdout == "The configuration from godex.yaml is right: default provider house, sessions in sqlite.\n"


def test_a_provider_that_will_not_serve_is_a_warning(godex: Godex, folder: Path) -> None:
    (folder / "godex.yaml").write_text(FILE + "default_provider: house\n")
    text = (folder / "godex.yaml").read_text().replace("providers:\n", "providers:\n  new: {spec: of_tomorrow}\n")
    (folder / "godex.yaml").write_text(text)
    result = godex("config", "check", HOUSE_KEY="hush")
    assert result.exit_code == 0
    assert "warning: providers.new.spec 'of_tomorrow' is unknown; new will not serve" in result.stdout


def test_mistakes_are_lines_on_stderr_and_exit_code_2(godex: Godex, folder: Path) -> None:
    file = folder / "other.yaml"
    file.write_text(FILE + "sesion: {}\nserver: {port: many}\n")
    result = godex("config", "check", "--config", str(file), HOUSE_KEY="hush")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [
        f"godex: configuration from {file}: 2 problems",
        "  server.port: must be a whole number",
        "  sesion: unknown key; did you mean 'session'?",
    ]


def test_a_missing_variable_is_named(godex: Godex, folder: Path) -> None:
    (folder / "godex.yaml").write_text(FILE)
    result = godex("config", "check")
    assert result.exit_code == 2
    assert "providers.house.credentials.api_key: the environment variable HOUSE_KEY is not set" in result.stderr


def test_print_fills_in_defaults_and_masks_secrets(godex: Godex, folder: Path) -> None:
    (folder / "godex.yaml").write_text(FILE)
    result = godex("config", "print", HOUSE_KEY="hush")
    assert result.exit_code == 0
    assert "hush" not in result.output
    shown = yaml.safe_load(result.stdout)
    assert shown["session"]["ttl"] == 7200.0
    assert shown["server"]["port"] == 5678
    assert shown["providers"]["house"]["credentials"]["api_keys"] == ["***"]
    assert load_config(shown).session.ttl == 7200.0


def test_print_can_be_json(godex: Godex, folder: Path) -> None:
    (folder / "godex.yaml").write_text(FILE)
    as_yaml = godex("config", "print", HOUSE_KEY="hush")
    as_json = godex("config", "print", "--json", HOUSE_KEY="hush")
    assert json.loads(as_json.stdout) == yaml.safe_load(as_yaml.stdout)


def test_the_file_may_be_named_by_the_environment(godex: Godex, folder: Path) -> None:
    file = folder / "elsewhere.yaml"
    file.write_text(FILE)
    result = godex("config", "check", HOUSE_KEY="hush", GODEX_CONFIG=str(file))
    assert str(file) in result.stdout


LIVE = """\
default_provider: one
providers:
  one: {{spec: openai_compatible, endpoint: {{base_url: "{one}"}}, credentials: {{api_keys: [good, spent]}}}}
  two: {{spec: openai_compatible, endpoint: {{base_url: "{two}"}}, credentials: {{api_key: good}}}}
  demo: {{spec: demo}}
"""


class _Models(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        asked = (self.path, self.headers["Authorization"])
        self.send_response({("/v1/models", "Bearer good"): 200, ("/v1/models", "Bearer spent"): 401}.get(asked, 404))
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def models() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Models) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_live_asks_every_provider_with_every_key(godex: Godex, folder: Path, models: str) -> None:
    (folder / "godex.yaml").write_text(LIVE.format(one=models, two=f"{models}/other"))
    result = godex("config", "check", "--live")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[1:] == [
        "one, key 1: right",
        "one, key 2: the API key is refused (HTTP 401); check its credentials",
        "two: reached; it has no list of models (HTTP 404), so that the key was not tried",
        "demo: right; it runs inside GodeX",
    ]


def test_live_tells_an_upstream_that_is_not_there(godex: Godex, folder: Path, models: str) -> None:
    (folder / "godex.yaml").write_text(FILE)
    result = godex("config", "check", "--live", HOUSE_KEY="hush")
    assert result.exit_code == 1
    assert "house: house cannot be reached (ConnectionError); check http://127.0.0.1:1/v1/models" in result.stdout
    assert "hush" not in result.output


def test_live_is_right_when_all_answer(godex: Godex, folder: Path, models: str) -> None:
    (folder / "godex.yaml").write_text(LIVE.replace("[good, spent]", "[good]").format(one=models, two=models))
    assert godex("config", "check", "--live").exit_code == 0
