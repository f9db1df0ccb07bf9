"""Sessions in Redis: for several workers and replicas. Commands of Redis 6.2 only.

One key per response, with a time to live. All keys of a chain share a hash tag, so that a cluster keeps them on one
node. Each value names its ancestors: a chain of up to 65 turns is read in two round trips, GET and MGET. What the
values say about their parents is still checked link by link; the names only tell what to fetch.
"""

from __future__ import annotations

import hashlib
import secrets
import struct
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from typing import Any, TypeVar

import zstandard
from redis import exceptions

from ..logs import fields
from .ids import chain_tag, from_parts, secret_part
from .record import encode
from .redis_client import Client, check_url, connect, disconnect, forget_idle
from .redis_compression import compressed, decompressed
from .redis_conversations import RedisConversations
from .session import StoredResponseSession
from .store import (
    LOG,
    MAX_RENEWED,
    UNSET,
    Occupant,
    SessionStore,
    Unset,
    conflict,
    readable,
    refuse_conflict,
    unavailable,
)

T = TypeVar("T")

MAX_ANCESTORS = 64  # named by one value; a deeper chain takes two more round trips per 64 turns
OVERWRITE_ATTEMPTS = 3

ERRORS = (exceptions.RedisError, exceptions.RedisClusterException, OSError)
PASSING_ERRORS = (exceptions.ConnectionError, exceptions.TimeoutError, exceptions.ReadOnlyError)

HEAD = struct.Struct(">IH8s")  # see save.lua
ANCESTOR_SIZE = 16

SAVE = files(__package__).joinpath("save.lua").read_text()
RENEW = "for _, key in ipairs(KEYS) do redis.call('EXPIRE', key, ARGV[1]) end"


