"""Secrets that are planted everywhere come out nowhere: not in logs, traces, metrics, errors or the printed config."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from app.cli import main
from app.trace.reader import TraceReader
from tests.support.client import Gateway
from tests.support.fake_upstream import FakeUpstream, body, chunk, failure, sse

CLIENT_KEY = "client-secret-zq81-jx7w-0001"
UPSTREAM_KEY = "upstream-secret-zq81-jx7w-0002"
HEADER = "header-secret-zq81-jx7w-0003"
SEAL_KEY = "seal-secret-zq81-jx7w-0004-and-more-of-it"
MCP_KEY = "mcp-secret-zq81-jx7w-0005"
SECRETS = (CLIENT_KEY, UPSTREAM_KEY, HEADER, SEAL_KEY, MCP_KEY)

ECHOES = [
    failure(401, f"Incorrect API key provided: {UPSTREAM_KEY}", code="invalid_api_key"),
    failure(400, f"header {HEADER} is not liked, nor is Bearer {UPSTREAM_KEY}"),
    failure(500, f"crashed with Authorization: Bearer {UPSTREAM_KEY}"),
    body(f"<html>{UPSTREAM_KEY}</html>", status=502),
    sse(chunk(content="a"), {"error": {"message": f"key {UPSTREAM_KEY} is used up", "code": 429}}),
    sse(chunk(content="a"), f"data: {{broken {UPSTREAM_KEY}\n\n", cut_after=2),
]


@pytest.fixture
def config() -> dict[str, Any]:
    return {
        "auth": {"keys": [CLIENT_KEY], "seal_keys": [SEAL_KEY]},
        "session": {"backend": "redis", "redis": {"url": "redis://:redis-secret-zq81-jx7w@127.0.0.1:1/0"}},
        "logging": {"level": "debug", "format": "json"},
    }


def test_planted_secrets_come_out_nowhere(
    make_gateway: Callable[..., Gateway],
    upstream: FakeUpstream,
    config: dict[str, Any],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    trace = tmp_path / "trace.db"
    gateway = make_gateway(
        {"credentials": {"api_key": UPSTREAM_KEY}, "headers": {"X-Team": HEADER}},
        trace={"path": str(trace), "capture_payload": True},
        **config,
    )
    mine = {"Authorization": f"Bearer {CLIENT_KEY}"}
    tools = [{"type": "mcp", "server_label": "s", "server_url": "https://s", "authorization": MCP_KEY}]
    told = []
    for stream in (False, True):
        upstream.script("m", *ECHOES)
        for _ in ECHOES:
            told.append(gateway.post(headers=mine, stream=stream, tools=tools, store=False).get_data(as_text=True))
        told.append(gateway.post(headers=mine, stream=stream).get_data(as_text=True))  # Redis is away
        told.append(gateway.post(headers={"Authorization": f"Bearer {UPSTREAM_KEY}"}).get_data(as_text=True))
    for path in ("/health", "/health/ready", "/metrics", "/v1/models"):
        told.append(gateway.client.get(path, headers=mine).get_data(as_text=True))
    gateway.client.application.extensions["godex"].close()
    reader = TraceReader(trace)
    told.append(json.dumps(list(reader.all_records())))
    reader.close()
    told.append("".join(capfd.readouterr()))
    everything = "\n".join(told)
    assert len(everything) > 10_000
    for secret in (*SECRETS, "redis-secret-zq81-jx7w"):
        # A client's own request is echoed to that client: its tool as it sent it.
        found = everything.replace(f'"authorization":"{MCP_KEY}"', "")
        assert secret not in found, found[found.index(secret) - 300 : found.index(secret) + 60]


def test_the_printed_configuration_masks_them(config: dict[str, Any], tmp_path: Path) -> None:
    up = {"spec": "openai_compatible", "endpoint": {"base_url": f"http://up.example/v1?api_key={UPSTREAM_KEY}"}}
    providers = {"up": {**up, "credentials": {"api_key": UPSTREAM_KEY}, "headers": {"X-Team": HEADER}}}
    file = tmp_path / "godex.yaml"
    file.write_text(yaml.safe_dump({**config, "providers": providers}))
    for arguments in (["config", "print"], ["config", "print", "--json"], ["config", "check"]):
        printed = CliRunner().invoke(main, [*arguments, "--config", str(file)])
        assert printed.exit_code == 0, printed.output
        for secret in (*SECRETS, "redis-secret-zq81-jx7w"):
            assert secret not in printed.output
