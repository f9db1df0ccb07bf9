"""The short way for plain heads: what it tells is what http.client and urllib3 tell of the same bytes."""

from __future__ import annotations

import http.client
import io
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from providers.connection import Answer

BODY = b"the body"

# Mostly plain heads, with at most one odd line: one is enough for http.client to be asked.
plain_fields = [
    *[("Content-Length", text) for text in ("8", "08", "+8", "8_0", "-1", "8, 8", "eight")],
    *[("transfer-encoding", text) for text in ("chunked", "Chunked", "gzip, chunked", "gzip")],
    *[("Connection", text) for text in ("close", "Close", "keep-alive, close", "keep-alive", "upgrade")],
    *[("X-Request-Id", text) for text in ("a", "a  b", "é", "a:b")],
    ("x!0", "a"),
]
separators = st.sampled_from([": ", ":", ":\t "])
plain_lines = st.builds(lambda field, by: f"{field[0]}{by}{field[1]}\r\n", st.sampled_from(plain_fields), separators)
plain_names, plain_values = (st.sampled_from(texts) for texts in zip(*plain_fields, strict=True))
odd_names = st.text("aXZ-_!0 \t(é", max_size=4)
odd_values = st.text("abc,;=\"' \t\x00\x0b\x0c\x1c\x7f\x85\xa0\xff\r\n:", max_size=8)
odd_lines = st.one_of(
    st.tuples(odd_names, st.just(": a\r\n")).map("".join),
    st.tuples(plain_names, st.sampled_from([" : ", "::", ""]), plain_values, st.just("\r\n")).map("".join),
    st.tuples(plain_names, st.just(": "), plain_values, st.sampled_from(["\n", " \r\n", "\t\r\n", "\r\n "])).map(
        "".join
    ),
    st.tuples(plain_names, st.just(": "), odd_values, st.just("\r\n")).map("".join),
)
first_lines = st.one_of(
    st.just("HTTP/1.1 200 OK\r\n"),
    st.sampled_from(
        [
            "HTTP/1.1 200 \r\n",
            "HTTP/1.1 200\r\n",
            "HTTP/1.1 200 OK \r\n",
            "HTTP/1.1 200 OK\n",
            "HTTP/1.1  200 OK\r\n",
            "HTTP/1.1 204 No Content\r\n",
            "HTTP/1.1 304 Not Modified\r\n",
            "HTTP/1.1 429 Too Many Requests\r\n",
            "HTTP/1.1 503 Ünavailable\r\n",
            "HTTP/1.1 999 Strange\r\n",
            "HTTP/1.1 20 OK\r\n",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n",
            "HTTP/1.0 200 OK\r\n",
            "HTTP/1.2 200 OK\r\n",
            "HTTP/2 200\r\n",
            "ICY 200 OK\r\n",
            "\r\n",
        ]
    ),
)


@st.composite
def heads(draw: st.DrawFn) -> bytes:
    lines = draw(st.lists(plain_lines, max_size=3))
    lines += draw(st.lists(odd_lines, max_size=1))
    return "".join([draw(first_lines), *lines, "\r\n"]).encode("latin-1")


class Wire:
    """As much of a socket as http.client reads from: what it gives arrives in pieces."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = list(pieces)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(Pieces(self.pieces))


class Pieces(io.RawIOBase):
    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = [piece for piece in pieces if piece]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._pieces.pop(0) if self._pieces else b""
        count = min(len(piece), len(buffer))
        buffer[:count] = piece[:count]
        if piece[count:]:
            self._pieces.insert(0, piece[count:])
        return count


def told(kind: type[http.client.HTTPResponse], *pieces: bytes) -> dict[str, Any]:
    """All that later code asks of a head, and what is left to read behind it."""
    answer: Any = kind(Wire(*pieces), method="POST")  # type: ignore[arg-type]
    try:
        answer.begin()
    except (http.client.HTTPException, ConnectionError) as error:
        answer.close()
        return {"error": type(error)}
    known = {
        "head": (answer.version, answer.status, answer.code, answer.reason),
        "framing": (answer.chunked, answer.length, answer.will_close),
        "headers": sorted((name.lower(), value) for name, value in answer.headers.items()),
        "rest": answer.fp.read(),
    }
    answer.close()
    return known


@settings(max_examples=400, deadline=None)
@given(heads(), st.integers(0, 100))
@example(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: keep-alive, close\r\n\r\n", 0)
def test_every_head_tells_what_http_client_reads_in_it(head: bytes, cut: int) -> None:
    whole = head + BODY
    assert told(Answer, whole) == told(http.client.HTTPResponse, whole)
    assert told(Answer, whole[:cut], whole[cut:]) == told(http.client.HTTPResponse, whole)


@pytest.mark.parametrize("interim", [102, 103])
@pytest.mark.parametrize("together", [True, False])
def test_interim_answers_are_passed_over(interim: int, together: bool) -> None:
    first = f"HTTP/1.1 {interim} Wait\r\nLink: x\r\n\r\n".encode()
    final = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n" + BODY
    pieces = [first * 2 + final] if together else [first, first, final]
    known = told(Answer, *pieces)
    assert known["head"][1] == 200 and known["rest"] == BODY


def test_the_usual_head_takes_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(http.client, "parse_headers")
    known = told(Answer, b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    assert known["framing"] == (True, None, False)


def test_a_head_longer_than_the_buffer_is_read_whole() -> None:
    head = b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 20_000 + b"\r\nContent-Length: 8\r\n\r\n"
    assert told(Answer, head, BODY)["framing"] == (False, 8, False)
