"""A Chat Completions server that costs next to nothing, so that what is measured is the gateway.

    python -m tests.bench.stub_upstream --port 9100

The model's name says what is answered:

    sync               one JSON body of about 1 KB
    burst-N[-KIND]     N chunks, all written at once, each event in an HTTP chunk of its own
    paced-RxN[-KIND]   N chunks, R a second; each carries the time of its sending as @nanoseconds@

KIND: text (default), reasoning, arguments.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from functools import cache

import click

MODEL = re.compile(rb'"model":\s*"([a-z0-9-]+)"')
LENGTH = re.compile(rb"content-length:\s*(\d+)", re.IGNORECASE)
NAME = re.compile(
    r"(?:burst-(?P<burst>\d+)|paced-(?P<rate>\d+)x(?P<count>\d+))(?:-(?P<kind>text|reasoning|arguments))?"
)
USAGE = {"prompt_tokens": 20, "completion_tokens": 50, "total_tokens": 70}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n"


def _event(delta: dict[str, object], finish: str | None = None, **extra: object) -> bytes:
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "stub", "choices": choices, **extra}
    return b"data: %b\n\n" % json.dumps(body, separators=(",", ":")).encode()


def _framed(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _piece(kind: str, text: str) -> bytes:
    if kind == "arguments":
        return _event({"tool_calls": [{"index": 0, "function": {"arguments": text}}]})
    return _event({"reasoning_content" if kind == "reasoning" else "content": text})


def _opening(kind: str) -> bytes:
    if kind == "arguments":
        function = {"name": "run", "arguments": '{"q":"'}
        return _event(
            {
                "role": "assistant",
                "tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}],
            }
        )
    return _event({"role": "assistant", "content": ""})


def _closing(kind: str) -> bytes:
    last = _piece(kind, '"}') if kind == "arguments" else b""
    end = _event({}, "tool_calls" if kind == "arguments" else "stop")
    usage = b"data: %b\n\n" % json.dumps({"choices": [], "usage": USAGE}).encode()
    return b"".join(map(_framed, filter(None, (last, end, usage, b"data: [DONE]\n\n")))) + b"0\r\n\r\n"


@cache
def burst(count: int, kind: str) -> bytes:
    return HEAD + _framed(_opening(kind)) + _framed(_piece(kind, "word ")) * count + _closing(kind)


@cache
def sync_body() -> bytes:
    message = {"role": "assistant", "content": "word " * 180}
    body = json.dumps(
        {"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": USAGE}
    )
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
        len(body),
        body.encode(),
    )


class Stub(asyncio.Protocol):
    """Reads requests one after the other off a kept connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._data = b""

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, blank, body = self._data.partition(b"\r\n\r\n")
        length = LENGTH.search(head)
        size = int(length[1]) if length else 0
        if not blank or len(body) < size:
            return
        self._data = body[size:]
        model = MODEL.search(body[:size])
        self._answer(model[1].decode() if model else "sync")

    def _answer(self, model: str) -> None:
        asked = NAME.fullmatch(model)
        if asked is None:
            self._transport.write(sync_body())
        elif asked["burst"]:
            self._transport.write(burst(int(asked["burst"]), asked["kind"] or "text"))
        else:
            pace = self._pace(int(asked["rate"]), int(asked["count"]), asked["kind"] or "text")
            self._pacing = asyncio.get_running_loop().create_task(pace)

    async def _pace(self, rate: int, count: int, kind: str) -> None:
        self._transport.write(HEAD + _framed(_opening(kind)))
        begin = time.monotonic()
        for number in range(count):
            await asyncio.sleep(max(0.0, begin + number / rate - time.monotonic()))
            self._transport.write(_framed(_piece(kind, f"@{time.monotonic_ns()}@")))
        self._transport.write(_closing(kind))

    def connection_lost(self, exc: Exception | None) -> None:
        pacing = getattr(self, "_pacing", None)
        if pacing is not None:
            pacing.cancel()


@click.command()
@click.option("--port", type=int, default=9100)
def main(port: int) -> None:
    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Stub, "127.0.0.1", port, backlog=2048)
        await server.serve_forever()

    asyncio.run(serve())


if __name__ == "__main__":
    main()
