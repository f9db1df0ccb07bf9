"""What `open_store` needs to know; the configuration builds it from the `session:` section."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Backend = Literal["memory", "sqlite", "redis"]
InstructionsRule = Literal["replay", "current"]
SaveErrorRule = Literal["warn", "fail"]

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    backend: Backend = "sqlite"
    ttl: float = 30 * 24 * 3600.0  # seconds; renewed along a chain when it is continued

    # The rules of a chain; whoever resolves one hands them to the store.
    max_depth: int = 64  # turns
    include_incomplete: bool = False
    instructions: InstructionsRule = "replay"

    sqlite_path: str = "./data/sessions.db"

    redis_url: str = field(default="redis://localhost:6379/0", repr=False)  # may hold a password
    redis_prefix: str = "godex"
    redis_connections: int = 64  # of one process, at most

    memory_max_count: int = 10_000  # responses
    memory_max_bytes: int = 256 * MIB

    # warn: a save that fails because the store is away waits in a bounded spool; fail: it raises.
    on_save_error: SaveErrorRule = "warn"
    spool_max_count: int = 1_000  # responses
    spool_max_bytes: int = 64 * MIB
