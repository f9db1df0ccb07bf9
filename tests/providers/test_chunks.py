from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from bridge import errors as codes
from bridge.errors import ProviderError
from providers import chunks
from providers.chunks import ChunkReader, joined, read_body
from providers.error_shapes import read_error

A = '{"choices":[{"delta":{"content":"a"}}]}'
B = '{"choices":[{"delta":{"content":"b"}}]}'


def reader_of(*pieces: bytes | str) -> ChunkReader:
    return ChunkReader("acme", [p.encode() if isinstance(p, str) else p for p in pieces], read_error)


def texts(batches: Iterable[list[Any]]) -> list[list[str]]:
    return [[chunk["choices"][0]["delta"]["content"] for chunk in batch] for batch in batches]


def failure_of(reader: ChunkReader) -> tuple[list[list[str]], ProviderError]:
    seen: list[list[Any]] = []
    with pytest.raises(ProviderError) as caught:
        seen.extend(reader.batches())
    return texts(seen), caught.value


def test_what_one_read_brought_is_one_batch() -> None:
    reader = reader_of(f"data: {A}\n\ndata: {B}\n\ndata: {A[:9]}", f"{A[9:]}\n\n", "data: [DONE]\n\n")

    assert texts(reader.batches()) == [["a", "b"], ["a"]]
    assert reader.done


def test_a_stream_that_just_ends_is_not_done() -> None:
    reader = reader_of(f"data: {A}\n\n")

    assert texts(reader.batches()) == [["a"]]
    assert not reader.done


def test_nothing_is_read_behind_done() -> None:
    def pieces() -> Iterable[bytes]:
        yield f"data: {A}\n\ndata: [DONE]\n\ndata: {B}\n\n".encode()
        raise AssertionError("read on")

    reader = ChunkReader("acme", pieces(), read_error)
    assert texts(reader.batches()) == [["a"]]


@pytest.mark.parametrize(
    "marker", ["data: [DONE]", "data:[DONE]\n\n", "data: [DONE] \n\n", "event: end\ndata: [DONE]\n\n"]
)
def test_done_is_known_in_every_framing(marker: str) -> None:
    reader = reader_of(f"data: {A}\n\n", marker)

    assert texts(reader.batches()) == [["a"]]
    assert reader.done


def test_a_broken_chunk_between_good_ones_is_skipped_and_counted() -> None:
    reader = reader_of(f"data: {A}\n\n: keep-alive\n\ndata: {{broken\n\ndata: {B}")

    assert texts(reader.batches()) == [["a"], ["b"]]
    assert reader.skipped == 1


@pytest.mark.parametrize("broken", ["data: {broken", "data: {broken\n\n", b"data: \xe4\xb8", 'data: {"choices":[{"del'])
def test_a_broken_chunk_at_the_end_is_a_cut(broken: bytes | str) -> None:
    before, error = failure_of(reader_of(f"data: {A}\n\n", broken))

    assert before == [["a"]]
    assert error.code == codes.UPSTREAM_CUT


def test_a_broken_chunk_before_done_is_no_cut() -> None:
    reader = reader_of(f"data: {A}\n\ndata: {{broken\n\ndata: [DONE]\n\n")

    assert texts(reader.batches()) == [["a"]]
    assert reader.done


def test_many_broken_chunks_are_a_failure() -> None:
    before, error = failure_of(reader_of(f"data: {A}\n\n", "data: nope\n\n" * 4, f"data: {B}\n\n"))

    assert before == [["a"]]
    assert error.code == codes.UPSTREAM_INVALID_RESPONSE


def test_a_fault_in_the_stream_comes_after_the_chunks_before_it() -> None:
    reader = reader_of(f'data: {A}\n\ndata: {{"choices":[],"error":{{"code":502,"message":"worker limit"}}}}\n\n')
    before, error = failure_of(reader)

    assert before == [["a"]]
    assert error.code == codes.UPSTREAM_SERVER_ERROR
    assert "worker limit" in error.message


def test_an_error_event_is_a_fault() -> None:
    _, error = failure_of(reader_of('event: error\ndata: {"message":"overloaded","type":"overloaded_error"}\n\n'))

    assert error.code == codes.UPSTREAM_OVERLOADED


def test_a_byte_order_mark_costs_nothing_also_when_it_is_cut() -> None:
    stream = b"\xef\xbb\xbf" + f"data: {A}\n\ndata: [DONE]\n\n".encode()

    assert texts(reader_of(stream).batches()) == [["a"]]
    assert texts(reader_of(*(stream[i : i + 1] for i in range(len(stream)))).batches()) == [["a"]]


@pytest.mark.parametrize(
    "odd", ['{"choices":[{"delta":{"content":"\\ud83d"}}]}', '{"choices":[{"delta":{"content":"a"},"p":NaN}]}']
)
def test_json_that_only_python_reads_is_read(odd: str) -> None:
    assert len(texts(reader_of(f"data: {odd}\n\n").batches())) == 1


def test_a_whole_answer_in_place_of_a_stream_is_kept_apart() -> None:
    reader = reader_of("\n\n", '{"choices":[{"message":', '{"content":"a"}}]}')

    assert list(reader.batches()) == []
    assert reader.body == {"choices": [{"message": {"content": "a"}}]}


GARBAGE = {
    "a page": ("<html><body>hello</body></html>", codes.UPSTREAM_INVALID_RESPONSE),
    "half an answer": ('{"choices":[', codes.UPSTREAM_INVALID_RESPONSE),
    "another object": ('{"ok":true}', codes.UPSTREAM_INVALID_RESPONSE),
    "a list": ("[1]", codes.UPSTREAM_INVALID_RESPONSE),
    "an error": ('{"error":{"message":"x","code":"invalid_api_key"}}', codes.UPSTREAM_AUTHENTICATION),
}


@pytest.mark.parametrize(("text", "code"), GARBAGE.values(), ids=GARBAGE)
def test_a_whole_answer_that_is_none_is_an_error(text: str, code: str) -> None:
    before, error = failure_of(reader_of(text))

    assert before == []
    assert error.code == code
    with pytest.raises(ProviderError) as caught:
        read_body("acme", [text.encode()], read_error)
    assert caught.value.code == code


def test_no_body_at_all_is_no_answer() -> None:
    assert list(reader_of().batches()) == []
    assert list(reader_of(b"\n\n").batches()) == []
    with pytest.raises(ProviderError):
        read_body("acme", [], read_error)


def test_a_body_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "LARGEST_BODY", 1000)

    with pytest.raises(ProviderError) as caught:
        read_body("acme", [b"x" * 400] * 3, read_error)
    assert caught.value.code == codes.UPSTREAM_INVALID_RESPONSE
    assert joined("acme", [b"a", b"b"], 2) == b"ab"


def test_a_body_without_end_in_place_of_a_stream_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "LARGEST_BODY", 1000)
    taken = []

    def endless() -> Iterator[bytes]:
        while True:
            taken.append(1)
            yield b"{" * 400

    with pytest.raises(ProviderError) as caught:
        list(ChunkReader("acme", endless(), read_error).batches())
    assert caught.value.code == codes.UPSTREAM_INVALID_RESPONSE
    assert len(taken) == 3


def test_the_log_gets_the_beginning_of_garbage_without_keys() -> None:
    with pytest.raises(ProviderError) as caught:
        read_body("acme", [b"<p>sk-abcdefgh12345</p>"], read_error)
    assert caught.value.context["begins"] == "<p>***</p>"
