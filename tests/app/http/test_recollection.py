"""Clients that send a call back without the reasoning behind it, to models that refuse their calls without."""

from __future__ import annotations

import json

import pytest

from app.sessions.memory_store import MemoryStore
from tests.support.fake_upstream import answer
from tests.support.redis_server import RedisServer

RUN = {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {}}}
THINKS = {"capabilities": {"reasoning_replay": "with_tools"}}
MADE_A_CALL = answer(reasoning="need the date", calls=(("call_1", "run", '{"q": "date"}'),))


def first_turn(gateway, upstream, *, stream=False, reply=MADE_A_CALL, **fields):
    """The calls of an answer, as the client saw them."""
    upstream.script("m", reply, answer("Mon"))
    asked = {"input": "date?", "tools": [RUN], "store": False, **fields}
    output = (gateway.stream(**asked).response if stream else gateway.create(**asked))["output"]
    return [item for item in output if item["type"] == "function_call"]


def second_turn(gateway, upstream, calls, **fields):
    """The assistant message that goes up when the client sends the calls and nothing else."""
    outputs = [{"type": "function_call_output", "call_id": call["call_id"], "output": "x"} for call in calls]
    items = [{"role": "user", "content": "date?"}, *calls, *outputs]
    gateway.create(input=items, tools=[RUN], store=False, **fields)
    return upstream.requests[-1].body["messages"][1]


@pytest.mark.parametrize("stream", [False, True])
def test_reasoning_that_did_not_come_back_is_known(make_gateway, upstream, stream):
    gateway = make_gateway(THINKS)
    calls = first_turn(gateway, upstream, stream=stream)
    bare = {"type": "function_call", "call_id": calls[0]["call_id"], "name": "run", "arguments": '{"q":"date"}'}
    assert second_turn(gateway, upstream, [bare])["reasoning_content"] == "need the date"


def test_it_is_reported(make_gateway, upstream):
    gateway = make_gateway(THINKS, diagnostics=True)
    calls = first_turn(gateway, upstream)
    output = {"type": "function_call_output", "call_id": calls[0]["call_id"], "output": "x"}
    made = gateway.create(input=[*calls, output], tools=[RUN])
    assert [(note["action"], note["subject"]) for note in made["godex"]["diagnostics"]] == [("repaired", "input[0]")]


def test_parallel_calls_share_it(make_gateway, upstream):
    gateway = make_gateway(THINKS)
    reply = answer(reasoning="both", calls=(("call_1", "run", "{}"), ("call_2", "run", '{"a":1}')))
    calls = first_turn(gateway, upstream, reply=reply)
    message = second_turn(gateway, upstream, calls[::-1])
    assert message["reasoning_content"] == "both" and len(message["tool_calls"]) == 2
    upstream.script("m", answer("Mon"))
    assert second_turn(gateway, upstream, calls[1:])["reasoning_content"] == "both"


@pytest.mark.parametrize("backend", ["sqlite", "redis"])
def test_another_worker_knows_it_too(make_gateway, upstream, tmp_path, backend):
    with RedisServer() as server:
        session = {"backend": backend, "sqlite": {"path": str(tmp_path / "s.db")}, "redis": {"url": server.url}}
        one, other = make_gateway(THINKS, session=session), make_gateway(THINKS, session=session)
        assert second_turn(other, upstream, first_turn(one, upstream))["reasoning_content"] == "need the date"


def test_it_is_kept_sealed(make_gateway, upstream, tmp_path):
    gateway = make_gateway(THINKS, session={"backend": "sqlite", "sqlite": {"path": str(tmp_path / "s.db")}})
    first_turn(gateway, upstream)
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"gdx1." in files and b"need the date" not in files and b"call_1" not in files


def test_it_belongs_to_the_key_that_caused_it(make_gateway, upstream):
    gateway = make_gateway(THINKS, auth={"keys": ["key-a", "key-b"]})
    a, b = ({"Authorization": f"Bearer {key}"} for key in ("key-a", "key-b"))
    calls = first_turn(gateway, upstream, headers=a)
    assert "reasoning_content" not in second_turn(gateway, upstream, calls, headers=b)
    upstream.script("m", answer("Mon"))
    assert second_turn(gateway, upstream, calls, headers=a)["reasoning_content"] == "need the date"


