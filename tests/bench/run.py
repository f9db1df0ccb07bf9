"""The benchmark, run by hand: what the gateway costs, and how two installations compare. Linux only (/proc).

    python -m tests.bench.run                                   # this checkout, every scenario
    python -m tests.bench.run --scenario burst-2000 --against ../older-checkout
    python -m tests.bench.run --scenario chain-64 --backend redis --redis redis://127.0.0.1:6379/0
    python -m tests.bench.run --scenario sync --nginx           # through an nginx of its own, whose CPU counts

With --against, both are started and get their windows in turn (A B A B), and ratios are printed: compare only figures
of one run. CPU is that of the whole process tree. Nothing here is asserted by a test.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import yaml

from tests.support.replicas import started_nginx

ROOT = Path(__file__).parent.parent.parent
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Scenario:
    """unit: what the cost is divided by. chunks: per request, where the unit is the chunk."""

    model: str
    unit: str = "request"
    chunks: int = 1
    clients: int = 16
    once: bool = False
    input_kb: float = 0.1
    items: int = 0
    chain: int = 0


SCENARIOS = {
    "sync": Scenario("sync"),
    "burst-50": Scenario("burst-50", "chunk", 50),
    "burst-2000": Scenario("burst-2000", "chunk", 2000, clients=4),
    "burst-2000-reasoning": Scenario("burst-2000-reasoning", "chunk", 2000, clients=4),
    "burst-2000-arguments": Scenario("burst-2000-arguments", "chunk", 2000, clients=4),
    "burst-500": Scenario("burst-500", "chunk", 500, clients=4),
    "burst-4000": Scenario("burst-4000", "chunk", 4000, clients=4),
    "paced-100": Scenario("paced-20x60", "chunk", 60, clients=100, once=True),
    "paced-500": Scenario("paced-20x60", "chunk", 60, clients=500, once=True),
    "paced-1000": Scenario("paced-20x60", "chunk", 60, clients=1000, once=True),
    "input-1": Scenario("sync", input_kb=1),
    "input-64": Scenario("sync", input_kb=64),
    "input-1024": Scenario("sync", input_kb=1024),
    "history-1000": Scenario("sync", items=1000),
    "chain-1": Scenario("sync", chain=1),
    "chain-8": Scenario("sync", chain=8),
    "chain-64": Scenario("sync", chain=64),
}


@dataclass
class Target:
    """One installation that runs."""

    name: str
    processes: list[subprocess.Popen[bytes]]
    url: str
    windows: dict[str, list[dict[str, float]]] = field(default_factory=dict)

    @property
    def tree(self) -> list[int]:
        pids = [process.pid for process in self.processes]
        for pid in pids:
            found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            pids += map(int, found)
        return pids

    def cpu(self) -> float:
        """Seconds, user and system, of the whole tree."""
        total = 0
        for pid in self.tree:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
        return total / TICKS

    def resident_mb(self) -> float:
        lines = (Path(f"/proc/{pid}/status").read_text() for pid in self.tree)
        return sum(int(text.partition("VmRSS:")[2].split()[0]) for text in lines) / 1024


def started(name: str, checkout: Path, port: int, upstream: int, folder: Path, backend: str, redis: str) -> Target:
    folder.mkdir(parents=True)
    config = {
        "server": {"port": port, "workers": 1 if backend == "memory" else 2},
        "providers": {"up": {"spec": "openai_compatible", "endpoint": {"base_url": f"http://127.0.0.1:{upstream}/v1"}}},
        "session": {
            "backend": backend,
            "sqlite": {"path": str(folder / "s.db")},
            "redis": {"url": redis, "prefix": name},
        },
        "trace": {"path": str(folder / "t.db")},
    }
    (folder / "godex.yaml").write_text(yaml.safe_dump(config))
    process = subprocess.Popen(
        [str(checkout / ".venv/bin/python"), "-m", "app.cli", "serve", "--config", str(folder / "godex.yaml")],
        cwd=checkout,
        stdout=subprocess.DEVNULL,
        stderr=(folder / "log").open("wb"),
        start_new_session=True,
    )
    target = Target(name, [process], f"http://127.0.0.1:{port}/v1")
    for _ in range(100):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health/live", timeout=5).close()
            return target
        except OSError:
            time.sleep(0.1)
    raise click.ClickException(f"{name} did not start: {(folder / 'log').read_text()[-500:]}")


def put_behind_nginx(target: Target, port: int, front: int, folder: Path) -> None:
    target.processes.append(started_nginx(folder / "nginx", front, [port]))
    target.url = f"http://127.0.0.1:{front}/v1"


def body_of(scenario: Scenario, target: Target) -> bytes:
    words = "word " * max(1, int(scenario.input_kb * 1024 / 5))
    content: Any = words
    if scenario.items:
        call = {"type": "function_call", "call_id": "c{n}", "name": "run", "arguments": '{"q":"x"}'}
        output = {"type": "function_call_output", "call_id": "c{n}", "output": "word " * 40}
        pairs = [json.loads(json.dumps([call, output]).replace("{n}", str(n))) for n in range(scenario.items // 2)]
        content = [{"role": "user", "content": "go"}, *(item for pair in pairs for item in pair)]
    asked: dict[str, Any] = {"model": scenario.model, "input": content, "stream": scenario.unit == "chunk"}
    for _ in range(scenario.chain):
        turn = json.dumps({**asked, "stream": False}).encode()
        made = urllib.request.Request(f"{target.url}/responses", turn, {"Content-Type": "application/json"})
        with urllib.request.urlopen(made, timeout=60) as reply:
            asked["previous_response_id"] = json.load(reply)["id"]
    return json.dumps(asked).encode()


def window(target: Target, scenario: Scenario, body: bytes, seconds: float, folder: Path) -> dict[str, float]:
    path = folder / "body.json"
    path.write_bytes(body)
    command = [sys.executable, "-m", "tests.bench.load", "--url", target.url, "--body", str(path)]
    command += ["--clients", str(scenario.clients), "--seconds", str(seconds), *(["--once"] if scenario.once else [])]
    before, peak = target.cpu(), target.resident_mb()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as load:
        while load.poll() is None:
            peak = max(peak, target.resident_mb())
            time.sleep(0.1)
        assert load.stdout is not None
        seen = json.loads(load.stdout.read())
    units = seen["requests"] * scenario.chunks
    return {
        "cpu_us": (target.cpu() - before) / max(1, units) * 1e6,
        "requests": seen["requests"],
        "bad": seen["bad"],
        "first_event_p50": seen["first_event_ms"].get("p50", 0.0),
        "delay_p99": seen["delay_ms"].get("p99", 0.0),
        "peak_mb": peak,
    }


def report(name: str, scenario: Scenario, targets: list[Target]) -> None:
    base = statistics.median(row["cpu_us"] for row in targets[0].windows[name])
    for target in targets:
        rows = target.windows[name]
        middle = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
        click.echo(
            f"{name:22} {target.name:8} {middle['cpu_us']:9.1f} µs CPU/{scenario.unit:7}  x{middle['cpu_us'] / base:5.2f}"
            f"  first event p50 {middle['first_event_p50']:7.1f} ms  delay p99 {middle['delay_p99']:7.1f} ms"
            f"  peak {middle['peak_mb']:5.0f} MB  requests {middle['requests']:6.0f}  bad {middle['bad']:.0f}"
        )


@click.command()
@click.option("--scenario", "names", multiple=True, type=click.Choice(list(SCENARIOS)), help="Repeatable; default all.")
@click.option("--against", type=click.Path(path_type=Path, exists=True), help="Another checkout with its own .venv.")
@click.option("--backend", type=click.Choice(["sqlite", "redis", "memory"]), default="sqlite")
@click.option("--redis", default="redis://127.0.0.1:6379/0")
@click.option("--nginx", is_flag=True, help="Put an nginx in front of each.")
@click.option("--rounds", default=3)
@click.option("--seconds", default=3.0, help="Of one window.")
def main(
    names: tuple[str, ...], against: Path | None, backend: str, redis: str, nginx: bool, rounds: int, seconds: float
) -> None:
    """Measure this checkout, alone or against another one."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        upstream = subprocess.Popen([sys.executable, "-m", "tests.bench.stub_upstream", "--port", "9107"], cwd=ROOT)
        targets: list[Target] = []
        try:
            time.sleep(1)
            checkouts = [("this", ROOT), *([("other", against.resolve())] if against else [])]
            for number, (name, checkout) in enumerate(checkouts):
                targets.append(started(name, checkout, 5880 + number, 9107, folder / name, backend, redis))
                if nginx:
                    put_behind_nginx(targets[-1], 5880 + number, 5890 + number, folder / name)
            for name in names or SCENARIOS:
                scenario = SCENARIOS[name]
                bodies = {target.name: body_of(scenario, target) for target in targets}
                for number in range(rounds + 1):  # the first one warms up
                    for target in targets:
                        row = window(target, scenario, bodies[target.name], seconds if number else 1.0, folder)
                        if number:
                            target.windows.setdefault(name, []).append(row)
                report(name, scenario, targets)
        finally:
            for target in targets:
                os.killpg(target.processes[0].pid, signal.SIGTERM)
                for front in target.processes[1:]:
                    front.terminate()
            upstream.terminate()


if __name__ == "__main__":
    main()
