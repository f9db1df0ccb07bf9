from __future__ import annotations

import threading
from typing import Any

from bridge.stream.deltas import EndDelta, FinishDelta, ReasoningDelta, TextDelta, ToolCallDelta, UsageDelta
from providers.demo.client import DemoClient
from providers.demo.spec import DEMO

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def request(text: str, **fields: Any) -> dict[str, Any]:
    return {"model": "demo-1", "messages": [{"role": "user", "content": text}], **fields}


def summed(deltas: list[Any]) -> dict[str, Any]:
    """What a list of deltas says altogether."""
    return {
        "reasoning": "".join(d.text for d in deltas if isinstance(d, ReasoningDelta)),
        "text": "".join(d.text for d in deltas if isinstance(d, TextDelta)),
        "arguments": "".join(d.arguments for d in deltas if isinstance(d, ToolCallDelta)),
        "ids": {d.id for d in deltas if isinstance(d, ToolCallDelta)} - {None},
        "usage": [d.usage for d in deltas if isinstance(d, UsageDelta)],
        "finish": [d.reason for d in deltas if isinstance(d, FinishDelta)],
    }


def test_a_stream_says_what_the_whole_answer_says() -> None:
    client = DemoClient(pause=0)
    for asked in (
        request("Hi", reasoning_effort="low"),
        request("What is the weather in Rome?", tools=[TOOL]),
        request("count to 30", max_tokens=9),
    ):
        asked["stream_options"] = {"include_usage": True}
        stream = client.open_stream(asked)
        streamed = [delta for chunk in stream for delta in DEMO.read_deltas(chunk)]
        whole = [d for d in DEMO.read_response(client.complete(asked)) if not isinstance(d, EndDelta)]

        assert stream.done
        assert summed(streamed) == summed(whole)
        assert len(streamed) > len(whole)


def test_usage_comes_only_to_those_who_ask() -> None:
    assert all("usage" not in chunk for chunk in DemoClient(pause=0).open_stream(request("Hi")))


def test_cancel_ends_a_stream_at_once() -> None:
    stream = DemoClient(pause=60).open_stream(request("Hi"))
    ended = threading.Event()
    threading.Thread(target=lambda: (list(stream), ended.set())).start()
    stream.cancel()

    assert ended.wait(5)
    assert stream.cancelled
    assert not stream.done
