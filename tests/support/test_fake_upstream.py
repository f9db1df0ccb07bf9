from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.support.fake_upstream import FakeUpstream, answer, body, chunk, sse


@pytest.fixture
def upstream() -> Iterator[FakeUpstream]:
    with FakeUpstream() as server:
        yield server


def ask(url: str, **fields: object) -> requests.Response:
    return requests.post(f"{url}/chat/completions", json={"model": "m", **fields}, timeout=10)


def test_one_answer_serves_both_ways_of_asking(upstream: FakeUpstream) -> None:
    upstream.script("m", answer("Hello there", calls=(("c1", "f", '{"a":1}'),)), repeat=True)
    whole = ask(upstream.url).json()
    stream = ask(upstream.url, stream=True, stream_options={"include_usage": True}).text

    assert whole["choices"][0]["message"]["content"] == "Hello there"
    assert whole["choices"][0]["finish_reason"] == "tool_calls"
    assert '"content": "Hello"' in stream
    assert '"prompt_tokens": 12' in stream
    assert stream.endswith("data: [DONE]\n\n")


def test_answers_come_in_order_and_then_run_out(upstream: FakeUpstream) -> None:
    upstream.script("m", body({"n": 1}), body({"n": 2}))

    assert [ask(upstream.url).json().get("n") for _ in range(3)] == [1, 2, None]
    assert ask(upstream.url).status_code == 500


def test_requests_are_recorded_with_their_outcome(upstream: FakeUpstream) -> None:
    upstream.script("m", sse(chunk(content="a"), cut_after=1))
    with pytest.raises(requests.RequestException):
        ask(upstream.url, stream=True)

    recorded = upstream.requests[0]
    assert (recorded.model, recorded.chunks_sent, upstream.wait_for_outcome()) == ("m", 1, "cut")


def test_a_client_that_leaves_is_noticed(upstream: FakeUpstream) -> None:
    upstream.script("m", sse(chunk(content="a"), stall_after=1))
    response = requests.post(f"{upstream.url}/x", json={"model": "m"}, stream=True, timeout=10)
    next(response.iter_content(10))
    response.close()

    assert upstream.wait_for_outcome() == "client_gone"


def test_fifty_streams_run_at_once(upstream: FakeUpstream) -> None:
    upstream.script("m", sse(*[chunk(content="a")] * 5, pause=0.02), repeat=True)
    texts: list[str] = []
    threads = [threading.Thread(target=lambda: texts.append(ask(upstream.url).text)) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert len(texts) == 50
    assert all(text.count("data: {") == 5 for text in texts)


def test_a_process_is_scripted_over_http() -> None:
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.fake_upstream"], stdout=subprocess.PIPE, text=True, cwd=root
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        answers = [
            {"chunks": [{"base64": "ZGF0YTogMQoK"}, {"pause": 0.01}, "data: 2\n\n"]},
            {"message": {"content": "a"}},
        ]
        requests.post(f"{url}/_script", json={"model": "m", "answers": answers}, timeout=10).raise_for_status()

        assert ask(url).text == "data: 1\n\ndata: 2\n\ndata: [DONE]\n\n"
        assert ask(url).json()["choices"][0]["message"]["content"] == "a"
        recorded = requests.get(f"{url}/_requests", timeout=10).json()
        assert [request["body"] for request in recorded] == [{"model": "m"}] * 2
        requests.post(f"{url}/_reset", timeout=10).raise_for_status()
        assert requests.get(f"{url}/_requests", timeout=10).json() == []
    finally:
        process.terminate()
        process.wait(10)
        if process.stdout is not None:
            process.stdout.close()
