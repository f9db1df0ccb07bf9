"""The contract of a session store, whatever it is built on."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Final, NamedTuple, Protocol

from bridge.errors import STORE_CONFLICT, STORE_UNAVAILABLE, SessionError

from ..logs import fields
from .chain import DEFAULT_MAX_DEPTH, ResponseSessionSnapshot, resolve_response_session_chain
from .conversations import ConversationStore
from .ids import is_storable
from .record import CorruptRecord, decode
from .session import StoredResponseSession

LOG = logging.getLogger("godex.sessions")

MAX_RENEWED = 10_000  # turns; the deepest chain that can be configured
RETRY_AFTER = 2  # seconds a client should wait while the store is away


class Unset(Enum):
    UNSET = "unset"  # None is an expectation of its own: "the first turn of a chain"


UNSET: Final = Unset.UNSET


class SessionStore(Protocol):
    """Keeps sessions by response id, for a limited time.

    A session of another owner is treated everywhere as if it were not there. So is a record that cannot be read: it is
    logged, and a chain that needs it is broken (CHAIN_NOT_FOUND).

    Every method may raise SessionError(STORE_UNAVAILABLE) when the store cannot be reached or written.
    """

    conversations: ConversationStore

    @abstractmethod
    def get_many(self, response_ids: Iterable[str], owner: str) -> dict[str, StoredResponseSession]:
        """Those of the sessions that there are, by id."""

    @abstractmethod
    def ancestry(self, response_id: str, owner: str, limit: int) -> Mapping[str, StoredResponseSession]:
        """The session and those before it, by id: as many, up to `limit`, as one look at the store yields.

        Empty only if the session itself is missing. Nothing is promised about links: the resolver checks them.
        """

    @abstractmethod
    def save(
        self,
        session: StoredResponseSession,
        *,
        overwrite: bool = False,
        expected_previous_response_id: str | None | Unset = UNSET,
    ) -> None:
        """Store a session for the whole time to live, and renew that of the turns before it.

        Raises SessionError(STORE_CONFLICT) when the id is taken and `overwrite` is not set, when it is taken by
        another owner, or when the session or the one it replaces has another parent than expected.
        """

    @abstractmethod
    def delete(self, response_id: str, owner: str) -> bool:
        """Whether there was such a session."""

    @abstractmethod
    def list_children(self, response_id: str, owner: str) -> list[StoredResponseSession]:
        """The sessions that continue this one, oldest first."""

    @abstractmethod
    def setting(self, name: str, make: Callable[[], bytes]) -> bytes:
        """A value shared by all processes on this store: made by whoever asks first, then the same for ever."""

    @abstractmethod
    def remember(self, values: Mapping[str, bytes], ttl: float) -> None:
        """Keep these values by name for `ttl` seconds, in one round trip; what has such a name is replaced."""

    @abstractmethod
    def recall(self, names: Iterable[str]) -> dict[str, bytes]:
        """Those of the values that there still are, by name, in one round trip."""

    @abstractmethod
    def ping(self) -> None:
        """Returns when the store can be reached."""

    @abstractmethod
    def purge(self) -> int:
        """Remove what has outlived its time and return how many that were. Stores do so by themselves now and then."""

    @abstractmethod
    def close(self, timeout: float = 5.0) -> None:
        """Let go of connections; `timeout` in seconds."""

    def get(self, response_id: str, owner: str) -> StoredResponseSession | None:
        return self.get_many((response_id,), owner).get(response_id) if is_storable(response_id) else None

    def resolve_chain(
        self,
        previous_response_id: str,
        *,
        owner: str,
        max_depth: int = DEFAULT_MAX_DEPTH,
        include_incomplete: bool = False,
        known: Mapping[str, StoredResponseSession] | None = None,
    ) -> ResponseSessionSnapshot:
        """The chain that ends in this response; `known` turns are not looked up.

        Raises what `resolve_response_session_chain` raises.
        """
        seen: dict[str, StoredResponseSession] = dict(known or {})

        def get(response_id: str) -> StoredResponseSession | None:
            if response_id not in seen and is_storable(response_id):
                seen.update(self.ancestry(response_id, owner, max(1, max_depth)))
            return seen.get(response_id)

        return resolve_response_session_chain(previous_response_id, get, max_depth, include_incomplete)


class Occupant(NamedTuple):
    """What already stands under the id of a session that is to be saved."""

    owner: str
    previous_response_id: str | None


def refuse_conflict(
    session: StoredResponseSession,
    occupant: Occupant | None,
    *,
    overwrite: bool,
    expected_previous_response_id: str | None | Unset,
) -> None:
    """The conflict rule of `SessionStore.save`."""
    if occupant is not None and not (overwrite and occupant.owner == session.owner):
        raise conflict(session, "is stored already")
    if expected_previous_response_id is not UNSET:
        parents = {session.previous_response_id, *((occupant.previous_response_id,) if occupant else ())}
        if parents != {expected_previous_response_id}:
            raise conflict(session, "continues another response than expected")


def conflict(session: StoredResponseSession, problem: str) -> SessionError:
    return SessionError(
        STORE_CONFLICT,
        f"Response '{session.id}' {problem}.",
        responseId=session.id,
        previousResponseId=session.previous_response_id,
    )


def unavailable(store: str, reason: str) -> SessionError:
    """`reason` may name hosts and paths: it is for the log."""
    return SessionError(
        STORE_UNAVAILABLE,
        "The session store cannot be used at the moment. Try again shortly.",
        retry_after=RETRY_AFTER,
        store=store,
        reason=reason,
    )


def readable(
    records: Iterable[tuple[str, bytes]], owner: str | None, *, check_rest: bool = False
) -> dict[str, StoredResponseSession]:
    """The sessions in these (id, record) pairs that belong to `owner` (None: to anyone) and can be read, by id."""
    sessions = {}
    for response_id, record in records:
        try:
            session = decode(record, check_rest=check_rest)
            if session.id != response_id:
                raise CorruptRecord(f"holds {session.id!r}")
        except CorruptRecord as error:
            LOG.error("stored response cannot be read", extra=fields(response_id=response_id, reason=str(error)))
            continue
        if owner is None or session.owner == owner:
            sessions[response_id] = session
    return sessions