class RedisStore(SessionStore):
    """`url` as in redis_client, `prefix` of all keys, `ttl` in seconds. Connects at first use.

    Raises ServerError CONFIG_INVALID at once for a URL that cannot be right.
    """

    def __init__(
        self, url: str, *, prefix: str, ttl: float, max_connections: int, clock: Callable[[], float] = time.time
    ) -> None:
        check_url(url)
        self._url = url
        self._prefix = prefix
        self._ttl = max(1, round(ttl))
        self._max_connections = max_connections
        self._clock = clock
        self._client: Client | None = None
        self.conversations = RedisConversations(self._ask, prefix=prefix, ttl=self._ttl)

    def get_many(self, response_ids: Iterable[str], owner: str) -> dict[str, StoredResponseSession]:
        chains: dict[str, list[str]] = defaultdict(list)  # a cluster answers one MGET for one hash tag
        for response_id in response_ids:
            chains[chain_tag(response_id)].append(response_id)
        found = self._ask(lambda client: [pair for wanted in chains.values() for pair in self._fetch(client, wanted)])
        return readable(found, owner, check_rest=True)

    def ancestry(self, response_id: str, owner: str, limit: int) -> dict[str, StoredResponseSession]:
        def read(client: Any) -> list[tuple[str, bytes]]:
            value = client.get(self._key(response_id))
            if value is None:
                return []
            ancestors = [from_parts(chain_tag(response_id), secret) for secret in ancestors_of(value)]
            wanted = ancestors[max(0, len(ancestors) - limit + 1) :]
            newest = (response_id, record_of(value, zstandard.ZstdDecompressor()))
            return [newest, *(self._fetch(client, wanted) if wanted else ())]

        return readable(self._ask(read), owner)

    def save(
        self,
        session: StoredResponseSession,
        *,
        overwrite: bool = False,
        expected_previous_response_id: str | None | Unset = UNSET,
    ) -> None:
        record = compressed(encode(session))
        mark = secrets.token_bytes(8)

        def write(client: Any) -> bool:
            present = client.get(self._key(session.id)) if overwrite else None
            refuse_conflict(
                session,
                occupant_of(session.id, present) if present else None,
                overwrite=overwrite,
                expected_previous_response_id=expected_previous_response_id,
            )
            return self._write(client, session, record, mark, present)

        if not any(self._ask(write) for _ in range(OVERWRITE_ATTEMPTS if overwrite else 1)):
            raise conflict(session, "is stored already")

    def delete(self, response_id: str, owner: str) -> bool:
        session = self.get(response_id, owner)
        if session is None:
            return False

        def remove(client: Any) -> None:
            client.unlink(self._key(response_id))
            if session.previous_response_id:
                client.hdel(self._links_key(session.previous_response_id), response_id)

        self._ask(remove)
        return True

    def list_children(self, response_id: str, owner: str) -> list[StoredResponseSession]:
        links: dict[bytes, bytes] = self._ask(lambda client: client.hgetall(self._links_key(response_id)))
        children = [child.decode() for child, parent in links.items() if parent.decode() == response_id]
        return sorted(self.get_many(children, owner).values(), key=lambda session: session.created_at)

    def setting(self, name: str, make: Callable[[], bytes]) -> bytes:
        key = f"{self._prefix}:setting:{name}"
        value = self._ask(lambda client: client.get(key))
        if value is None:
            offer = make()
            self._ask(lambda client: client.set(key, offer, nx=True))
            value = self._ask(lambda client: client.get(key))
        return bytes(value)

    def remember(self, values: Mapping[str, bytes], ttl: float) -> None:
        def write(client: Any) -> None:
            with client.pipeline(transaction=False) as pipeline:  # of a cluster's nodes each takes its share
                for name, value in values.items():
                    pipeline.set(self._memory_key(name), value, ex=max(1, round(ttl)))
                pipeline.execute()

        self._ask(write)

    def recall(self, names: Iterable[str]) -> dict[str, bytes]:
        wanted = list(names)

        def read(client: Any) -> list[bytes | None]:
            with client.pipeline(transaction=False) as pipeline:
                for name in wanted:
                    pipeline.get(self._memory_key(name))
                answers: list[bytes | None] = pipeline.execute()
                return answers

        found = zip(wanted, self._ask(read) if wanted else (), strict=True)
        return {name: value for name, value in found if value is not None}

    def ping(self) -> None:
        self._ask(lambda client: client.ping())

    def purge(self) -> int:
        return 0  # Redis removes what has expired

    def close(self, timeout: float = 5.0) -> None:
        if self._client is not None:
            disconnect(self._client)

    def _ask(self, question: Callable[[Any], T]) -> T:
        """The answer of the server; asked once more when it was gone, silent, or the master no longer.

        So all questions are such that asking twice does no harm. The client is typed Any because redis-py's answers are
        typed as perhaps awaitable.
        """
        try:
            if self._client is None:  # of two that come here at once, one client is dropped unused
                self._client = connect(self._url, self._max_connections)
            try:
                return question(self._client)
            except PASSING_ERRORS:
                forget_idle(self._client)
                return question(self._client)
        except ERRORS as error:
            raise unavailable("redis", f"{type(error).__name__}: {error}") from error

    def _fetch(self, client: Any, response_ids: list[str]) -> list[tuple[str, bytes]]:
        """(id, record) of those there are. All ids of one chain."""
        values = client.mget([self._key(response_id) for response_id in response_ids])
        decompressor = zstandard.ZstdDecompressor()  # of this thread, and cheaper than one for each value
        return [
            (response_id, record_of(value, decompressor))
            for response_id, value in zip(response_ids, values, strict=True)
            if value is not None
        ]

    def _write(
        self, client: Any, session: StoredResponseSession, record: bytes, mark: bytes, present: bytes | None
    ) -> bool:
        """False when something else stands under the id than `present`."""
        tag = chain_tag(session.id)
        parent = session.previous_response_id
        near = parent if parent is not None and chain_tag(parent) == tag else None  # on the same node of a cluster
        due = client.eval(
            SAVE,
            3,
            self._key(session.id),
            self._key(near or session.id),
            self._links_key(session.id),
            hashlib.sha1(present).hexdigest() if present else "",
            mark,
            (secret_part(near) if near else None) or b"",
            record,
            int(self._clock()),
            self._ttl,
            self._ttl // 10,
            MAX_ANCESTORS,
            session.id,
            near or "",
        )
        if due is None:
            return False
        if parent is not None and near is None:
            client.hset(self._links_key(parent), session.id, parent)
            client.expire(self._links_key(parent), self._ttl)
        if due:
            self._renew(client, tag, sixteens(due))
        return True

    def _renew(self, client: Any, tag: str, ancestors: list[bytes]) -> None:
        """Give these turns of a chain, and those before them, their whole time to live again."""
        try:
            for _ in range(MAX_RENEWED // MAX_ANCESTORS):
                keys = [self._key(from_parts(tag, secret)) for secret in ancestors]
                client.eval(RENEW, len(keys), *keys, self._ttl)
                ancestors = ancestors_of(client.getrange(keys[0], 0, HEAD.size + ANCESTOR_SIZE * MAX_ANCESTORS - 1))
                if not ancestors:
                    break
        except ERRORS as error:  # the response itself is stored, and a later turn renews the chain
            LOG.warning("time to live of a chain not renewed", extra=fields(reason=str(error)))

    def _key(self, response_id: str) -> str:
        return f"{self._prefix}:{{{chain_tag(response_id)}}}:{response_id}"

    def _memory_key(self, name: str) -> str:
        return f"{self._prefix}:memory:{name}"

    def _links_key(self, response_id: str) -> str:
        return f"{self._prefix}:{{{chain_tag(response_id)}}}:links"


def record_of(value: bytes, decompressor: zstandard.ZstdDecompressor) -> bytes:
    """The record in a value; bytes that are no record when the value is damaged."""
    if len(value) < HEAD.size:
        return b""
    _, count, _ = HEAD.unpack_from(value)
    return decompressed(value[HEAD.size + ANCESTOR_SIZE * count :], decompressor)


def ancestors_of(value: bytes) -> list[bytes]:
    """The secret parts of the ancestors' ids, oldest first."""
    if len(value) < HEAD.size:
        return []
    _, count, _ = HEAD.unpack_from(value)
    return sixteens(value[HEAD.size : HEAD.size + ANCESTOR_SIZE * count])


def sixteens(names: bytes) -> list[bytes]:
    return [names[at : at + ANCESTOR_SIZE] for at in range(0, len(names), ANCESTOR_SIZE)]


def occupant_of(response_id: str, value: bytes) -> Occupant | None:
    """None also for a value that cannot be read: it may be replaced."""
    record = record_of(value, zstandard.ZstdDecompressor())
    session = readable([(response_id, record)], None).get(response_id)
    return Occupant(session.owner, session.previous_response_id) if session else None
