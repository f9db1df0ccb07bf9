"""Events → server-sent events, heartbeats, and what a lost client means: the upstream call is cancelled."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bridge.stream.numbering import Event
from providers.json_text import dump_json

from ..drain import NEVER, current
from .outbox import Heart, Outbox, fill

PATIENCE = 120.0  # seconds of silence after which one more event is due: Codex's idle timer counts events only
HEARTBEAT = b": ping\n\n"
DONE = b"data: [DONE]\n\n"


def encode(event: Event) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (event["type"].encode(), dump_json(event))


def stream_body(
    events: Iterator[Event],
    *,
    heart: Heart,
    cancel: Callable[[], None],
    still_in_progress: Callable[[], Event],
    patience: float = PATIENCE,
) -> Iterator[bytes]:
    """The body of an event stream.

    heart      tells of silence, after which a comment goes out
    cancel     stops the upstream; called when the client is gone
    patience   seconds of silence after which one more `response.in_progress` goes out
    """
    outbox = Outbox()
    # The pipeline starts here and not with the first read: it ends, and lets go of what it holds, even if the server
    # never comes to read.
    fill(outbox, events, encode)
    return _written(outbox, heart, cancel, still_in_progress, patience)


def _written(
    outbox: Outbox,
    heart: Heart,
    cancel: Callable[[], None],
    still_in_progress: Callable[[], Event],
    patience: float,
) -> Iterator[bytes]:
    request = current()
    silence = 0.0
    try:
        with heart.watching(outbox):
            while True:
                pieces = outbox.take()
                if pieces is None:
                    yield DONE
                    return
                if pieces:
                    silence = 0.0
                    data = b"".join(pieces)  # one write for all that is there
                else:
                    silence += heart.interval
                    data = HEARTBEAT
                    if silence >= patience:
                        silence = 0.0
                        data = encode(still_in_progress())
                request.writes()
                yield data
                request.due = NEVER
    finally:  # also on GeneratorExit, when the server could not write
        outbox.abandon()
        if not outbox.ended:
            cancel()
