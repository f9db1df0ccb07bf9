from __future__ import annotations

import threading
import time

from providers.watchdog import NEVER, Watchdog


class Timed:
    """Due at a fixed time; remembers when it was told."""

    def __init__(self, seconds: float) -> None:
        self.at = time.monotonic() + seconds
        self.expired = threading.Event()

    def due(self, now: float) -> float:
        return self.at

    def expire(self, now: float) -> None:
        assert now >= self.at
        self.expired.set()


def test_what_is_overdue_is_told_once_the_time_has_come() -> None:
    watchdog, body = Watchdog(), Timed(0.05)
    watchdog.watch(body)

    assert body.expired.wait(5)
    assert time.monotonic() >= body.at


def test_an_earlier_time_that_comes_later_is_not_missed() -> None:
    watchdog, late, early = Watchdog(), Timed(60), Timed(0.05)
    watchdog.watch(late)
    watchdog.watch(early)

    assert early.expired.wait(5)
    assert not late.expired.is_set()


def test_what_is_forgotten_is_left_alone() -> None:
    watchdog, forgotten, other = Watchdog(), Timed(0.02), Timed(0.05)
    watchdog.watch(forgotten)
    watchdog.forget(forgotten)
    watchdog.watch(other)

    assert other.expired.wait(5)
    assert not forgotten.expired.is_set()


def test_a_time_that_moves_on_is_looked_at_again() -> None:
    watchdog, body = Watchdog(), Timed(0.03)
    watchdog.watch(body)
    body.at = time.monotonic() + 0.1

    assert body.expired.wait(5)


def test_one_thread_serves_all() -> None:
    watchdog = Watchdog()
    before = threading.active_count()
    for _ in range(20):
        watchdog.watch(Timed(NEVER))

    assert threading.active_count() <= before + 1