def test_a_model_that_numbers_its_calls_anew_mixes_nothing_up(make_gateway, upstream):
    gateway = make_gateway(THINKS)
    first = first_turn(gateway, upstream)
    other = answer(reasoning="need the time", calls=(("call_1", "run", '{"q": "time"}'),))
    second = first_turn(gateway, upstream, reply=other)
    upstream.script("m", answer("Mon"), repeat=True)
    assert second_turn(gateway, upstream, first)["reasoning_content"] == "need the date"
    assert second_turn(gateway, upstream, second)["reasoning_content"] == "need the time"


class CountingStore(MemoryStore):
    def __init__(self):
        super().__init__(ttl=1000, max_count=100, max_bytes=1_000_000)
        self.asked = []

    def remember(self, values, ttl):
        self.asked.append(("remember", len(values), ttl))
        super().remember(values, ttl)

    def recall(self, names):
        self.asked.append(("recall", len(list(names))))
        return super().recall(names)


@pytest.fixture
def watched(make_gateway):
    def make(**options):
        gateway = make_gateway(**{"provider": THINKS, **options})
        store = CountingStore()
        gateway.client.application.extensions["godex"].opened_store = store
        return gateway, store.asked

    return make


def test_the_store_is_asked_once_and_only_when_something_is_missing(watched, upstream):
    gateway, asked = watched()
    upstream.script("m", answer("no call", reasoning="hm"), MADE_A_CALL, answer("a"), answer("b"), answer("c"))
    gateway.create(input="hi", tools=[RUN])
    assert asked == []
    first = gateway.create(input="date?", tools=[RUN])
    assert asked == [("remember", 1, 6 * 3600.0)]
    output = {"type": "function_call_output", "call_id": first["output"][1]["call_id"], "output": "x"}
    gateway.create(input=[output], previous_response_id=first["id"], tools=[RUN])
    gateway.create(input=[*first["output"], output], tools=[RUN])
    assert len(asked) == 1
    gateway.create(input=[first["output"][1], output], tools=[RUN])
    assert asked[1:] == [("recall", 1)]


@pytest.mark.parametrize(
    "options", [{"provider": {}}, {"reasoning": {"memory": 0}}], ids=["a model that takes none back", "switched off"]
)
def test_nothing_is_kept_where_it_is_of_no_use(watched, upstream, options):
    gateway, asked = watched(**options)
    calls = first_turn(gateway, upstream)
    assert "reasoning_content" not in second_turn(gateway, upstream, calls)
    assert asked == []


def test_the_time_it_is_kept_is_configured(watched, upstream):
    gateway, asked = watched(reasoning={"memory": "90m"})
    first_turn(gateway, upstream)
    assert asked == [("remember", 1, 5400.0)]


@pytest.mark.parametrize("keys", [{}, {"auth": {"seal_key": "k" * 44}}], ids=["key in the store", "key configured"])
def test_a_store_that_is_away_fails_nothing(make_gateway, upstream, keys):
    away = {"backend": "redis", "redis": {"url": "redis://127.0.0.1:9/0"}}
    gateway = make_gateway(THINKS, session=away, **keys)
    calls = first_turn(gateway, upstream)
    assert "reasoning_content" not in second_turn(gateway, upstream, calls)


def test_summaries_of_another_shape_are_remembered_whole(make_gateway, upstream):
    gateway = make_gateway(THINKS, reasoning={"stream": "raw"})
    assert second_turn(gateway, upstream, first_turn(gateway, upstream))["reasoning_content"] == "need the date"
    calls = first_turn(gateway, upstream, include=["reasoning.encrypted_content"])
    assert second_turn(gateway, upstream, calls)["reasoning_content"] == "need the date"
    assert json.loads(calls[0]["arguments"]) == {"q": "date"}
