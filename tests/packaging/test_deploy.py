"""The files in deploy/ say what the program knows: configurations load, metrics exist, times fit together."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from configparser import RawConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

import app.metrics
from app import create_app
from app.config.loader import load_config
from app.config.model import Config, ServerConfig

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
ENVIRON = {"GODEX_API_KEY": "a-key-for-clients", "DEEPSEEK_API_KEY": "a-key-for-the-upstream"}


def documents(name: str) -> list[Any]:
    return list(yaml.safe_load_all((DEPLOY / name).read_text()))


def kubernetes(kind: str) -> dict[str, Any]:
    (found,) = [document for document in documents("kubernetes.yaml") if document["kind"] == kind]
    return dict(found)


def compose() -> dict[str, Any]:
    return dict(documents("compose.yaml")[0])


def seconds(text: str) -> float:
    number, unit = re.fullmatch(r"(\d+)([sm]?)", text).groups()  # type: ignore[union-attr]
    return int(number) * (60 if unit == "m" else 1)


# The configurations in them


def embedded(where: str) -> Config:
    text = {
        "compose.yaml": lambda: compose()["configs"]["godex"]["content"].replace("$$", "$"),
        "kubernetes.yaml": lambda: kubernetes("ConfigMap")["data"]["godex.yaml"],
    }[where]()
    return load_config(yaml.safe_load(text), environ=ENVIRON)


@pytest.mark.parametrize("where", ["compose.yaml", "kubernetes.yaml"])
def test_the_configuration_is_right_and_safe(where: str) -> None:
    config = embedded(where)
    assert config.auth.has_keys and config.server.host == "0.0.0.0"
    assert config.session.backend == "redis", "replicas share their sessions"
    assert config.providers["deepseek"].credentials.api_keys[0].reveal() == ENVIRON["DEEPSEEK_API_KEY"]


def test_everybody_gives_streams_the_time_that_the_configuration_does() -> None:
    compose_grace = seconds(compose()["services"]["godex"]["stop_grace_period"])
    assert compose_grace > embedded("compose.yaml").server.graceful_timeout
    pod = kubernetes("Deployment")["spec"]["template"]["spec"]
    before = float(pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["terminationGracePeriodSeconds"] > before + embedded("kubernetes.yaml").server.graceful_timeout
    assert float(unit()["Service"]["TimeoutStopSec"]) > 2 * ServerConfig().graceful_timeout


# Ports and paths


def test_probes_ask_for_what_there_is() -> None:
    container = kubernetes("Deployment")["spec"]["template"]["spec"]["containers"][0]
    (port,) = container["ports"]
    assert port["containerPort"] == embedded("kubernetes.yaml").server.port
    assert kubernetes("Service")["spec"]["ports"][0]["targetPort"] == port["name"]
    client = create_app(
        {"providers": {"demo": {"spec": "demo"}}, "session": {"backend": "memory"}, "trace": {"enabled": False}}
    ).test_client()
    paths = [container[probe]["httpGet"]["path"] for probe in ("readinessProbe", "livenessProbe")]
    paths += re.findall(r"127\.0\.0\.1:5678(/[\w/]+)", (DEPLOY / "Dockerfile").read_text())
    assert len(paths) == 3
    assert {client.get(path).status_code for path in paths} == {200}


def test_compose_finds_the_line_that_it_changes() -> None:
    command = compose()["services"]["nginx"]["command"][-1]
    nginx = (DEPLOY / "nginx.conf").read_text()
    for pattern in re.findall(r"-e 's[,/](.+?)[,/]", command):
        assert re.search(pattern, nginx), pattern
    assert "server godex:5678" in re.sub(r"127\.0\.0\.1:5678", "godex:5678", nginx)


# The image


def instructions() -> Iterator[tuple[str, str]]:
    text = re.sub(r"\\\n", " ", (DEPLOY / "Dockerfile").read_text())
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, rest = line.partition(" ")
            yield name, rest


def test_the_image_runs_without_privileges_and_tells_how_it_is() -> None:
    told = dict(instructions())
    user = told["USER"].partition(":")[0]
    assert int(user) > 0
    container = kubernetes("Deployment")["spec"]["template"]["spec"]
    assert container["securityContext"]["runAsUser"] == int(user)
    assert f"uid={user}" in compose()["services"]["godex"]["tmpfs"][1]
    assert json.loads(told["ENTRYPOINT"]) == ["godex"]
    assert told["HEALTHCHECK"]
    assert told["STOPSIGNAL"] == "SIGTERM"
    assert "ADD" not in told


def test_the_image_is_made_of_what_there_is() -> None:
    froms = [rest for name, rest in instructions() if name == "FROM"]
    assert all(":" in image and ":latest" not in image for image in froms)
    for name, rest in instructions():
        if name == "COPY" and not rest.startswith("--from"):
            *sources, _ = rest.split()
            for source in sources:
                assert (ROOT / source).exists(), source
    workdir = dict(instructions())["WORKDIR"]
    mounts = kubernetes("Deployment")["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]
    assert {workdir, "/tmp"} <= {mount["mountPath"] for mount in mounts}


# The unit


def unit() -> RawConfigParser:
    parser = RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(DEPLOY / "godex.service")
    return parser


def test_the_unit_starts_commands_that_there_are() -> None:
    for key in ("ExecStart", "ExecStartPre"):
        program, *arguments = unit()["Service"][key].split()
        assert program == "/opt/godex/bin/godex"
        words = [word for word in arguments if not word.startswith("-") and not word.startswith("/")]
        done = subprocess.run(
            [sys.executable, "-m", "app.cli", *words, "--help"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0
        assert "--config" in done.stdout


def test_systemd_is_content_with_the_unit(tmp_path: Path) -> None:
    service = unit()["Service"]
    assert service["NoNewPrivileges"] == service["PrivateTmp"] == service["DynamicUser"] == "yes"
    if shutil.which("systemd-analyze"):
        file = tmp_path / "godex.service"
        program = tmp_path / "godex"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        file.write_text((DEPLOY / "godex.service").read_text().replace("/opt/godex/bin/godex", str(program)))
        for command in (["verify", "--man=no"], ["security", "--offline=true", "--threshold=25"]):
            done = subprocess.run(["systemd-analyze", *command, str(file)], capture_output=True, text=True, check=False)
            assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


# Metrics


def known_metrics() -> set[str]:
    return set(re.findall(r"\bgodex_\w+", app.metrics.__doc__ or ""))


def used_metrics(text: str) -> set[str]:
    return {re.sub(r"_(bucket|count|sum)$", "", name) for name in re.findall(r"\bgodex_\w+", text)}


def test_alerts_ask_for_metrics_that_there_are() -> None:
    (rules,) = documents("alerts.yaml")
    alerts = [rule for group in rules["groups"] for rule in group["rules"]]
    assert len(alerts) > 10
    for alert in alerts:
        assert (
            {"alert", "expr", "labels", "annotations"}
            <= set(alert)
            <= {"alert", "expr", "for", "labels", "annotations"}
        )
        assert alert["labels"]["severity"] in ("critical", "warning", "info")
        assert used_metrics(alert["expr"]) <= known_metrics(), alert["alert"]
        assert alert["expr"].count("(") == alert["expr"].count(")")


def test_the_dashboard_shows_every_metric() -> None:
    dashboard = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    queries = [target["expr"] for panel in panels for target in panel["targets"]]
    assert used_metrics(" ".join(queries)) == known_metrics()
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    for query in queries:
        assert query.count("(") == query.count(")") and query.count("{") == query.count("}"), query
    places = [tuple(panel["gridPos"].values()) for panel in dashboard["panels"]]
    assert len(set(places)) == len(places)
