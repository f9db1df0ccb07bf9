"""Whether stores stay fast as they fill: saving, resolving and remembering at 1,000 to 100,000 responses. Run by hand.

    python -m tests.bench.sessions_at_scale                       # SQLite in a temporary folder, and a Redis of its own
    python -m tests.bench.sessions_at_scale --backend sqlite --responses 20000
    python -m tests.bench.sessions_at_scale --redis redis://127.0.0.1:6379/15    # this database is emptied

Responses come in chains of 64 turns of about 2.5 KB, many chains growing at once. Nothing here is asserted by a test.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import redis

from app.sessions.conversations import Conversation, Entry
from app.sessions.ids import new_conversation_id, new_response_id
from app.sessions.redis_store import RedisStore
from app.sessions.sqlite_store import SqliteStore
from app.sessions.store import SessionStore
from tests.app.sessions.builders import OWNER, message, session
from tests.support.redis_server import RedisServer

CHAIN = 64  # turns
GROWING = 200  # chains at once
SAMPLES = 300  # calls of each kind at a checkpoint
CHECKPOINTS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000)
TTL = 30 * 24 * 3600.0
WORDS = "the quick brown fox jumps over a lazy dog while nobody looks at what it says".split()


@dataclass
class Clock:
    shift: float = 0.0

    def __call__(self) -> float:
        return time.time() + self.shift


@dataclass
class Population:
    """Chains that grow in turn. `full` holds the newest id of each one that has all its turns."""

    store: SessionStore
    dice: random.Random = field(default_factory=lambda: random.Random(1))
    size: int = 0
    growing: list[list[str]] = field(default_factory=lambda: [[] for _ in range(GROWING)])
    full: list[str] = field(default_factory=list)

    def add(self) -> None:
        place = self.dice.randrange(GROWING)
        chain = self.growing[place]
        parent = chain[-1] if chain else None
        chain.append(new_response_id(parent))
        question, answer = (" ".join(self.dice.choices(WORDS, k=200)) for _ in range(2))
        made = session(chain[-1], parent, request={"input": question}, output=[message(answer)])
        self.store.save(made)
        self.size += 1
        if len(chain) == CHAIN:
            self.full.append(chain[-1])
            self.growing[place] = []

    def newest(self) -> str:
        return self.dice.choice([chain[-1] for chain in self.growing if chain])


def timed(call: Callable[[], Any], samples: int = SAMPLES) -> list[float]:
    """Milliseconds of each call."""
    times = []
    for _ in range(samples):
        began = time.perf_counter()
        call()
        times.append((time.perf_counter() - began) * 1000)
    return times


def line(name: str, times: list[float]) -> str:
    ordered = sorted(times)
    p95 = ordered[int(len(ordered) * 0.95)]
    return f"{name} {statistics.median(ordered):.2f}/{p95:.2f}"


def measure(people: Population, conversation: Conversation) -> str:
    store = people.store
    numbers = iter(range(10**9))

    def add_turn() -> None:
        entry = Entry(message("x" * 500, f"msg_{people.size}_{next(numbers)}"), "resp_x")
        assert store.conversations.add_turn(conversation.id, OWNER, [entry])

    def remember() -> None:
        store.remember({f"{people.size} {next(numbers)}": b"x" * 500}, TTL)

    figures = [line("save", timed(people.add)), line("get", timed(lambda: store.get(people.newest(), OWNER)))]
    if people.full:
        deep = timed(lambda: store.resolve_chain(people.dice.choice(people.full), owner=OWNER), SAMPLES // 3)
        figures.append(line(f"resolve {CHAIN}", deep))
    figures += [line("remember", timed(remember)), line("recall", timed(lambda: store.recall([f"{people.size} 1"])))]
    figures.append(line("add turn", timed(add_turn, 20)))
    return "  ".join(figures)


def run(store: SessionStore, responses: int) -> None:
    people = Population(store)
    conversation = Conversation(id=new_conversation_id(), created_at=int(time.time()), metadata={}, owner=OWNER)
    store.conversations.create(conversation, [])
    began = time.perf_counter()
    for checkpoint in (size for size in CHECKPOINTS if size <= responses):
        while people.size < checkpoint:
            people.add()
        print(f"  {checkpoint:>7,}  {measure(people, conversation)}", flush=True)
    print(f"  {people.size / (time.perf_counter() - began):,.0f} saves a second over all, one after the other")


def stores(
    backend: str, redis_url: str | None, stack: ExitStack, clock: Clock
) -> Iterator[tuple[str, SessionStore, Any]]:
    if backend in ("sqlite", "both"):
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        yield "SQLite", SqliteStore(folder / "sessions.db", ttl=TTL, clock=clock), folder
    if backend in ("redis", "both"):
        url = redis_url or stack.enter_context(RedisServer()).url
        client = redis.Redis.from_url(url, protocol=2)
        stack.callback(client.close)
        client.flushdb()
        yield "Redis", RedisStore(url, prefix="bench", ttl=TTL, max_connections=8, clock=clock), client


@click.command()
@click.option("--backend", type=click.Choice(["sqlite", "redis", "both"]), default="both")
@click.option("--redis", "redis_url", help="A server to use; its database is emptied.")
@click.option("--responses", default=100_000, show_default=True)
def main(backend: str, redis_url: str | None, responses: int) -> None:
    clock = Clock()
    with ExitStack() as stack:
        for name, store, behind in stores(backend, redis_url, stack, clock):
            print(f"{name}: responses stored, then milliseconds of one call, median/95th percentile")
            run(store, responses)
            if name == "SQLite":
                size = sum(path.stat().st_size for path in behind.iterdir())
                clock.shift = 2 * TTL
                began = time.perf_counter()
                removed = store.purge()
                print(f"  {size / 2**20:,.0f} MB; all {removed:,} purged in {time.perf_counter() - began:.1f} s")
            else:
                print(f"  {behind.info('memory')['used_memory'] / 2**20:,.0f} MB")
            store.close()


if __name__ == "__main__":
    main()
