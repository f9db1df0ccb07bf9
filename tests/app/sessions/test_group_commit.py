"""Writers that share a transaction: each hears of its own fate."""

from __future__ import annotations

import sqlite3
import threading

import pytest

from app.sessions.group_commit import GroupCommit
from bridge.errors import STORE_CONFLICT, STORE_UNAVAILABLE, SessionError


@pytest.fixture
def database(tmp_path):
    connection = sqlite3.connect(tmp_path / "x.db", isolation_level=None, check_same_thread=False)
    connection.execute("CREATE TABLE t (n INTEGER)")
    yield connection
    connection.close()


class Slow:
    """Runs work on one connection; the first group is held until `release`."""

    def __init__(self, connection):
        self.connection = connection
        self.groups = 0
        self.release = threading.Event()

    def __call__(self, work):
        self.groups += 1
        if self.groups == 1:
            self.release.wait(5)
        return work(self.connection)


def insert(number):
    return lambda connection: connection.execute("INSERT INTO t VALUES (?)", (number,))


def refuse(connection):
    raise SessionError(STORE_CONFLICT, "no")


def refuse_too_late(connection):
    connection.execute("INSERT INTO t VALUES (-1)")
    raise SessionError(STORE_CONFLICT, "no")


def numbers(connection):
    return sorted(row[0] for row in connection.execute("SELECT n FROM t"))


def started(commit, works):
    outcomes = {}

    def write(place, work):
        try:
            outcomes[place] = commit.write(work)
        except BaseException as error:
            outcomes[place] = error

    threads = [threading.Thread(target=write, args=pair) for pair in enumerate(works)]
    for thread in threads:
        thread.start()
    return threads, outcomes


def joined(threads):
    for thread in threads:
        thread.join(5)
        assert not thread.is_alive()


def wait_for(condition):
    for _ in range(500):
        if condition():
            return
        threading.Event().wait(0.01)
    raise AssertionError


def test_writes_that_wait_share_a_transaction(database):
    run = Slow(database)
    commit = GroupCommit(run)
    first, _ = started(commit, [insert(0)])
    wait_for(lambda: run.groups == 1)
    others, outcomes = started(commit, [insert(n) for n in range(1, 20)])
    wait_for(lambda: len(commit._waiting) == 19)
    run.release.set()
    joined(first + others)
    assert numbers(database) == list(range(20))
    assert run.groups == 2 and set(outcomes.values()) == {None}


def test_a_refused_write_leaves_the_others_alone(database):
    run = Slow(database)
    commit = GroupCommit(run)
    first, _ = started(commit, [insert(0)])
    wait_for(lambda: run.groups == 1)
    others, outcomes = started(commit, [insert(1), refuse, insert(2)])
    wait_for(lambda: len(commit._waiting) == 3)
    run.release.set()
    joined(first + others)
    assert numbers(database) == [0, 1, 2]
    assert outcomes[1].code == STORE_CONFLICT and outcomes[0] is outcomes[2] is None


def test_a_write_that_is_refused_after_a_change_takes_the_change_back(database):
    commit = GroupCommit(lambda work: work(database))
    with pytest.raises(AssertionError):
        commit.write(refuse_too_late)
    commit.write(insert(1))
    assert numbers(database) == [1]


def test_a_store_that_fails_fails_the_whole_group_and_then_works_again(database):
    calls = []

    def run(work):
        calls.append(work)
        if len(calls) == 1:
            raise SessionError(STORE_UNAVAILABLE, "away")
        return work(database)

    commit = GroupCommit(run)
    with pytest.raises(SessionError):
        commit.write(insert(1))
    commit.write(insert(2))
    assert numbers(database) == [2]


def test_a_leader_that_is_killed_leaves_nobody_waiting(database):
    class Killed(BaseException):
        pass

    run = Slow(database)

    def deadly(work):
        if run.groups == 0:
            run(lambda connection: [])
            raise Killed
        return run(work)

    commit = GroupCommit(deadly)
    first, outcome = started(commit, [insert(0)])
    wait_for(lambda: run.groups == 1)
    others, outcomes = started(commit, [insert(1), insert(2)])
    wait_for(lambda: len(commit._waiting) == 2)
    run.release.set()
    joined(first + others)
    assert isinstance(outcome[0], Killed)
    assert numbers(database) == [1, 2] and set(outcomes.values()) == {None}


def test_many_writers_lose_nothing(database):
    commit = GroupCommit(lambda work: work(database))
    threads, outcomes = started(commit, [insert(n) for n in range(200)])
    joined(threads)
    assert numbers(database) == list(range(200)) and set(outcomes.values()) == {None}
