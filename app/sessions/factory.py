"""From settings to the store that serves them."""

from __future__ import annotations

from .memory_store import MemoryStore
from .redis_store import RedisStore
from .settings import SessionSettings
from .spooled_store import SpooledStore
from .sqlite_store import SqliteStore
from .store import SessionStore


def open_store(settings: SessionSettings) -> SessionStore:
    """The store of `settings`. Nothing is opened yet: files and sockets come with the first call, after the fork."""
    if settings.backend == "memory":
        return MemoryStore(
            ttl=settings.ttl, max_count=settings.memory_max_count, max_bytes=settings.memory_max_bytes
        )  # never away, so nothing would ever wait in a spool
    store: SessionStore
    if settings.backend == "redis":
        store = RedisStore(
            settings.redis_url,
            prefix=settings.redis_prefix,
            ttl=settings.ttl,
            max_connections=settings.redis_connections,
        )
    else:
        store = SqliteStore(settings.sqlite_path, ttl=settings.ttl)
    if settings.on_save_error == "fail":
        return store
    return SpooledStore(store, max_count=settings.spool_max_count, max_bytes=settings.spool_max_bytes)
