"""`godex trace` over a file that a gateway wrote."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from app.cli import main
from app.config.model import TraceConfig
from app.trace.recorder import TraceRecorder
from app.trace.rows import Row
from tests.support.client import Gateway
from tests.support.fake_upstream import FakeUpstream, answer, chunk, failure, sse

ROOT = Path(__file__).parents[3]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trace.db"


@pytest.fixture
def asked(make_gateway: Callable[..., Gateway], upstream: FakeUpstream, path: Path) -> dict[str, str]:
    """What three requests were: a complete one, one that its upstream refused, one that broke off."""
    gateway = make_gateway(trace={"path": str(path), "capture_payload": True})
    upstream.script("fine", answer("one two three four five six"))
    upstream.script("refused", failure(400, "that is wrong"))
    upstream.script("cut", sse(chunk(content="half"), cut_after=1))
    ids = {"fine": gateway.stream(model="fine").response["id"]}
    gateway.refused(400, model="refused")
    ids["cut"] = gateway.stream(model="cut").response["id"]
    gateway.client.application.extensions["godex"].close()
    return ids


def godex(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["trace", *arguments])


def listed(path: Path, *arguments: str) -> list[dict[str, Any]]:
    result = godex("list", "--json", "--file", str(path), *arguments)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_list_tells_how_each_one_ended_the_newest_first(asked: dict[str, str], path: Path) -> None:
    found = listed(path)
    assert [(one["model"], one["status"], one["error"]) for one in found] == [
        ("cut", "failed", "provider.upstream.cut"),
        ("refused", "refused", "provider.upstream.bad_request"),
        ("fine", "completed", None),
    ]
    assert (found[2]["input_tokens"], found[2]["output_tokens"], found[2]["response_id"]) == (12, 5, asked["fine"])
    assert found[2]["duration"] > 0


@pytest.mark.parametrize(
    ("options", "models"),
    [
        (["--failed"], ["cut", "refused"]),
        (["--model", "fine"], ["fine"]),
        (["--provider", "other"], []),
        (["-n", "1"], ["cut"]),
        (["--since", "1h"], ["cut", "refused", "fine"]),
        (["--since", "0.001ms"], []),
    ],
    ids=str,
)
def test_list_can_be_narrowed(asked: dict[str, str], path: Path, options: list[str], models: list[str]) -> None:
    assert [one["model"] for one in listed(path, *options)] == models


def test_list_is_readable(asked: dict[str, str], path: Path) -> None:
    lines = godex("list", "--file", str(path)).stdout.splitlines()
    assert lines[0].startswith("began")
    assert re.fullmatch(
        rf"\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d  completed +\d+\.\d\d +12 +0 +5  {asked['fine']} up/fine", lines[3]
    )


def test_show_puts_events_of_one_name_in_one_line(asked: dict[str, str], path: Path) -> None:
    text = godex("show", asked["fine"], "--file", str(path)).stdout
    assert re.search(r"client +request  up/fine stream \(\d+ bytes, sha256 [0-9a-f]{12}\)", text)
    assert len(re.findall(r"response\.output_item\.added", text)) == 1
    assert "input=12 output=5 total=17" in text
    assert "one two" not in text


def test_show_gives_payloads_when_asked(asked: dict[str, str], path: Path) -> None:
    text = godex("show", asked["fine"], "--payload", "--file", str(path)).stdout
    assert '"content": "hi"' in text


def test_show_takes_a_request_id_and_gives_json(asked: dict[str, str], path: Path) -> None:
    refused = listed(path, "--model", "refused")[0]["request_id"]
    records = [json.loads(line) for line in godex("show", refused, "--json", "--file", str(path)).stdout.splitlines()]
    assert [record["kind"] for record in records] == ["request", "request", "error"]
    assert records[0]["payload"] == {"model": "refused", "input": "hi"}


def test_show_says_when_there_is_nothing(asked: dict[str, str], path: Path) -> None:
    result = godex("show", "resp_none", "--file", str(path))
    assert (result.exit_code, result.stderr) == (2, "godex: the trace knows no resp_none\n")


def test_export_is_every_record_as_it_was_written(asked: dict[str, str], path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert godex("export", "--file", str(path), "-o", str(out)).exit_code == 0
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [record["id"] for record in records] == list(range(1, len(records) + 1))
    assert {record["response_id"] for record in records} > set(asked.values())


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "there is no trace at"), (b"no database at all, just text" * 50, "cannot be read as a trace")],
    ids=["absent", "something else"],
)
def test_a_file_that_is_no_trace_is_refused(path: Path, content: bytes | None, said: str) -> None:
    if content is not None:
        path.write_bytes(content)
    result = godex("list", "--file", str(path))
    assert result.exit_code == 2
    assert said in result.stderr


def test_an_age_that_cannot_be_read_is_refused(path: Path) -> None:
    result = godex("list", "--file", str(path), "--since", "yesterday")
    assert result.exit_code == 2
    assert "must be a duration" in result.stderr


def test_the_file_is_the_one_of_the_configuration(tmp_path: Path) -> None:
    config = tmp_path / "godex.yaml"
    config.write_text("providers: {demo: {spec: demo}}\ntrace: {path: /nowhere/trace.db}\n")
    assert "there is no trace at /nowhere/trace.db" in godex("list", "--config", str(config)).stderr


def test_tail_tells_of_responses_as_they_end(asked: dict[str, str], path: Path) -> None:
    tail = subprocess.Popen(
        [sys.executable, "-m", "app.cli", "trace", "tail", "--json", "-n", "1", "--file", str(path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
    )
    assert tail.stdout is not None
    assert json.loads(tail.stdout.readline())["model"] == "cut"  # the old one
    recorder = TraceRecorder(TraceConfig(path=str(path)))
    for columns in (
        {"kind": "request", "side": "client", "event_name": None},
        {"kind": "event", "side": "client", "event_name": "response.completed"},
    ):
        recorder._put(
            Row(
                created_at=time.time(),
                request_id="req_new",
                response_id="resp_new",
                provider="up",
                model="new",
                caller="",
                **columns,  # type: ignore[arg-type]
            )
        )
    recorder.close()
    ended = json.loads(tail.stdout.readline())
    assert (ended["response_id"], ended["status"]) == ("resp_new", "completed")
    tail.send_signal(signal.SIGINT)
    rest, _ = tail.communicate(timeout=10)
    assert (rest, tail.returncode) == ("", 0)
