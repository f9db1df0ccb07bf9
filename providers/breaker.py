"""A circuit breaker: an upstream that is down is not asked again and again, and one call finds out when it is back.

Own code, because pybreaker 1.4 holds its lock during the call and so lets one request at a time through.
"""

from __future__ import annotations

import threading
from typing import Final, Literal

from bridge import errors as codes
from bridge.errors import ProviderError
from providers.shared import Deadlines, SharedState

FAILURES: Final = 5  # in a row, without a success between them
FIRST_PAUSE: Final = 5.0  # seconds; doubles with every probe that fails
LONGEST_PAUSE: Final = 60.0

DOWN: Final = frozenset(
    {codes.UPSTREAM_UNREACHABLE, codes.UPSTREAM_TIMEOUT, codes.UPSTREAM_SERVER_ERROR, codes.UPSTREAM_CUT}
)
State = Literal["closed", "open", "half_open"]
_NAME = "breaker"


class Breaker:
    """closed: calls go through. open: they fail at once. half_open: one probe goes, the others fail at once."""

    def __init__(self, provider: str, shared: SharedState | None = None) -> None:
        self._provider = provider
        self._open = Deadlines(provider, shared)
        self._failures = 0
        self._pause = FIRST_PAUSE
        self._tripped = False
        self._probing = False
        self._lock = threading.Lock()

    @property
    def state(self) -> State:
        if self._open.left(_NAME, [_NAME]) > 0:
            return "open"
        return "half_open" if self._tripped else "closed"

    def admit(self) -> None:
        """Call before asking the upstream. Raises ProviderError UPSTREAM_OVERLOADED with the seconds to wait."""
        left = self._open.left(_NAME, [_NAME])
        if left <= 0 and not self._tripped:
            return
        with self._lock:
            if left > 0:
                self._tripped = True  # perhaps another worker found out
                raise self._unavailable(left)
            if self._probing:
                raise self._unavailable(1.0)
            self._probing = True

    def succeeded(self) -> None:
        """The upstream answered, be it with a refusal."""
        if self._failures or self._tripped:
            with self._lock:
                self._failures, self._pause = 0, FIRST_PAUSE
                self._tripped = self._probing = False
                self._open.clear(_NAME)

    def failed(self) -> None:
        with self._lock:
            self._failures += 1
            probe, self._probing = self._probing, False
            trips = probe or self._failures >= FAILURES
            if trips:
                self._open.set_here(_NAME, self._pause)
                self._pause = min(self._pause * 2, LONGEST_PAUSE)
                self._tripped, self._failures = True, 0
        if trips:
            self._open.tell(_NAME)  # without the lock: asks the store

    def abandoned(self) -> None:
        """The call ended without telling anything about the upstream."""
        self._probing = False

    def _unavailable(self, seconds: float) -> ProviderError:
        return ProviderError(
            codes.UPSTREAM_OVERLOADED,
            f"{self._provider} has failed several times in a row and is not asked at the moment",
            retry_after=max(1, round(seconds)),
            provider=self._provider,
            phase="breaker",
        )
