"""The same bytes give the same events, wherever the network cuts them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.golden import expected, replayed, transcripts
from tests.support.invariants import check_stream

EACH = pytest.mark.parametrize("transcript", transcripts(), ids=lambda path: f"{path.parent.name}/{path.stem}")


@EACH
def test_the_transcript_gives_its_events(transcript: Path):
    events = replayed([transcript.read_bytes()], transcript.parent.name)
    assert events == expected(transcript)
    check_stream(events)


@EACH
@pytest.mark.parametrize("size", [1, 2, 7])
def test_pieces_of_any_size_give_the_same_events(transcript: Path, size: int):
    data = transcript.read_bytes()
    pieces = [data[i : i + size] for i in range(0, len(data), size)]
    assert replayed(pieces, transcript.parent.name) == expected(transcript)


@EACH
def test_two_pieces_cut_anywhere_give_the_same_events(transcript: Path):
    data = transcript.read_bytes()
    whole = expected(transcript)
    for place in range(1, len(data)):
        assert replayed([data[:place], data[place:]], transcript.parent.name) == whole


@EACH
def test_a_stream_that_ends_anywhere_is_whole_or_failed(transcript: Path):
    """Where the network ends early, the response fails; only behind the finish reason nothing is missing."""
    data = transcript.read_bytes()
    whole = expected(transcript)
    for place in range(len(data)):
        events = replayed([data[:place]], transcript.parent.name)
        if place % 5 == 0:
            check_stream(events)
        outcome = events[-1]["response"]
        if outcome["status"] == "failed":
            heard = [event for event in events if not event["type"].startswith("response.failed")]
            assert heard == whole[: len(heard)]
        else:
            assert outcome["status"] == whole[-1]["response"]["status"]
            assert outcome["output"] == whole[-1]["response"]["output"]
