"""One conversation over two replicas with two workers each: whoever is asked next knows what the others answered."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.crowd import Talker, get, post
from tests.support.fake_upstream import FakeUpstream, answer
from tests.support.replicas import Replicas

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def upstream() -> Iterator[FakeUpstream]:
    with FakeUpstream() as server:
        server.default = answer("yes")
        yield server


@pytest.fixture(scope="module")
def replicas(upstream: FakeUpstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    with Replicas(upstream.url, tmp_path_factory.mktemp("replicas")) as deployment:
        yield deployment
        assert "Traceback" not in deployment.log, deployment.log


def check_histories(upstream: FakeUpstream, talkers: list[Talker]) -> None:
    """Every request that went up held all turns before it, in order."""
    longest: dict[str, int] = {}
    for request in upstream.requests:
        said = [message["content"] for message in request.body["messages"]]
        name, _, turn = said[-1].rpartition(" ")
        assert said[:-1] == [text for earlier in range(int(turn)) for text in (f"{name} {earlier}", "yes")]
        longest[name] = max(longest.get(name, 0), int(turn) + 1)
    assert longest == {talker.name: len(talker.turns) for talker in talkers}


def test_sixty_four_turns_each_sent_at_once_after_the_terminal_event(
    replicas: Replicas, upstream: FakeUpstream
) -> None:
    upstream.reset()
    talker = Talker(replicas.port, "alone")
    for turn in range(65):  # the last one continues a chain of 64
        assert talker.say(stream=turn % 4 != 3), talker.refusals
    check_histories(upstream, [talker])
    assert not talker.say(stream=True)
    assert talker.refusals[0].error["godex_code"] == "session.chain.depth_exceeded"
    for turn in (0, 31, 63):
        stored = talker.turns[turn].response
        assert get(replicas.port, f"/v1/responses/{stored['id']}") == (200, stored)


def test_a_thousand_turns_without_a_miss(replicas: Replicas, upstream: FakeUpstream) -> None:
    upstream.reset()
    talkers = [Talker(replicas.port, f"client {number}") for number in range(20)]

    def talk(talker: Talker) -> None:
        for turn in range(50):
            assert talker.say(stream=turn % 4 != 3), talker.refusals

    with ThreadPoolExecutor(len(talkers)) as pool:
        list(pool.map(talk, talkers))
    assert sum(len(talker.turns) for talker in talkers) == 1000
    check_histories(upstream, talkers)


def test_the_work_is_spread(replicas: Replicas) -> None:
    for replica in replicas.replicas:
        assert replica.log.count('"message":"response"') > 100


def test_a_conversation_goes_round_as_well(replicas: Replicas, upstream: FakeUpstream) -> None:
    upstream.reset()
    one = post(replicas.port, "/v1/conversations", {})["id"]
    for turn in range(20):
        body = {"model": "m", "input": f"alone {turn}", "conversation": one, "stream": bool(turn % 2)}
        assert post(replicas.port, "/v1/responses", body)["status"] == "completed"
    talker = Talker(replicas.port, "alone")
    talker.turns = [None] * 20
    check_histories(upstream, [talker])
