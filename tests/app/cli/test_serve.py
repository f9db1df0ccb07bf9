"""What `godex serve` says before it serves; serving itself is in tests/e2e."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.cli.serve import announce, first_request, refuse_taken_address
from app.config.loader import demo_config, load_config
from app.config.model import ServerConfig
from tests.app.cli.conftest import Godex


@pytest.fixture
def taken() -> Iterator[int]:
    """A port of 127.0.0.1 on which somebody listens."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


def test_a_taken_port_is_told_at_once(godex: Godex, taken: int) -> None:
    result = godex("serve", "--demo", "--port", str(taken))
    assert result.exit_code == 2
    assert result.stderr == (
        f"godex: cannot listen on 127.0.0.1:{taken}: another program listens there; choose another port with --port\n"
    )


@pytest.mark.parametrize(
    ("host", "reason"),
    [("192.0.2.1", "this machine has no such address"), ("not..a.name", "the name is not known")],
)
def test_an_address_of_another_machine_is_told(godex: Godex, folder: Path, host: str, reason: str) -> None:
    (folder / "godex.yaml").write_text("auth: {open: true}\nproviders: {demo: {spec: demo}}\n")
    result = godex("serve", "--host", host)
    assert result.exit_code == 2
    assert f"cannot listen on {host}:5678: {reason}" in result.stderr


def test_a_free_address_is_not_refused() -> None:
    refuse_taken_address(ServerConfig(port=0))
    refuse_taken_address(ServerConfig(host="unix:/tmp/godex.sock"))


def test_nothing_configured_says_what_to_do(godex: Godex) -> None:
    result = godex("serve")
    assert result.exit_code == 2
    assert "DEEPSEEK_API_KEY" in result.stderr
    assert "godex init" in result.stderr
    assert "godex serve --demo" in result.stderr


def test_an_open_door_is_refused_before_anything_starts(godex: Godex) -> None:
    result = godex("serve", "--demo", "--host", "0.0.0.0")
    assert result.exit_code == 2
    assert "auth.keys: none, but server.host 0.0.0.0 can be reached from outside" in result.stderr


def test_the_demo_takes_no_file(godex: Godex) -> None:
    result = godex("serve", "--demo", "--config", "x.yaml")
    assert result.exit_code == 2
    assert "--demo brings its own configuration" in result.stderr


def test_the_first_request_fits_the_configuration() -> None:
    config = load_config(demo_config(), environ={})
    assert first_request(config, "http://127.0.0.1:5678") == (
        "curl http://127.0.0.1:5678/v1/responses -H 'Content-Type: application/json'"
        """ -d '{"model": "demo/demo-1", "input": "Hello"}'"""
    )
    plain = load_config({"providers": {"q": {"spec": "qwen", "credentials": {"api_key": "k"}}}}, environ={})
    assert '"model": "q/qwen3.8-max"' in first_request(plain, "http://127.0.0.1:5678")
    keyed = load_config(demo_config(), environ={"GODEX_API_KEY": "k"})
    assert '-H "Authorization: Bearer $GODEX_API_KEY"' in first_request(keyed, "http://127.0.0.1:5678")
    assert "--unix-socket /run/g.sock http://localhost/v1/responses" in first_request(config, "unix:/run/g.sock")


def test_the_version_is_told(godex: Godex) -> None:
    assert godex("--version").stdout == "godex, version 0.1.0\n"


@pytest.mark.parametrize("variable", ["GUNICORN_FD", "LISTEN_FDS"])
def test_a_port_that_is_handed_over_open_is_not_taken(
    taken: int, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "3")
    refuse_taken_address(ServerConfig(port=taken))


@pytest.mark.parametrize(("place", "warned"), [("/proc/none/sessions.db", True), ("made/later/sessions.db", False)])
def test_sessions_that_cannot_be_written_are_told_at_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str, warned: bool
) -> None:
    sections = {"providers": {"demo": {"spec": "demo"}}, "session": {"sqlite": {"path": str(tmp_path / place)}}}
    announce(load_config(sections), "http://127.0.0.1:5678")
    told = capsys.readouterr().err
    assert "listens on" in told
    assert ("Warning: this user cannot write session.sqlite.path" in told) == warned


@pytest.mark.parametrize("of_config", [{"keys": ["one", "two"]}, {}], ids=["beside others", "alone"])
def test_keys_in_a_file_are_told_like_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], of_config: Any
) -> None:
    file = tmp_path / "keys.yaml"
    file.write_text("keys: [secret]\n")
    config = load_config(
        {"providers": {"demo": {"spec": "demo"}}, "auth": {"keys_file": str(file), **of_config}}, environ={}
    )
    announce(config, "http://127.0.0.1:5678")
    told = capsys.readouterr().err
    assert f"the API keys in {file}" in told and ("2 API keys and " in told) is bool(of_config)
    assert "Authorization: Bearer $GODEX_API_KEY" in told
