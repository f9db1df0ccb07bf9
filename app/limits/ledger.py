"""Where the use of API keys is counted: one place for all workers of a machine, or for all replicas.

    Redis     where sessions are in Redis: all replicas count together
    SQLite    where sessions are in SQLite: all workers of this machine count together, in a file beside the sessions
    memory    where sessions are in memory: there is one worker

Counters are those of the library `limits` (a storage that increments); leases, which it does not have, are ours.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import redis
from limits.storage import MemoryStorage, RedisStorage, Storage

from ..config.model import SessionConfig
from ..sessions.redis_client import Client, connect, disconnect
from .sqlite_ledger import SqliteLedger

CONNECTIONS = 16  # of one worker
TAKE = """
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[4], ARGV[3])
redis.call('PEXPIREAT', KEYS[1], math.ceil(ARGV[4] * 1000))
return 1
"""


class Ledger(Protocol):
    """Names are made by the caller. Any method may raise `failures`."""

    failures: tuple[type[Exception], ...]

    def add(self, name: str, amount: int, ttl: int) -> int:
        """The counter after that; `ttl` seconds after it was begun it is gone."""

    def count(self, name: str) -> int: ...

    def take_lease(self, name: str, lease: str, most: int, ttl: float) -> bool:
        """False when `most` leases of that name are out. Unless renewed it ends after `ttl` seconds."""

    def renew_leases(self, leases: Sequence[tuple[str, str]], ttl: float) -> None:
        """leases: (name, lease) pairs."""

    def return_lease(self, name: str, lease: str) -> None: ...

    def close(self) -> None: ...


class _Counters:
    """Counters in a storage of the library."""

    storage: Storage

    def add(self, name: str, amount: int, ttl: int) -> int:
        return self.storage.incr(name, ttl, amount)

    def count(self, name: str) -> int:
        return self.storage.get(name)


class MemoryLedger(_Counters):
    failures: tuple[type[Exception], ...] = ()

    def __init__(self) -> None:
        self.storage = MemoryStorage()
        self._leases: dict[str, dict[str, float]] = {}  # name → lease → its end, Unix seconds
        self._lock = threading.Lock()

    def take_lease(self, name: str, lease: str, most: int, ttl: float) -> bool:
        with self._lock:
            now = time.time()
            out = {one: end for one, end in self._leases.get(name, {}).items() if end > now}
            self._leases[name] = out
            if len(out) >= most:
                return False
            out[lease] = now + ttl
            return True

    def renew_leases(self, leases: Sequence[tuple[str, str]], ttl: float) -> None:
        with self._lock:
            for name, lease in leases:
                if lease in self._leases.get(name, {}):
                    self._leases[name][lease] = time.time() + ttl

    def return_lease(self, name: str, lease: str) -> None:
        with self._lock:
            self._leases.get(name, {}).pop(lease, None)

    def close(self) -> None:
        """Nothing is held."""


class RedisLedger(_Counters):
    failures: tuple[type[Exception], ...] = (redis.RedisError, OSError)

    def __init__(self, url: str, prefix: str) -> None:
        self._client = connect(url, CONNECTIONS)
        self._prefix = f"{prefix}:limits"
        self.storage = _Storage(self._client, self._prefix)
        self._take = self._client.register_script(TAKE)

    def take_lease(self, name: str, lease: str, most: int, ttl: float) -> bool:
        now = time.time()
        return bool(self._take(keys=[self._key(name)], args=[now, most, lease, now + ttl]))

    def renew_leases(self, leases: Sequence[tuple[str, str]], ttl: float) -> None:
        end = time.time() + ttl
        with self._client.pipeline(transaction=False) as pipeline:
            for name, lease in leases:
                pipeline.zadd(self._key(name), {lease: end}, xx=True)
                pipeline.pexpireat(self._key(name), int(end * 1000) + 1)
            pipeline.execute()

    def return_lease(self, name: str, lease: str) -> None:
        self._client.zrem(self._key(name), lease)

    def close(self) -> None:
        disconnect(self._client)

    def _key(self, name: str) -> str:
        return f"{self._prefix}:{name}"


class _Storage(RedisStorage):
    """The library's, with a client of ours: its own knows neither our time-outs nor every URL that we take."""

    STORAGE_SCHEME = []

    def __init__(self, client: Client, prefix: str) -> None:
        Storage.__init__(self)
        self.key_prefix = prefix
        self.target_server = "redis"
        self.dependency = redis
        self.storage = client
        self.initialize_storage("")


def open_ledger(session: SessionConfig) -> Ledger:
    if session.backend == "redis":
        return RedisLedger(session.redis.url, session.redis.prefix)
    if session.backend == "sqlite":
        return SqliteLedger(Path(session.sqlite.path).parent / "limits.db")
    return MemoryLedger()
