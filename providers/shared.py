"""State of upstreams that several workers and replicas should know about: exhausted keys, open breakers."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Final, Protocol

REFRESH: Final = 2.0  # seconds for which what was read is believed


class SharedState(Protocol):
    """A small key-value store with a time to live; the session store of the gateway is one. May raise anything: then
    each worker goes by what it has seen itself."""

    def remember(self, values: Mapping[str, bytes], ttl: float) -> None: ...
    def recall(self, names: list[str]) -> Mapping[str, bytes]: ...


class Deadlines:
    """Named moments (Unix seconds) until which something is out of use, shared where there is a SharedState.

    Setting one is rare and written at once; asking is frequent and costs at most one read per REFRESH for all names.
    """

    def __init__(self, scope: str, shared: SharedState | None = None) -> None:
        """scope: keeps the names of one provider apart from another's."""
        self._scope = scope
        self._shared = shared
        self._until: dict[str, float] = {}
        self._refreshed = 0.0

    def set(self, name: str, seconds: float) -> None:
        self.set_here(name, seconds)
        self.tell(name)

    def set_here(self, name: str, seconds: float) -> None:
        """For callers that hold a lock: `tell` the others when it is free again, a store may take its time."""
        self._until[name] = time.time() + seconds

    def tell(self, name: str) -> None:
        until = self._until.get(name, 0.0)
        seconds = until - time.time()
        if self._shared is not None and seconds > 0:  # else it is over, or was cleared, already
            with contextlib.suppress(Exception):  # the store is away: its own log says so, and this worker knows
                self._shared.remember({self._key(name): repr(until).encode()}, seconds)

    def clear(self, name: str) -> None:
        """Back in use before its time. Others find out by themselves."""
        self._until.pop(name, None)

    def left(self, name: str, names: list[str]) -> float:
        """Seconds until `name` is in use again, 0 when it is. names: all that may be asked about, read together."""
        self._refresh(names)
        return max(0.0, self._until.get(name, 0.0) - time.time())

    def _refresh(self, names: list[str]) -> None:
        now = time.monotonic()
        if self._shared is None or now - self._refreshed < REFRESH:
            return
        self._refreshed = now
        try:
            found = self._shared.recall([self._key(name) for name in names])
        except Exception:  # as above
            return
        for name in names:
            value = found.get(self._key(name))
            if value is not None:
                self._until[name] = max(self._until.get(name, 0.0), float(value))

    def _key(self, name: str) -> str:
        return f"upstream:{self._scope}:{name}"
