"""Requests in progress: how they are interrupted, and what becomes of clients that keep us waiting."""

from __future__ import annotations

import contextvars
import functools
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import gevent
import pytest

from app.drain import NEVER, Drain, InProgress, current, draining
from bridge.errors import DRAINING, REQUEST_TIMEOUT, GodeXError


@pytest.fixture
def client() -> Iterator[tuple[socket.socket, socket.socket]]:
    """(the server's end, the client's end)"""
    ends = socket.socketpair()
    ends[1].settimeout(5)
    yield ends
    for end in ends:
        end.close()


def served(drain: Drain, work: Callable[[InProgress], Any]) -> gevent.Greenlet:
    """A request that does `work` in a greenlet; gives the code of the error that ends it, or what work returned."""

    def serve() -> Any:
        request = drain.enter(None)
        try:
            return work(request)
        except GodeXError as error:
            return error.code
        finally:
            drain.leave(request)

    greenlet = gevent.spawn(serve)
    gevent.sleep(0)  # it begins
    return greenlet


def test_a_request_that_waits_gets_an_error_where_it_waits() -> None:
    drain = Drain()
    waiting = served(drain, lambda request: gevent.sleep(30))
    drain.interrupt_all()
    assert waiting.get(timeout=5) == DRAINING
    assert len(drain) == 0


def test_an_answer_that_streams_is_stopped_by_its_own_means() -> None:
    drain, told = Drain(), []

    def work(request: InProgress) -> str:
        request.streams(told.append)
        gevent.sleep(0.05)
        return "went on"

    streaming = served(drain, work)
    drain.interrupt_all()
    assert streaming.get(timeout=5) == "went on"
    assert [error.code for error in told] == [DRAINING]


def test_an_upstream_that_answers_at_the_last_moment_is_not_torn_from_its_reader() -> None:
    """The error is on its way when the answer begins."""
    drain = Drain()
    ready = gevent.event.Event()

    def work(request: InProgress) -> str:
        ready.wait()
        request.streams(lambda error: None)
        gevent.sleep(0.05)
        return "went on"

    request = served(drain, work)
    ready.set()
    drain.interrupt_all()
    assert request.get(timeout=5) == "went on"


def test_what_is_being_written_is_not_interrupted() -> None:
    drain = Drain()

    def work(request: InProgress) -> str:
        request.writes()
        gevent.sleep(0.05)
        return "written"

    writing = served(drain, work)
    drain.interrupt_all()
    assert writing.get(timeout=5) == "written"


def test_a_whole_answer_is_stored_before_its_request_ends() -> None:
    """Where it waits then, such as for a transaction that it shares with others, no error may come out."""
    drain = Drain()

    def work(request: InProgress) -> str:
        request.calls_upstream()
        request.answered()
        gevent.sleep(0.05)
        return "stored"

    storing = served(drain, work)
    drain.interrupt_all()
    assert storing.get(timeout=5) == "stored"


def test_a_client_that_leaves_a_whole_answer_is_not_looked_for(client: tuple[socket.socket, socket.socket]) -> None:
    drain = Drain()
    request = drain.enter(client[0])
    request.calls_upstream()
    request.answered()
    client[1].close()
    drain.look_after(time.monotonic())
    gevent.sleep(0.01)  # an error would be thrown in here


def test_a_second_call_of_the_upstream_can_be_interrupted_again() -> None:
    def work(request: InProgress, first: Callable[[InProgress], None]) -> None:
        first(request)
        request.calls_upstream()
        gevent.sleep(30)

    for first in (lambda request: request.streams(lambda error: None), InProgress.answered):
        drain = Drain()
        waiting = served(drain, functools.partial(work, first=first))
        drain.interrupt_all()
        assert waiting.get(timeout=5) == DRAINING


def test_who_only_waits_for_more_is_ended_at_once() -> None:
    drain = Drain()

    def work(request: InProgress) -> None:
        with drain.resting():
            gevent.sleep(30)

    resting = served(drain, work)
    asking = served(drain, lambda request: gevent.sleep(0.05))
    drain.begin()
    assert resting.get(timeout=5) == DRAINING
    assert asking.get(timeout=5) is None
    with pytest.raises(GodeXError, match="stopping"), drain.resting():
        pass


def test_an_interrupted_request_does_not_ask_another_upstream() -> None:
    def work(request: InProgress) -> None:
        try:
            gevent.sleep(30)
        except GodeXError:
            request.calls_upstream()

    drain = Drain()
    waiting = served(drain, work)
    drain.interrupt_all()
    assert waiting.get(timeout=5) == DRAINING


def test_nothing_begins_any_more_when_the_time_is_over() -> None:
    drain = Drain()
    drain.begin()
    drain.leave(drain.enter(None))
    drain.interrupt_all()
    with pytest.raises(GodeXError) as refused:
        drain.enter(None)
    assert (refused.value.code, refused.value.retry_after) == (DRAINING, 1)


def test_a_body_that_does_not_arrive_is_given_up() -> None:
    drain = Drain()

    def work(request: InProgress) -> None:
        request.reads_body(64 * 1024 * 10)
        gevent.sleep(30)

    waiting = served(drain, work)
    drain.look_after(time.monotonic() + 39)
    gevent.sleep(0)
    assert not waiting.ready()
    drain.look_after(time.monotonic() + 41)
    assert waiting.get(timeout=5) == REQUEST_TIMEOUT


def test_a_request_that_has_arrived_may_wait_for_its_upstream() -> None:
    request = InProgress()
    request.reads_body(0)
    request.calls_upstream()
    assert request.due == NEVER


@pytest.mark.parametrize("streams", [False, True])
def test_a_client_that_does_not_read_is_cut_off(client: tuple[socket.socket, socket.socket], streams: bool) -> None:
    drain = Drain()
    request = drain.enter(client[0])
    if streams:
        request.streams(lambda error: None)
    request.writes()
    drain.look_after(time.monotonic() + 59)
    drain.look_after(time.monotonic() + 61)
    assert client[1].recv(1) == b""
    assert request.due == NEVER


def test_a_client_that_has_left_already_is_no_error(client: tuple[socket.socket, socket.socket]) -> None:
    client[0].close()
    InProgress(client[0]).cut()


def test_a_thread_cannot_be_interrupted_and_goes_on() -> None:
    InProgress().interrupt(draining())


def test_the_present_request_is_known_where_it_is_served() -> None:
    drain = Drain()
    seen = served(drain, lambda request: current() is request)
    assert seen.get(timeout=5) is True
    outside = contextvars.Context()
    assert outside.run(current) is not outside.run(current)  # one that nobody knows
