from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from urllib3.exceptions import ProtocolError

from providers.dechunk import Dechunker


class Pieces:
    """A connection that brings these pieces, one per read."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = [piece for piece in pieces if piece]

    def read1(self, size: int, /) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""


def framed(payload: list[bytes], trailer: bytes = b"") -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in payload) + b"0\r\n" + trailer + b"\r\n"


@given(
    st.lists(st.binary(min_size=1, max_size=40), max_size=6),
    st.lists(st.integers(0, 1000), max_size=10),
    st.sampled_from([b"", b"X-Trailer: a\r\n"]),
)
def test_the_payload_survives_every_cut(payload: list[bytes], cuts: list[int], trailer: bytes) -> None:
    data = framed(payload, trailer)
    places = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    body = Dechunker(Pieces(*(data[a:b] for a, b in zip(places, places[1:], strict=False))))

    assert b"".join(body) == b"".join(payload)
    assert body.complete


def test_what_one_read_brought_is_one_piece() -> None:
    assert list(Dechunker(Pieces(framed([b"a", b"b", b"c"])))) == [b"abc"]


def test_the_payload_of_half_a_chunk_is_not_held_back() -> None:
    assert list(Dechunker(Pieces(b"6\r\nabc", b"def\r\n0\r\n\r\n"))) == [b"abc", b"def"]


def test_extensions_of_a_chunk_are_passed_over() -> None:
    assert list(Dechunker(Pieces(b"1;name=value\r\na\r\n0\r\n\r\n"))) == [b"a"]


def test_bytes_behind_the_end_forbid_another_request_on_the_connection() -> None:
    body = Dechunker(Pieces(framed([b"a"]) + b"HTTP/1.1 200 OK"))

    assert list(body) == [b"a"]
    assert not body.complete


def test_an_end_without_its_empty_line_forbids_it_too() -> None:
    body = Dechunker(Pieces(b"1\r\na\r\n0\r\n"))

    assert list(body) == [b"a"]
    assert not body.complete


@pytest.mark.parametrize(
    "data", [b"", b"5\r\nab", b"1\r\na\r\n", b"zz\r\n", b"-1\r\na\r\n", b"x" * 2000], ids=lambda data: repr(data[:9])
)
def test_a_body_that_breaks_off_or_is_not_chunked_raises(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        list(Dechunker(Pieces(data)))


def test_a_buffered_reader_is_a_source() -> None:
    reader: Any = io.BufferedReader(io.BytesIO(framed([b"ab"])))  # type: ignore[arg-type]

    assert list(Dechunker(reader)) == [b"ab"]
