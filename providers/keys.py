"""The keys for one upstream: used in turn, and left alone for a while when the upstream refuses one."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from typing import Final

from bridge import errors as codes
from bridge.errors import ProviderError
from providers.shared import Deadlines, SharedState

# Seconds without the key. A rate limit says itself how long; money and rights do not come back within minutes.
COOL_DOWN: Final = {
    codes.UPSTREAM_RATE_LIMIT: 10.0,
    codes.UPSTREAM_QUOTA: 600.0,
    codes.UPSTREAM_AUTHENTICATION: 300.0,
    codes.UPSTREAM_PERMISSION: 300.0,
}
LONGEST_COOL_DOWN: Final = 600.0


class KeyPool:
    """With a single key there is no choice: it is always used, and a refusal is the client's to hear."""

    def __init__(self, scope: str, keys: Sequence[str], shared: SharedState | None = None) -> None:
        self._keys = tuple(keys)
        self._names = [hashlib.sha256(key.encode()).hexdigest()[:12] for key in self._keys]  # a key is stored nowhere
        self._resting = Deadlines(f"{scope}:key", shared)
        self._next = 0
        self._lock = threading.Lock()

    def take(self) -> str | None:
        """The next key that is not resting; the one that rests shortest when all are; None when there are none."""
        if len(self._keys) <= 1:
            return self._keys[0] if self._keys else None
        rests = [self._resting.left(name, self._names) for name in self._names]  # without the lock: may ask the store
        with self._lock:
            order = [(self._next + step) % len(self._keys) for step in range(len(self._keys))]
            chosen = min(order, key=lambda place: rests[place])
            self._next = (chosen + 1) % len(self._keys)
            return self._keys[chosen]

    def refuse(self, key: str | None, error: ProviderError) -> bool:
        """The upstream refused this key. Returns whether another one can be tried at once."""
        seconds = COOL_DOWN.get(error.code)
        if seconds is None or key is None or len(self._keys) <= 1:
            return False
        asked = error.context.get("wait")
        if error.code == codes.UPSTREAM_RATE_LIMIT and isinstance(asked, int | float):
            seconds = float(asked)
        self._resting.set(self._names[self._keys.index(key)], min(seconds, LONGEST_COOL_DOWN))
        return self.ready > 0

    @property
    def ready(self) -> int:
        """How many keys are not resting."""
        return sum(self._resting.left(name, self._names) == 0 for name in self._names)
