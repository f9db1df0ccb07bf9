"""What a request leaves in the trace, and what a trace never does to a request."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time

import pytest

from app.config.model import TraceConfig
from app.trace.reader import TraceReader
from app.trace.recorder import TraceRecorder
from app.trace.rows import Row
from tests.app.sessions.gevent_script import run_patched
from tests.support.fake_upstream import answer, chunk, failure, sse


def told(record, *names):
    return tuple(record[name] for name in names)


def test_a_response_leaves_its_request_its_events_and_its_usage(traced):
    trace = traced()
    response = trace.gateway.stream().response
    records = trace.records()
    assert [told(record, "kind", "side", "event_name") for record in records] == [
        ("request", "client", None),
        ("request", "upstream", None),
        ("event", "client", "response.output_item.added"),
        ("event", "client", "response.output_item.done"),
        ("event", "client", "response.completed"),
        ("usage", None, None),
    ]
    assert {told(record, "response_id", "provider", "model", "caller") for record in records} == {
        (response["id"], "up", "m", "ann")
    }
    assert len({record["request_id"] for record in records}) == 1
    assert [record["created_at"] for record in records] == sorted(record["created_at"] for record in records)
    assert told(records[0], "stream") == told(records[1], "stream") == (1,)
    assert [record["sequence"] for record in records[2:5]] == [2, 9, 10]


def test_usage_has_its_details(traced, upstream):
    usage = {
        "prompt_tokens": 12,
        "completion_tokens": 5,
        "total_tokens": 17,
        "prompt_tokens_details": {"cached_tokens": 7},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    upstream.script("m", answer("Hi", usage=usage))
    trace = traced()
    trace.gateway.create()
    (record,) = trace.records(kind="usage")
    names = ("input_tokens", "output_tokens", "total_tokens", "cached_tokens", "reasoning_tokens")
    assert told(record, *names) == (12, 5, 17, 7, 3)


def test_without_capture_there_is_size_and_hash_and_no_payload(traced, upstream):
    trace = traced()
    trace.gateway.create(input="a secret thought")
    sent = upstream.requests[0].body
    records = trace.records()
    assert all(record["payload"] is None for record in records)
    by_upstream = records[1]
    assert by_upstream["size"] == len(json.dumps(sent, separators=(",", ":")))
    assert by_upstream["sha256"] == hashlib.sha256(json.dumps(sent, separators=(",", ":")).encode()).hexdigest()
    assert b"secret thought" not in trace.path.read_bytes()


def test_with_capture_both_sides_are_kept_whole(traced, upstream):
    """Also what is encoded long after it was said is what was said."""
    said = [chunk(role="assistant", content=""), chunk(content="Hel"), chunk(content="lo"), chunk(finish="stop")]
    upstream.script("m", sse(*said))
    trace = traced(capture_payload=True)
    heard = trace.gateway.stream(input="hi").events
    records = trace.records()
    payloads = [json.loads(record["payload"]) for record in records]

    def of(side, kind="event"):
        return [
            payload
            for record, payload in zip(records, payloads, strict=True)
            if told(record, "side", "kind") == (side, kind)
        ]

    assert of("client", "request")[0]["input"] == "hi"
    assert of("upstream", "request") == [upstream.requests[0].body]
    assert of("upstream") == said
    assert of("client") == heard


def test_keys_and_images_are_left_out_of_payloads(traced):
    image = "data:image/png;base64," + "iVBORw0KGgo" * 40
    trace = traced(capture_payload=True)
    trace.gateway.create(
        input=[
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "my key: sk-proj-0123456789abcdef and Bearer abcdefghijkl"},
                    {"type": "input_image", "image_url": image},
                ],
            }
        ],
        tools=[{"type": "mcp", "server_label": "s", "server_url": "https://s.example", "headers": {"X-Auth": "hush"}}],
    )
    kept = "".join(record["payload"] or "" for record in trace.records())
    for secret in ("0123456789abcdef", "abcdefghijkl", "hush", "iVBORw0KGgo"):
        assert secret not in kept
    assert "data:image/png,(" in kept
    assert "my key: ***" in kept


def test_an_upstream_that_refuses_is_an_error_record(traced, upstream):
    upstream.script("m", failure(429, "slow down"))
    trace = traced()
    trace.gateway.refused(429)
    (record,) = trace.records(kind="error")
    assert told(record, "event_name", "error_type", "domain", "code", "status") == (
        "request",
        "ProviderError",
        "provider",
        "provider.upstream.rate_limit",
        429,
    )
    assert "slow down" in record["message"]


def test_a_response_that_fails_in_mid_stream_is_an_error_record(traced, upstream):
    upstream.script("m", sse(chunk(content="half"), cut_after=1))
    trace = traced()
    trace.gateway.stream()
    (record,) = trace.records(kind="error")
    assert told(record, "event_name", "code") == ("response.failed", "provider.upstream.cut")


def test_a_repaired_answer_asks_the_upstream_twice_and_the_client_once(traced, upstream):
    upstream.script("m", answer("no JSON"), answer('{"a": 1}'))
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    trace = traced()
    trace.gateway.create(text={"format": {"type": "json_schema", "name": "n", "schema": schema, "strict": True}})
    assert [record["side"] for record in trace.records(kind="request")] == ["client", "upstream", "upstream"]


def test_a_trace_that_is_switched_off_writes_nothing(traced):
    trace = traced(enabled=False)
    trace.gateway.create()
    trace.gateway.client.application.extensions["godex"].close()
    assert not trace.path.exists()


def test_a_database_that_cannot_be_written_costs_no_answer(make_gateway, tmp_path, capfd):
    (tmp_path / "file").write_text("")
    gateway = make_gateway(trace={"path": str(tmp_path / "file" / "trace.db"), "flush_interval": 0.01, "batch_size": 1})
    for _ in range(3):
        gateway.create()
    gateway.client.application.extensions["godex"].close()
    assert capfd.readouterr().err.count("the trace cannot be written") == 1


def row(**columns):
    common = {"request_id": "req_1", "response_id": "resp_1", "provider": "up", "model": "m", "caller": ""}
    return Row(**{"kind": "event", "created_at": time.time(), **common, **columns})


def test_rows_wait_while_the_database_is_locked_and_are_written_then(tmp_path):
    path = tmp_path / "trace.db"
    recorder = TraceRecorder(TraceConfig(path=str(path), flush_interval=0.01))
    recorder._put(row())
    until(lambda: recorder.written == 1)
    other = sqlite3.connect(path)
    other.execute("BEGIN IMMEDIATE")
    recorder._put(row(event_name="late"))
    other.rollback()
    other.close()
    recorder.close()
    assert [record["event_name"] for record in TraceReader(path).all_records()] == [None, "late"]


def test_a_failed_write_is_not_repeated_at_every_row(tmp_path):
    (tmp_path / "file").write_text("")
    recorder = TraceRecorder(TraceConfig(path=str(tmp_path / "file" / "trace.db"), flush_interval=0.001, batch_size=1))
    recorder._put(row())
    until(lambda: recorder.failed_writes == 1)
    for _ in range(100):
        recorder._put(row())
        time.sleep(0.001)
    assert recorder.failed_writes == 1
    recorder.close()


def until(condition):
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_two_recorders_write_into_one_file(tmp_path):
    path = tmp_path / "trace.db"
    config = TraceConfig(path=str(path), flush_interval=0.001, batch_size=7)
    recorders = [TraceRecorder(config) for _ in range(4)]

    def work(recorder):
        for _ in range(100):
            recorder._put(row())

    threads = [threading.Thread(target=work, args=(recorder,)) for recorder in recorders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for recorder in recorders:
        recorder.close()
    assert sum(1 for _ in TraceReader(path).all_records()) == 400


def test_what_is_older_than_the_retention_goes(tmp_path):
    path = tmp_path / "trace.db"
    recorder = TraceRecorder(TraceConfig(path=str(path), retention=100))
    for age in (101, 99):
        recorder._put(row(created_at=time.time() - age))
    recorder.close()
    (record,) = TraceReader(path).all_records()
    assert record["created_at"] > time.time() - 100


def test_the_file_is_for_its_owner_only(tmp_path):
    path = tmp_path / "deep" / "trace.db"
    recorder = TraceRecorder(TraceConfig(path=str(path)))
    recorder._put(row())
    recorder.close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_of_a_former_release_gets_its_new_columns(tmp_path):
    path = tmp_path / "trace.db"
    with sqlite3.connect(path) as old:
        old.execute("CREATE TABLE records (id INTEGER PRIMARY KEY, kind, created_at, request_id, response_id)")
    old.close()
    recorder = TraceRecorder(TraceConfig(path=str(path)))
    recorder._put(row(caller="ann"))
    recorder.close()
    (record,) = TraceReader(path).all_records()
    assert record["caller"] == "ann"


def test_a_row_that_no_json_library_likes_is_written_all_the_same(tmp_path):
    path = tmp_path / "trace.db"
    recorder = TraceRecorder(TraceConfig(path=str(path), capture_payload=True))
    recorder._put(row(payload={"text": "half a pair \ud83d", "number": 2**70}))
    recorder.close()
    (record,) = TraceReader(path).all_records()
    assert json.loads(record["payload"])["number"] == 2**70


@pytest.mark.parametrize("locked", [False, True])
def test_under_gevent_the_event_loop_runs_on_while_rows_are_written(tmp_path, locked):
    path = tmp_path / "trace.db"
    printed = run_patched(
        """
        import sqlite3, sys, time
        import gevent
        from app.config.model import TraceConfig
        from app.trace.recorder import TraceRecorder
        from app.trace.rows import Row

        def put():
            recorder._put(Row(kind="event", created_at=1.0, request_id="", response_id="", provider="", model="", caller=""))

        recorder = TraceRecorder(TraceConfig(path=sys.argv[1], flush_interval=0.01, retention=1e12))
        put()
        while recorder.written < 1:
            gevent.sleep(0.01)
        other = sqlite3.connect(sys.argv[1], isolation_level=None)
        if sys.argv[2] == "True":
            other.execute("BEGIN IMMEDIATE")
        put()
        longest, before = 0.0, time.monotonic()
        for _ in range(60):
            gevent.sleep(0.01)
            longest, before = max(longest, time.monotonic() - before), time.monotonic()
        if sys.argv[2] == "True":
            assert recorder.written == 1
            other.execute("ROLLBACK")
        recorder.close()
        print(recorder.written, longest < 0.5)
        """,
        str(path),
        str(locked),
    )
    assert printed == "2 True\n"
