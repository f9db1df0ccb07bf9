"""What the translation costs without sockets, so that a regression shows where it is. Run by hand.

    python -m tests.bench.kernel                 # every step
    python -m tests.bench.kernel --step text     # those whose name holds this

CPU of the fastest of several batches: microseconds per delta (from the upstream's bytes to ours), or per request.
Nothing here is asserted by a test; tests/bridge/test_constant_work.py counts the work instead.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import click

from app.http.body import parsed_object
from app.http.schemas import CreateResponse, load
from app.http.sse import encode
from bridge.plan.diagnostics import Diagnostics
from bridge.request.build import build_chat_request, plan_request
from bridge.spec import Capabilities
from bridge.stream.deltas import EndDelta
from bridge.stream.machine import respond
from providers.chat import chat_spec
from providers.chunks import ChunkReader
from providers.json_text import dump_json
from tests.support.turns import turn_for

BATCHES = 15
DELTAS = 500
READ = 16  # chunks that one read of the socket brings
HISTORIES = (1, 10, 100, 1000)  # items
TOOLS = [
    {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}},
    {"type": "custom", "name": "exec", "description": "Runs text."},
]
SPEC = chat_spec(name="up", base_url="http://up.example/v1")

Step = tuple[str, str, int, Callable[[], object]]  # name, unit, units of one call, the call


def _call(name: str, first: str, piece: str, last: str) -> list[dict[str, Any]]:
    def delta(arguments: str, **head: Any) -> dict[str, Any]:
        return {"tool_calls": [{"index": 0, "function": {"arguments": arguments, **head}}]}

    begin = {
        "tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": name, "arguments": first}}]
    }
    return [begin, *[delta(piece)] * DELTAS, delta(last)]


STREAMS: dict[str, list[dict[str, Any]]] = {
    "text": [{"content": "word "}] * DELTAS,
    "reasoning": [{"reasoning_content": "word "}] * DELTAS,
    "function arguments": _call("run", '{"q":"', "word ", '"}'),
    "custom tool input": _call("exec", '{"input":"', "word\\\\n", '"}'),
}


def stream_steps() -> Iterator[Step]:
    for name, deltas in STREAMS.items():
        events = [
            b"data: %b\n\n" % json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode() for delta in deltas
        ]
        events += [b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n', b"data: [DONE]\n\n"]
        reads = [b"".join(events[start : start + READ]) for start in range(0, len(events), READ)]

        def translate(reads: list[bytes] = reads) -> int:
            reader = ChunkReader("up", reads, SPEC.read_error)
            deltas = (delta for batch in reader.batches() for chunk in batch for delta in SPEC.read_deltas(chunk))
            ended = (delta for part in (deltas, (EndDelta(),)) for delta in part)
            return sum(len(encode(event)) for event in respond(ended, turn_for({"tools": TOOLS})))

        yield f"stream: {name}", "delta", DELTAS, translate


def request_steps() -> Iterator[Step]:
    for size in HISTORIES:
        pairs = [
            [
                {"type": "function_call", "call_id": f"c{number}", "name": "run", "arguments": '{"q":"x"}'},
                {"type": "function_call_output", "call_id": f"c{number}", "output": "word " * 40},
            ]
            for number in range(size // 2)
        ]
        items = [{"role": "user", "content": "go"}, *(item for pair in pairs for item in pair)]
        body = dump_json({"model": "m", "input": items, "tools": TOOLS, "stream": True})

        def check(body: bytes = body) -> object:
            return load(CreateResponse, parsed_object(body))

        request = load(CreateResponse, parsed_object(body))

        def build(request: dict[str, Any] = request) -> bytes:
            plan = plan_request(request, request["input"], Capabilities(), Diagnostics())
            return dump_json(
                build_chat_request(request, request["input"], plan, model="m", first_input=0, unseal=lambda _: None)
            )

        yield f"request: check {size} items", "request", 1, check
        yield f"request: build {size} items", "request", 1, build


@click.command()
@click.option("--step", "wanted", default="", help="Only steps whose name holds this.")
def main(wanted: str) -> None:
    """Measure each step of the translation on its own."""
    for name, unit, units, call in (*stream_steps(), *request_steps()):
        if wanted not in name:
            continue
        call()  # what happens once happens here
        repeat = max(1, 4000 // (units * (1 if unit == "delta" else 100)))
        times = []
        for _ in range(BATCHES):
            began = time.process_time()
            for _ in range(repeat):
                call()
            times.append((time.process_time() - began) / repeat / units)
        click.echo(f"{name:32} {min(times) * 1e6:9.2f} µs a {unit}")


if __name__ == "__main__":
    main()
