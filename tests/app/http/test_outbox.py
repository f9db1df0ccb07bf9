"""Bytes from the pipeline to the client: order, back-pressure, heartbeats, lost clients."""

from __future__ import annotations

import threading

import pytest

from app.context import ClientGone
from app.http.outbox import Heart, Outbox
from app.http.sse import DONE, HEARTBEAT, stream_body


def test_all_pieces_arrive_in_order_over_threads():
    outbox = Outbox()
    sent = [b"%d," % number for number in range(20_000)]

    def produce():
        for piece in sent:
            outbox.put(piece)
        outbox.end()

    threading.Thread(target=produce).start()
    got = []
    while (pieces := outbox.take()) is not None:
        got += pieces
    assert got == sent


def test_the_producer_waits_for_a_slow_consumer():
    outbox = Outbox()
    progress = []

    def produce():
        for number in range(10):
            outbox.put(b"x" * Outbox.LIMIT)
            progress.append(number)
        outbox.end()

    thread = threading.Thread(target=produce)
    thread.start()
    thread.join(0.2)
    assert len(progress) <= 1
    while outbox.take() is not None:
        pass
    thread.join(5)
    assert len(progress) == 10


def test_a_producer_learns_that_nobody_reads():
    outbox = Outbox()
    outbox.abandon()
    with pytest.raises(ClientGone):
        outbox.put(b"x")


def event(number):
    return {"type": "response.x", "sequence_number": number}


def body(events, **options):
    settings = {"heart": Heart(0.05), "cancel": lambda: None, "still_in_progress": lambda: event(99)}
    return stream_body(events, **{**settings, **options})


def test_a_silent_stream_beats_and_speaks_up_after_a_while():
    release = threading.Event()

    def silent():
        yield event(0)
        release.wait(5)
        yield event(1)

    heard = []
    for piece in body(silent(), patience=0.15):
        heard.append(piece)
        if b'"sequence_number":99' in piece:
            release.set()
    assert HEARTBEAT in heard and heard[-1] == DONE
    assert sum(b"99" in piece for piece in heard) == 1


def test_a_client_that_leaves_cancels_the_upstream_and_ends_the_pipeline():
    cancelled, ended = threading.Event(), threading.Event()

    def endless():
        try:
            yield event(0)
            cancelled.wait(5)
            raise ClientGone
        finally:
            ended.set()

    stream = body(endless(), cancel=cancelled.set)
    assert b"response.x" in next(stream)
    stream.close()
    assert cancelled.is_set() and ended.wait(5)


def test_a_bug_in_a_stage_still_ends_the_body(caplog):
    def broken():
        yield event(0)
        raise RuntimeError("bug")

    assert b"".join(body(broken())).endswith(DONE)
