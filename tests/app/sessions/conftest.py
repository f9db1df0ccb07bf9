"""One `store` fixture over every backend, and the means to let time pass and to damage records in each."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redis

from app.sessions.memory_store import MemoryStore
from app.sessions.redis_store import RedisStore
from app.sessions.spooled_store import SpooledStore
from app.sessions.sqlite_store import SqliteStore
from app.sessions.store import LOG, SessionStore
from tests.support.redis_server import RedisServer, redis_url

TTL = 1000.0  # seconds


@dataclass
class Clock:
    now: float = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def errors() -> Iterator[list[logging.LogRecord]]:
    """What the stores log as errors, caught by a handler of its own: an application may stop propagation."""
    records: list[logging.LogRecord] = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = records.append  # type: ignore[method-assign]
    LOG.addHandler(handler)
    yield records
    LOG.removeHandler(handler)


@pytest.fixture(scope="session")
def shared_redis_url() -> Iterator[str]:
    with redis_url() as url:
        yield url


@pytest.fixture
def redis_database(shared_redis_url: str) -> Iterator[redis.Redis]:
    """A client of an empty database."""
    with redis.Redis.from_url(shared_redis_url, protocol=2) as client:
        client.flushdb()
        yield client


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    """A server of this test alone, to stop or freeze."""
    with RedisServer() as server:
        yield server


@dataclass
class Bench:
    """A store, with what a test may do to it behind its back."""

    store: SessionStore
    age: Callable[[float], None]  # seconds pass
    damage: Callable[[str, bytes], None]  # the record of this id becomes these bytes
    damage_entry: Callable[[str, str, bytes], None]  # the entry of this item of this conversation becomes these bytes


@pytest.fixture(params=["memory", "sqlite", "redis", "spooled"])
def bench(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Bench]:
    make = {"memory": memory_bench, "sqlite": sqlite_bench, "redis": redis_bench, "spooled": spooled_bench}
    bench = make[request.param](request, tmp_path, clock)
    yield bench
    bench.store.close()


@pytest.fixture
def store(bench: Bench) -> SessionStore:
    return bench.store


def memory_bench(_request: pytest.FixtureRequest, _folder: Path, clock: Clock) -> Bench:
    store = MemoryStore(ttl=TTL, max_count=1000, max_bytes=10_000_000, clock=clock)

    def age(seconds: float) -> None:
        clock.now += seconds

    def damage(response_id: str, record: bytes) -> None:
        store._entries[response_id].record = record

    def damage_entry(conversation_id: str, item_id: str, record: bytes) -> None:
        store.conversations._kept[conversation_id].records[item_id] = record

    return Bench(store, age, damage, damage_entry)


def spooled_bench(request: pytest.FixtureRequest, folder: Path, clock: Clock) -> Bench:
    behind = memory_bench(request, folder, clock)
    return Bench(
        SpooledStore(behind.store, max_count=1000, max_bytes=10_000_000), behind.age, behind.damage, behind.damage_entry
    )


def sqlite_bench(_request: pytest.FixtureRequest, folder: Path, clock: Clock) -> Bench:
    path = folder / "data" / "sessions.db"

    def age(seconds: float) -> None:
        clock.now += seconds

    def change(query: str, *values: Any) -> None:
        connection = sqlite3.connect(path)
        with connection:
            connection.execute(query, values)
        connection.close()

    def damage(response_id: str, record: bytes) -> None:
        change("UPDATE responses SET record = ? WHERE id = ?", record, response_id)

    def damage_entry(conversation_id: str, item_id: str, record: bytes) -> None:
        query = "UPDATE conversation_items SET record = ? WHERE conversation_id = ? AND id = ?"
        change(query, record, conversation_id, item_id)

    return Bench(SqliteStore(path, ttl=TTL, clock=clock), age, damage, damage_entry)


def redis_bench(request: pytest.FixtureRequest, _folder: Path, clock: Clock) -> Bench:
    client: redis.Redis = request.getfixturevalue("redis_database")
    url: str = request.getfixturevalue("shared_redis_url")

    def age(seconds: float) -> None:
        clock.now += seconds
        for key in client.scan_iter():
            remaining = client.pttl(key) - int(seconds * 1000)
            if client.pttl(key) >= 0:
                client.pexpire(key, remaining) if remaining > 0 else client.delete(key)

    def damage(response_id: str, record: bytes) -> None:
        (key,) = client.scan_iter(match=f"*:{response_id}")
        head = bytes(client.getrange(key, 0, 3)) + b"\0\0" + bytes(8)  # as save.lua has it, naming no ancestors
        client.set(key, head + record, keepttl=True)

    def damage_entry(conversation_id: str, item_id: str, record: bytes) -> None:
        key, field = f"test:{conversation_id}", f"i:{item_id}"
        place = bytes(client.hget(key, field))[:4]
        client.hset(key, field, place + record)

    store = RedisStore(url, prefix="test", ttl=TTL, max_connections=8, clock=clock)
    return Bench(store, age, damage, damage_entry)
