"""What is counted, and who may see it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

import app.metrics
from app.metrics import MOST_MODELS, OTHER, Metrics, metrics
from tests.support.fake_upstream import answer, chunk, failure, sse

Counted = Callable[..., float]


@pytest.fixture
def counted() -> Counted:
    """counted(sample, label=value, …): by how much a sample has grown since the test began."""
    before = samples()

    def grown(name: str, **labels: str) -> float:
        key = (name, frozenset(labels.items()))
        return samples().get(key, 0.0) - before.get(key, 0.0)

    return grown


def samples() -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(metrics().exposition().decode())
        for sample in family.samples
    }


def test_a_response_is_counted_with_its_times_and_tokens(gateway, upstream, counted):
    usage = {
        "prompt_tokens": 12,
        "completion_tokens": 5,
        "total_tokens": 17,
        "prompt_tokens_details": {"cached_tokens": 7},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    upstream.script("m", answer("Hi", usage=usage))
    gateway.stream()
    assert counted("godex_http_requests_total", route="/v1/responses", method="POST", status="200") == 1
    assert counted("godex_responses_total", provider="up", model="m", status="completed") == 1
    for name in ("response_seconds", "first_event_seconds"):
        assert counted(f"godex_{name}_count", provider="up", model="m") == 1
    assert counted("godex_overhead_seconds_count") == 1
    tokens = {"input": 12, "cached": 7, "output": 5, "reasoning": 3}
    for kind, number in tokens.items():
        assert counted("godex_tokens_total", provider="up", model="m", kind=kind) == number


def test_sync_and_stream_count_alike(gateway, counted):
    gateway.create()
    gateway.stream()
    assert counted("godex_responses_total", provider="up", model="m", status="completed") == 2


def test_an_upstream_that_refuses_is_counted(gateway, upstream, counted):
    upstream.script("m", failure(429, "slow down"))
    gateway.refused(429)
    assert counted("godex_responses_total", provider="up", model="m", status="refused") == 1
    assert counted("godex_upstream_errors_total", provider="up", code="provider.upstream.rate_limit") == 1
    assert counted("godex_http_requests_total", route="/v1/responses", method="POST", status="429") == 1


def test_a_stream_that_breaks_off_is_counted(gateway, upstream, counted):
    upstream.script("m", sse(chunk(content="half"), cut_after=1))
    gateway.stream()
    assert counted("godex_responses_total", provider="up", model="m", status="failed") == 1
    assert counted("godex_upstream_errors_total", provider="up", code="provider.upstream.cut") == 1


def test_deviations_are_counted_by_action(make_gateway, counted):
    gateway = make_gateway({"capabilities": {"parameters": ["max_output_tokens"]}})
    gateway.create(temperature=0.3, top_p=0.5)
    assert counted("godex_diagnostics_total", action="ignored") == 2


def test_the_store_is_timed_and_its_failures_are_counted(gateway, counted):
    first = gateway.create()
    gateway.create(previous_response_id=first["id"])
    gateway.refused(400, previous_response_id="resp_of_nobody")
    assert counted("godex_store_seconds_count", operation="save") == 2
    assert counted("godex_store_seconds_count", operation="resolve_chain") == 2
    assert counted("godex_store_errors_total", operation="resolve_chain", code="session.chain.not_found") == 1


def test_another_provider_that_helps_out_is_counted(make_gateway, upstream, counted):
    upstream.script("first", failure(500, "down"))
    gateway = make_gateway(models={"fallbacks": {"up/first": ["up/second"]}})
    gateway.create(model="up/first")
    assert counted("godex_fallbacks_total", provider="up", to="up/second") == 1


def test_a_key_that_is_held_back_is_counted(make_gateway, counted):
    key = {"name": "ann", "key": "key-of-ann", "limits": {"requests_per_minute": 1}}
    gateway = make_gateway(auth={"keys": [key]})
    for _ in range(3):
        gateway.post(headers={"Authorization": "Bearer key-of-ann"})
    assert counted("godex_limited_total", key="ann", limit="requests") >= 1  # a minute may end in between


def test_states_are_sampled_when_somebody_asks(make_gateway, tmp_path):
    gateway = make_gateway(
        {"credentials": {"api_keys": ["key-number-one", "key-number-two"]}},
        session={"backend": "sqlite", "sqlite": {"path": str(tmp_path / "s.db")}},
    )
    gateway.create()
    gateway.client.get("/metrics")
    found = samples()
    up = frozenset({("provider", "up")})
    assert found["godex_upstream_keys_ready", up] == 2
    assert found["godex_upstream_breaker_open", up] == 0
    assert found["godex_spool_waiting", frozenset()] == 0
    assert found["godex_draining_workers", frozenset()] == 0
    assert found["godex_worker_memory_bytes", frozenset()] > 10_000_000


def test_totals_that_others_keep_are_added_up_once(make_gateway, tmp_path, counted):
    gateway = make_gateway(trace={"path": str(tmp_path / "t.db"), "flush_interval": 0.001})
    gateway.create()
    whole = gateway.client.application.extensions["godex"]
    whole.close()
    for _ in range(3):
        whole.look_after()
    assert counted("godex_trace_written_total") == whole.trace.written > 0


def test_repeated_calls_are_counted_by_what_failed(make_gateway, upstream, counted):
    upstream.script("m", failure(500, "broken"), answer("Hi"))
    gateway = make_gateway(provider={"retry": {"attempts": 2, "budget": 5}})
    gateway.create()
    assert counted("godex_upstream_retries_total", provider="up", code="provider.upstream.server_error") == 1


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[Metrics]:
    """Metrics of a process that has just begun."""
    yield Metrics()


def test_names_that_clients_make_up_share_one_label(gateway, upstream, fresh, monkeypatch):
    monkeypatch.setattr("app.pipelines.stages.metrics", lambda: fresh)
    for number in range(MOST_MODELS + 5):
        gateway.create(model=f"made-up-{number}")
    models = {
        sample.labels["model"]
        for family in text_string_to_metric_families(fresh.exposition().decode())
        for sample in family.samples
        if sample.name == "godex_responses_total"
    }
    assert len(models) == MOST_MODELS + 1
    assert OTHER in models


def test_the_table_names_every_metric_and_no_other(fresh):
    table = app.metrics.__doc__ or ""
    written = set(re.findall(r"\bgodex_\w+", table))
    made = {
        family.name + ("_total" if family.type == "counter" else "")
        for family in text_string_to_metric_families(fresh.exposition().decode())
        if not family.name.endswith("_created")  # the library's own, absent where workers share a folder
    }
    assert written == made


# Who may look

OUTSIDE = {"REMOTE_ADDR": "203.0.113.9"}
KEYS = {"keys": ["a-key-for-clients"]}
LOOKING = [
    ({}, {}, {}, True, "from this machine"),
    ({"REMOTE_ADDR": "::1"}, {}, {}, True, "from this machine by IPv6"),
    ({"REMOTE_ADDR": ""}, {}, {}, True, "through a Unix socket"),
    (OUTSIDE, {}, {}, False, "from outside"),
    ({}, {"X-Forwarded-For": "203.0.113.9"}, {}, False, "from outside through a proxy on this machine"),
    ({}, {"Forwarded": "for=203.0.113.9"}, {}, False, "from outside through a proxy with the newer header"),
    (OUTSIDE, {"Authorization": "Bearer a-key-for-clients"}, KEYS, True, "from outside with a key"),
    (OUTSIDE, {"Authorization": "Bearer another"}, KEYS, False, "from outside with a wrong key"),
    (OUTSIDE, {"Authorization": "Bearer any"}, {"open": True}, False, "from outside where everybody may ask models"),
]


@pytest.mark.parametrize(("environ", "headers", "auth", "may", "who"), LOOKING, ids=[who for *_, who in LOOKING])
def test_who_may_look(make_gateway, environ, headers, auth, may, who):
    client = make_gateway(auth=auth).client
    metrics_reply = client.get("/metrics", environ_base=environ, headers=headers)
    health = client.get("/health", environ_base=environ, headers=headers)
    assert metrics_reply.status_code == (200 if may else 401)
    assert (b"godex_requests_in_progress" in metrics_reply.data) == may
    assert health.status_code == 200
    assert ("providers" in health.get_json()) == may
