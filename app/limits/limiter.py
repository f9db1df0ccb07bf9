"""What each API key may use: requests and tokens a minute, requests at once.

Minutes are those of the clock, so that every worker and replica means the same one. Tokens are known when an answer has
ended: a minute may take more than its limit, and then nothing is admitted until the next. Where the ledger cannot be
reached nobody is limited: a gateway that answers is worth more than an exact count.
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from bridge.errors import RATE_LIMITED, ServerError

from ..config.model import KeyLimits
from ..logs import fields

if TYPE_CHECKING:
    from ..context import Caller
    from .ledger import Ledger

log = logging.getLogger("godex")

WINDOW: Final = 60  # seconds
LEASE: Final = 30.0  # seconds until a lease ends whose worker has died
RENEWED_EVERY: Final = 10.0
WITHOUT_LEDGER: Final = 5.0  # seconds for which it is not asked again after a failure

OnLimited = Callable[[str, str], None]


class Admission:
    """One request that was let in. `ended` must be called once, whatever becomes of it."""

    def __init__(self, limiter: Limiter | None = None, caller: Caller | None = None, lease: str = "") -> None:
        self.lease = lease
        self._limiter = limiter
        self._caller = caller

    def ended(self, tokens: int = 0) -> None:
        """tokens: what the answer used."""
        if self._limiter is not None and self._caller is not None:
            self._limiter.settle(self._caller, self.lease, tokens)
            self._limiter = None


class Limiter:
    def __init__(self, open_ledger: Callable[[], Ledger], on_limited: OnLimited = lambda key, limit: None) -> None:
        """on_limited: told the key's name and what it has too little of."""
        self._open_ledger = open_ledger
        self._on_limited = on_limited
        self._ledger: Ledger | None = None
        self._leases: dict[str, str] = {}  # lease → name, of this process
        self._renewing: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._away_until = 0.0  # reading of time.monotonic()

    def admit(self, caller: Caller, headers: dict[str, str]) -> Admission:
        """headers: of the answer, whatever it will be; filled with OpenAI's x-ratelimit-*.

        Raises ServerError RATE_LIMITED.
        """
        if caller.limits == NO_LIMITS:
            return Admission()
        admission = Admission(self, caller, os.urandom(12).hex() if caller.limits.concurrent else "")
        self._asking(lambda ledger: self._check(ledger, caller, admission.lease, headers))
        return admission

    def close(self) -> None:
        self._closed.set()
        if self._ledger is not None:
            self._asking(lambda ledger: ledger.close())

    def _check(self, ledger: Ledger, caller: Caller, lease: str, headers: dict[str, str]) -> None:
        now, limits = time.time(), caller.limits
        left = WINDOW - now % WINDOW
        if limits.tokens_per_minute is not None:
            used = ledger.count(_counter(caller, "tokens", now))
            headers |= _headers("tokens", limits.tokens_per_minute, used, left)
            if used >= limits.tokens_per_minute:
                raise self._refusal(caller, "tokens", limits.tokens_per_minute, left)
        if limits.requests_per_minute is not None:
            used = ledger.add(_counter(caller, "requests", now), 1, WINDOW)
            headers |= _headers("requests", limits.requests_per_minute, used, left)
            if used > limits.requests_per_minute:
                raise self._refusal(caller, "requests", limits.requests_per_minute, left)
        if limits.concurrent is not None:
            if not ledger.take_lease(_leases(caller), lease, limits.concurrent, LEASE):
                raise self._refusal(caller, "concurrent requests", limits.concurrent, 1.0)
            self._keep(lease, _leases(caller))

    def _refusal(self, caller: Caller, what: str, limit: int, left: float) -> ServerError:
        self._on_limited(caller.name, what)
        wait = math.ceil(left)
        return ServerError(
            RATE_LIMITED,
            f"Rate limit reached for {what}: limit {limit}. Please try again in {wait}s.",
            retry_after=wait,
            caller=caller.name,
        )

    def settle(self, caller: Caller, lease: str, tokens: int) -> None:
        """One request has ended."""
        self._leases.pop(lease, None)

        def settled(ledger: Ledger) -> None:
            if lease:
                ledger.return_lease(_leases(caller), lease)
            if tokens and caller.limits.tokens_per_minute is not None:
                ledger.add(_counter(caller, "tokens", time.time()), tokens, WINDOW)

        self._asking(settled)

    def _asking(self, work: Callable[[Ledger], None]) -> None:
        """Nothing happens, but a line in the log, where the ledger is away."""
        if time.monotonic() < self._away_until:
            return
        try:
            with self._lock:
                if self._ledger is None:
                    self._ledger = self._open_ledger()
                ledger = self._ledger
        except Exception as error:  # a cluster is asked for its slots
            self._away(error)
            return
        try:
            work(ledger)
        except ledger.failures as error:
            self._away(error)

    def _away(self, error: Exception) -> None:
        self._away_until = time.monotonic() + WITHOUT_LEDGER
        log.warning("limits are not enforced: the ledger is away", extra=fields(error=type(error).__name__))

    def _keep(self, lease: str, name: str) -> None:
        """Renewed from now on, as long as this process lives."""
        self._leases[lease] = name
        with self._lock:
            if self._renewing is None:
                self._renewing = threading.Thread(target=self._renew, name="godex-leases", daemon=True)
                self._renewing.start()

    def _renew(self) -> None:
        while not self._closed.wait(RENEWED_EVERY):
            held: list[tuple[str, str]] = [(name, lease) for lease, name in tuple(self._leases.items())]
            if held:
                self._asking(lambda ledger, held=held: ledger.renew_leases(held, LEASE))  # type: ignore[misc]


NO_LIMITS: Final = KeyLimits()


def _counter(caller: Caller, what: str, now: float) -> str:
    return f"{caller.owner}:{what}:{int(now // WINDOW)}"


def _headers(what: str, limit: int, used: int, left: float) -> dict[str, str]:
    return {
        f"x-ratelimit-limit-{what}": str(limit),
        f"x-ratelimit-remaining-{what}": str(max(0, limit - used)),
        f"x-ratelimit-reset-{what}": f"{left:.3g}s",
    }


def _leases(caller: Caller) -> str:
    return f"{caller.owner}:leases"
