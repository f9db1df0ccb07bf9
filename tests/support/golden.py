"""Golden transcripts: golden/<provider>/<name>.sse, the bytes of an upstream, and <name>.events.jsonl, what a client hears.

`python -m tests.support.golden` writes the events anew; read the difference before committing it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bridge.stream.deltas import Delta, EndDelta
from providers.chunks import ChunkReader
from providers.registry import builtin_specs
from tests.support.turns import events_of, turn_for

FOLDER = Path(__file__).parent.parent / "golden"
TOOLS = [
    {"type": "function", "name": name, "parameters": {"type": "object", "properties": {}}}
    for name in ("run", "get_weather", "get_time")
] + [{"type": "custom", "name": "apply_patch"}]


def transcripts() -> list[Path]:
    return sorted(FOLDER.glob("*/*.sse"))


def replayed(reads: Iterable[bytes], provider: str) -> list[dict[str, Any]]:
    """The events for a stream that arrives in these reads."""
    return events_of(_deltas(reads, provider), turn_for({"tools": TOOLS}))


def _deltas(reads: Iterable[bytes], provider: str) -> Iterator[Delta]:
    spec = builtin_specs()[provider]
    reader = ChunkReader(provider, reads, spec.read_error)
    for batch in reader.batches():
        for chunk in batch:
            yield from spec.read_deltas(chunk)
    if reader.done:
        yield EndDelta()


def expected(transcript: Path) -> list[dict[str, Any]]:
    lines = transcript.with_suffix(".events.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def record() -> None:
    for transcript in transcripts():
        events = replayed([transcript.read_bytes()], transcript.parent.name)
        lines = (json.dumps(event, ensure_ascii=False) + "\n" for event in events)
        transcript.with_suffix(".events.jsonl").write_text("".join(lines))


if __name__ == "__main__":
    record()
