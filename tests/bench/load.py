"""Clients for the benchmark: closed-loop requests, or many streams at once whose delays are noted.

    python -m tests.bench.load --url http://127.0.0.1:5678/v1 --body FILE --clients 16 --seconds 3
    python -m tests.bench.load --url … --body FILE --clients 100 --once

Prints one JSON object: requests, bad, events, first_event_ms and delay_ms (p50, p99, max).
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import click

STAMP = re.compile(rb"@(\d+)@")


@dataclass
class Seen:
    requests: int = 0
    bad: int = 0
    events: int = 0
    first_event: list[float] = field(default_factory=list)  # seconds
    delays: list[float] = field(default_factory=list)

    def as_dict(self) -> dict[str, object]:
        return {
            "requests": self.requests,
            "bad": self.bad,
            "events": self.events,
            "first_event_ms": _spread(self.first_event),
            "delay_ms": _spread(self.delays),
        }


def _spread(values: list[float]) -> dict[str, float]:
    if not values:
        return {}
    ordered = sorted(values)
    at = {"p50": 0.5, "p99": 0.99, "max": 1.0}
    return {
        name: round(ordered[min(len(ordered) - 1, int(len(ordered) * part))] * 1000, 3) for name, part in at.items()
    }


async def client(url: str, body: bytes, until: float | None, seen: Seen, wait: float = 0.0) -> None:
    """Requests on one kept connection until the time is over; a single one where there is no time."""
    place = urlsplit(url)
    await asyncio.sleep(wait)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    head = f"POST {place.path}/responses HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    while until is None or time.monotonic() < until:
        writer.write(head.encode() + body)
        await _read_answer(reader, seen)
        if until is None:
            break
    writer.close()


async def _read_answer(reader: asyncio.StreamReader, seen: Seen) -> None:
    begin = time.monotonic()
    head = await reader.readuntil(b"\r\n\r\n")
    seen.requests += 1
    ended_well = head.startswith(b"HTTP/1.1 200")
    length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    if length:
        await reader.readexactly(int(length[1]))
        seen.bad += not ended_well
        return
    tail = b""
    while size := int(await reader.readline(), 16):
        data = await reader.readexactly(size)
        await reader.readexactly(2)
        now = time.monotonic_ns()
        if not tail:
            seen.first_event.append(time.monotonic() - begin)
        seen.events += data.count(b"data: ")
        for event in data.split(b"\n\n"):
            if b".delta\n" in event[:60]:  # later events repeat the whole text, stamps included
                seen.delays += [(now - int(stamp)) / 1e9 for stamp in STAMP.findall(event)]
        tail = (tail + data)[-200_000:]
    await reader.readexactly(2)
    seen.bad += not (ended_well and b"event: response.completed" in tail)


async def run(url: str, body: bytes, clients: int, seconds: float, once: bool) -> Seen:
    seen = Seen()
    until = None if once else time.monotonic() + seconds
    # Streams that go on at once are started over a second, as clients would.
    waits = [number / clients if once else 0.0 for number in range(clients)]
    await asyncio.gather(*(client(url, body, until, seen, wait) for wait in waits))
    return seen


@click.command()
@click.option("--url", required=True)
@click.option("--body", type=click.Path(path_type=Path), required=True)
@click.option("--clients", type=int, default=16)
@click.option("--seconds", type=float, default=3.0)
@click.option("--once", is_flag=True, help="One request per client, all at once.")
def main(url: str, body: Path, clients: int, seconds: float, once: bool) -> None:
    click.echo(json.dumps(asyncio.run(run(url, body.read_bytes(), clients, seconds, once)).as_dict()))


if __name__ == "__main__":
    main()
