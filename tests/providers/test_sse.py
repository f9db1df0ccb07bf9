"""Framing: what chunks.py makes of a stream must be what sseclient-py makes of the same stream in one piece."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sseclient import SSEClient

from bridge.errors import UPSTREAM_CUT, UPSTREAM_INVALID_RESPONSE, ProviderError
from providers import sse
from providers.chunks import MOST_BROKEN, ChunkReader
from providers.sse import EventBuffer, events_data

DATA = st.sampled_from(
    ['{"a":1}', '{"t":"héllo 中\\n"}', '{"t":"a\u2028b"}', '{"t":"data: x"}', '{"n":NaN}', "[1]", "{broken", "[DONE]"]
)
OTHER_LINES = st.sampled_from(["", ": keep-alive\n", "event: chunk\n", "id: 7\n", "retry: 5\n", "unknown: x\n", "  \n"])
NAMES = st.sampled_from(["data: ", "data:", "data:  "])


@st.composite
def events(draw: st.DrawFn) -> str:
    """One event: mostly plain, else with other lines, without the space, over several data lines, or only a comment."""
    if draw(st.booleans()):
        return f"data: {draw(DATA)}\n\n"
    lines = draw(st.lists(st.tuples(OTHER_LINES, NAMES, DATA), max_size=2))
    whole = "".join(f"{other}{name}{data}\n" for other, name, data in lines)
    split_object = draw(st.sampled_from(["", 'data: {\ndata: "t": "over lines"}\n']))
    return (whole or split_object) + draw(OTHER_LINES) + "\n"


STREAMS = st.lists(events(), max_size=6).map("".join)
CUTS = st.lists(st.integers(0, 10_000), max_size=8)


def pieces_of(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    return [data[start:end] for start, end in zip(places, places[1:], strict=False)]


def read(pieces: list[bytes]) -> tuple[list[Any], bool]:
    """(chunks, whether [DONE] was seen), as the transport reads them."""
    reader = ChunkReader("acme", pieces, lambda chunk: None)
    found: list[Any] = []
    try:
        for batch in reader.batches():
            found += batch
    except ProviderError as error:
        assert error.code in (UPSTREAM_CUT, UPSTREAM_INVALID_RESPONSE)
    return found, reader.done


def read_by_sseclient(data: bytes) -> tuple[list[Any], bool]:
    found: list[Any] = []
    broken = 0
    for event in SSEClient(iter([data])).events():
        if event.data.strip() == "[DONE]":
            return found, True
        try:
            value = json.loads(event.data)
        except ValueError:
            value = None
        if isinstance(value, dict):
            found.append(value)
        elif event.data.strip():
            broken += 1
            if broken > MOST_BROKEN:
                break
    return found, False


def same(left: object, right: object) -> bool:
    return repr(left) == repr(right)  # NaN is not equal to itself


@given(STREAMS, st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from([b"", sse.BOM]), CUTS)
def test_every_framing_cut_anywhere_reads_as_sseclient_reads_the_whole(
    stream: str, line_end: str, bom: bytes, cuts: list[int]
) -> None:
    data = stream.replace("\n", line_end).encode()

    assert same(read(pieces_of(bom + data, cuts)), read_by_sseclient(data))


@given(STREAMS, st.lists(st.sampled_from(["\n", "\r\n"]), min_size=1, max_size=5), CUTS)
def test_mixed_line_ends_read_as_one_kind_does(stream: str, line_ends: list[str], cuts: list[int]) -> None:
    lines = stream.split("\n")
    ends = [line_ends[place % len(line_ends)] for place in range(len(lines) - 1)]
    mixed = "".join(line + end for line, end in zip(lines, [*ends, ""], strict=True)).encode()

    assert same(read(pieces_of(mixed, cuts)), read_by_sseclient(stream.encode()))


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [1, 2, 7])
def test_small_pieces_lose_nothing(line_end: str, size: int) -> None:
    stream = 'data: {"t":"héllo"}\n\n: ping\n\ndata: {\ndata: "t":"中"}\n\nevent: x\ndata:{"a":1}\n\ndata: [DONE]\n\n'
    data = stream.replace("\n", line_end).encode()
    pieces = [data[start : start + size] for start in range(0, len(data), size)]

    assert read(pieces) == ([{"t": "héllo"}, {"t": "中"}, {"a": 1}], True)


def test_an_event_is_given_back_as_soon_as_its_blank_line_is_there() -> None:
    buffer = EventBuffer()

    assert buffer.feed(b"data: 1\n") == b""
    assert buffer.feed(b"\ndata: 2") == b"data: 1\n\n"
    assert buffer.rest == b"data: 2"


def test_bytes_that_are_no_utf8_do_not_stop_the_events_behind_them() -> None:
    assert list(events_data(b"data: \xff\xfe\n\ndata: 2\n\n")) == ["\ufffd\ufffd", "2"]


def test_a_large_event_is_put_together_once() -> None:
    buffer = EventBuffer()
    parts = [b"data: "] + [b"x" * 65536] * 64

    assert all(buffer.feed(part) == b"" for part in parts)
    assert buffer.feed(b"\n\n") == b"".join(parts) + b"\n\n"


def test_an_event_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "LONGEST_EVENT", 1000)
    buffer = EventBuffer()
    buffer.feed(b"data: " + b"x" * 900)

    with pytest.raises(ProviderError) as caught:
        buffer.feed(b"x" * 200)
    assert caught.value.code == UPSTREAM_INVALID_RESPONSE
