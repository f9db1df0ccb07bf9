"""Saves that could not be made because the store was away wait here, and are made when it is back."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from bridge.errors import STORE_CONFLICT, STORE_UNAVAILABLE, SessionError

from .record import encode
from .session import StoredResponseSession
from .store import LOG, UNSET, SessionStore, Unset, conflict

SHORTEST_WAIT = 0.5  # seconds between two attempts; doubled after each failure
LONGEST_WAIT = 30.0
CLOSING_WAIT = 0.1


@dataclass(frozen=True, slots=True)
class _Waiting:
    session: StoredResponseSession
    overwrite: bool
    expected_previous_response_id: str | None | Unset
    size: int  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SpoolCounters:
    waiting: int
    waiting_bytes: int
    delivered: int
    dropped: int  # for want of room, or still waiting when the process ended
    conflicts: int


class SpooledStore(SessionStore):
    """A store in front of which failed saves wait, in this process, at most `max_count` of them and `max_bytes`.

    A full spool drops its oldest. Reads look here first, so that a client of this process can go on at once. A thread
    delivers in the background, oldest first, so that parents come before children; it lives while there is work.
    """

    def __init__(self, store: SessionStore, *, max_count: int, max_bytes: int) -> None:
        self._store = store
        self._max_count = max_count
        self._max_bytes = max_bytes
        self._waiting: OrderedDict[str, _Waiting] = OrderedDict()
        self._bytes = 0
        self._delivered = self._dropped = self._conflicts = 0
        self._lock = threading.RLock()
        self._delivering = threading.Lock()
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._give_up_at: float | None = None  # reading of time.monotonic(), once closing

    @property
    def counters(self) -> SpoolCounters:
        with self._lock:
            return SpoolCounters(
                waiting=len(self._waiting),
                waiting_bytes=self._bytes,
                delivered=self._delivered,
                dropped=self._dropped,
                conflicts=self._conflicts,
            )

    def get_many(self, response_ids: Iterable[str], owner: str) -> dict[str, StoredResponseSession]:
        wanted = list(response_ids)
        found = {response_id: session for response_id in wanted if (session := self._spooled(response_id, owner))}
        elsewhere = [response_id for response_id in wanted if response_id not in found]
        return {**(self._store.get_many(elsewhere, owner) if elsewhere else {}), **found}

    def ancestry(self, response_id: str, owner: str, limit: int) -> Mapping[str, StoredResponseSession]:
        session = self._spooled(response_id, owner)
        return {response_id: session} if session else self._store.ancestry(response_id, owner, limit)

    def save(
        self,
        session: StoredResponseSession,
        *,
        overwrite: bool = False,
        expected_previous_response_id: str | None | Unset = UNSET,
    ) -> None:
        """As any store's, but returns also when the store is away and the session waits."""
        with self._lock:
            waits_already = session.id in self._waiting
        if waits_already and not overwrite:
            raise conflict(session, "is stored already")
        if not waits_already:  # else it must not overtake what it replaces
            try:
                self._store.save(
                    session, overwrite=overwrite, expected_previous_response_id=expected_previous_response_id
                )
                return
            except SessionError as error:
                if error.code != STORE_UNAVAILABLE:
                    raise
                LOG.warning("response not stored yet, it waits in the spool", extra=_facts(error))
        self._add(_Waiting(session, overwrite, expected_previous_response_id, len(encode(session))))

    def delete(self, response_id: str, owner: str) -> bool:
        if self._spooled(response_id, owner) is None:
            return self._store.delete(response_id, owner)
        with self._lock:
            self._remove(response_id)
        with self._delivering:  # it may be on its way to the store just now
            self._store.delete(response_id, owner)
        return True

    def list_children(self, response_id: str, owner: str) -> list[StoredResponseSession]:
        with self._lock:
            sessions = [one.session for one in self._waiting.values()]
        found = {session.id: session for session in self._store.list_children(response_id, owner)}
        found |= {one.id: one for one in sessions if one.previous_response_id == response_id and one.owner == owner}
        return sorted(found.values(), key=lambda session: session.created_at)

    def setting(self, name: str, make: Callable[[], bytes]) -> bytes:
        return self._store.setting(name, make)

    def ping(self) -> None:
        self._store.ping()

    def purge(self) -> int:
        return self._store.purge()

    def close(self, timeout: float = 5.0) -> None:
        """Deliver what still waits, for `timeout` seconds at most, then close the store."""
        with self._lock:
            self._give_up_at = time.monotonic() + timeout
            thread = self._thread
        self._wake.set()
        if thread is not None:
            thread.join(timeout)
        with self._lock:
            lost = len(self._waiting)
            self._dropped += lost
            self._waiting.clear()
            self._bytes = 0
        if lost:
            LOG.error("responses lost: the store did not come back before the end", extra={"count": lost})
        self._store.close(timeout)

    def _spooled(self, response_id: str, owner: str) -> StoredResponseSession | None:
        with self._lock:
            one = self._waiting.get(response_id)
        return one.session if one is not None and one.session.owner == owner else None

    def _add(self, one: _Waiting) -> None:
        with self._lock:
            self._remove(one.session.id)
            self._waiting[one.session.id] = one
            self._bytes += one.size
            while len(self._waiting) > self._max_count or self._bytes > self._max_bytes:
                oldest = next(iter(self._waiting))
                self._remove(oldest)
                self._dropped += 1
                LOG.error("response lost: the spool is full", extra={"response_id": oldest})
            if self._thread is None and self._waiting:
                self._thread = threading.Thread(target=self._deliver, name="godex-session-spool", daemon=True)
                self._thread.start()

    def _remove(self, response_id: str) -> None:
        if one := self._waiting.pop(response_id, None):
            self._bytes -= one.size

    def _deliver(self) -> None:
        wait = SHORTEST_WAIT
        while one := self._next():
            if self._try(one):
                wait = SHORTEST_WAIT
                continue
            if self._give_up_at is None:
                self._wake.wait(wait)
                wait = min(2 * wait, LONGEST_WAIT)
            else:
                time.sleep(CLOSING_WAIT)

    def _next(self) -> _Waiting | None:
        """The oldest; None, and this thread is done, when there is none or the time to close is over."""
        with self._lock:
            over = self._give_up_at is not None and time.monotonic() >= self._give_up_at
            if over or not self._waiting:
                self._thread = None
                return None
            return next(iter(self._waiting.values()))

    def _try(self, one: _Waiting) -> bool:
        """False when the store is still away."""
        delivered = dropped = conflicts = 0
        try:
            with self._delivering:
                if not self._still_waits(one):  # deleted or replaced meanwhile
                    return True
                if self._stored(one):
                    delivered = 1
                else:
                    conflicts = 1
        except SessionError as error:
            LOG.warning("store still away", extra=_facts(error) | {"waiting": len(self._waiting)})
            return False
        except Exception:  # a bug must not stop the thread, nor be tried for ever
            LOG.exception("response lost", extra={"response_id": one.session.id})
            dropped = 1
        with self._lock:
            if self._still_waits(one):
                self._remove(one.session.id)
            self._delivered += delivered
            self._dropped += dropped
            self._conflicts += conflicts
        return True

    def _still_waits(self, one: _Waiting) -> bool:
        with self._lock:
            return self._waiting.get(one.session.id) is one

    def _stored(self, one: _Waiting) -> bool:
        """False when something else stands in the way, which no repetition changes."""
        session = one.session
        try:
            self._store.save(
                session, overwrite=one.overwrite, expected_previous_response_id=one.expected_previous_response_id
            )
        except SessionError as error:
            if error.code != STORE_CONFLICT:
                raise
            # The first attempt may have arrived, and only its answer been lost.
            if self._store.get(session.id, session.owner) != session:
                LOG.error("response not stored", extra=_facts(error))
                return False
        return True


def _facts(error: SessionError) -> dict[str, object]:
    return {"code": error.code, **error.context}
