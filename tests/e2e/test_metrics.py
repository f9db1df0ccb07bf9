"""/metrics of several workers: one page for all of them, whichever answers."""

from __future__ import annotations

import http.client
import os
import signal
import time
from collections.abc import Callable

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.fake_upstream import answer
from tests.support.served import Served

pytestmark = pytest.mark.e2e


def metrics(served: Served) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Asked over a connection of its own, so that either worker may answer."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def responses(served: Served, model: str) -> float:
    labels = frozenset({("provider", "up"), ("model", model), ("status", "completed")})
    return metrics(served).get(("godex_responses_total", labels), 0.0)


def workers_that_tell(served: Served) -> set[int]:
    return {int(dict(labels)["pid"]) for name, labels in metrics(served) if name == "godex_worker_memory_bytes"}


def test_every_worker_is_counted_and_a_dead_one_leaves_its_counters_only(served, client, upstream):
    upstream.script("counted", answer("Hi"), repeat=True)
    for _ in range(20):
        client.with_options(default_headers={"Connection": "close"}).responses.create(model="counted", input="x")
    assert responses(served, "counted") == 20
    workers = served.workers()
    wait_for(lambda: workers_that_tell(served) == workers)
    dead = min(workers)
    os.kill(dead, signal.SIGKILL)
    wait_for(lambda: len(served.workers() - workers) == 1)
    wait_for(lambda: workers_that_tell(served) == served.workers())
    assert responses(served, "counted") == 20


def test_counters_outlive_a_reload(served, client, upstream):
    upstream.script("reloaded", answer("Hi"), repeat=True)
    client.responses.create(model="reloaded", input="x")
    before = served.workers()
    served.process.send_signal(signal.SIGHUP)
    wait_for(lambda: not before & served.workers() and len(served.workers()) == 2)
    wait_for(lambda: workers_that_tell(served) == served.workers())
    assert responses(served, "reloaded") == 1


def test_the_folder_ends_with_the_master(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    config = {"providers": {"demo": {"spec": "demo"}}, "session": {"backend": "memory"}, "server": {"workers": 1}}
    with Served({**config, "trace": {"enabled": False}}, tmp_path):
        assert len(list(tmp_path.glob("godex-metrics-*/*.db"))) > 0
    assert list(tmp_path.glob("godex-metrics-*")) == []
