"""One set of tests over all ledgers; some of them over two handles on the same one, as two workers have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.limits.ledger import Ledger, MemoryLedger, RedisLedger
from app.limits.sqlite_ledger import SqliteLedger
from tests.support.redis_server import RedisCluster, redis_url

OpenLedger = Callable[[], Ledger]


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    with redis_url() as url:
        yield url


@pytest.fixture(scope="session")
def cluster_url() -> Iterator[str]:
    with RedisCluster() as cluster:
        yield cluster.url


@pytest.fixture(params=["memory", "sqlite", "redis", "cluster"])
def open_ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenLedger]:
    """Each call gives one more handle on the same ledger."""
    opened: list[Ledger] = []
    memory = MemoryLedger()
    url = {"redis": "server_url", "cluster": "cluster_url"}.get(request.param)
    address = request.getfixturevalue(url) if url else ""

    def opening() -> Ledger:
        if address:
            opened.append(RedisLedger(address, f"test-{tmp_path.name}"))
        else:
            opened.append(memory if request.param == "memory" else SqliteLedger(tmp_path / "deep" / "limits.db"))
        return opened[-1]

    yield opening
    for ledger in opened:
        ledger.close()


@pytest.fixture
def ledger(open_ledger: OpenLedger) -> Ledger:
    return open_ledger()
