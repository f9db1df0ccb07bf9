"""A Redis client from a URL: one server, Sentinel or Cluster, with bounds on every wait.

    redis://[user:password@]host:port/db        rediss:// for TLS
    unix:///path/to/socket?db=0
    redis+sentinel://[user:password@]host:port,host:port/service/db     ?sentinel_username=…&sentinel_password=…
    redis+cluster://[user:password@]host:port,host:port                 rediss+sentinel://, rediss+cluster:// for TLS

Query parameters are redis-py's connection options (socket_timeout=2, ssl_ca_certs=…) and win over those given here.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import SplitResult, urlsplit, urlunsplit

from redis import BlockingConnectionPool, Redis, RedisCluster
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode
from redis.connection import parse_url
from redis.retry import Retry
from redis.sentinel import Sentinel, SentinelConnectionPool

from bridge.errors import CONFIG_INVALID, ServerError

SOCKET_TIMEOUT = 1.0  # seconds, for connecting as for each read
POOL_TIMEOUT = 1.0  # seconds to wait for one of the pool's connections
DEFAULT_PORT = 6379
DEFAULT_SENTINEL_PORT = 26379

SCHEMES = frozenset(("redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster"))

Client = Redis | RedisCluster


class BlockingSentinelPool(SentinelConnectionPool, BlockingConnectionPool):
    """Connections to whoever is the master now; callers wait for a free one instead of failing at once."""


def check_url(url: str) -> None:
    """Raises ServerError CONFIG_INVALID, which does not repeat the URL: it may hold a password."""
    try:
        parts, scheme, kind = _split(url)
        login, hosts = _hosts(parts, DEFAULT_PORT)
        parse_url(_plain_url(scheme, login, *hosts[0], parts.path, parts.query))
        right = parts.scheme in SCHEMES and (kind != "sentinel" or _service(parts)[0] != "")
    except ValueError:
        right = False
    if not right:
        raise ServerError(
            CONFIG_INVALID,
            "session.redis.url must read redis://host:port/db, rediss://…, unix:///path, "
            "redis+sentinel://host:port,host:port/service/db or redis+cluster://host:port,host:port",
            param="session.redis.url",
        )


def connect(url: str, max_connections: int) -> Client:
    """A client for a URL that has been checked; `max_connections` of this process to one server.

    Only a cluster is asked something here (its map of slots), which raises what redis-py raises.
    """
    parts, scheme, kind = _split(url)
    options: dict[str, Any] = {
        "socket_timeout": SOCKET_TIMEOUT,
        "socket_connect_timeout": SOCKET_TIMEOUT,
        "max_connections": max_connections,
        "timeout": POOL_TIMEOUT,
        "protocol": 2,  # what is asked here gains nothing from RESP3, and its handshake costs a round trip
        "driver_info": None,  # the same for CLIENT SETINFO
        # The store asks again itself: redis-py would reconnect to the same address, also when Sentinel knows a new one.
        "retry": Retry(NoBackoff(), 0),
    }
    if kind == "cluster":
        return _cluster(parts, scheme, options)
    if kind == "sentinel":
        return _behind_sentinel(parts, scheme, options)
    return Redis(connection_pool=BlockingConnectionPool.from_url(url, **options))


def forget_idle(client: Client) -> None:
    """Close the pooled connections that nobody uses: they may lead to a server that was the master once."""
    if isinstance(client, Redis):  # a cluster's client does this by itself
        client.connection_pool.disconnect(inuse_connections=False)


def disconnect(client: Client) -> None:
    """Close every connection: a client does not do so by itself with a pool that it was given."""
    client.close()
    if isinstance(client, Redis):
        client.connection_pool.disconnect()


def _behind_sentinel(parts: SplitResult, scheme: str, options: dict[str, Any]) -> Redis:
    service, database = _service(parts)
    login, hosts = _hosts(parts, DEFAULT_SENTINEL_PORT)
    given = parse_url(_plain_url(scheme, login, *hosts[0], f"/{database}", parts.query))
    given.pop("connection_class", None)
    sentinel_options = {
        "username": given.pop("sentinel_username", None),
        "password": given.pop("sentinel_password", None),
    }
    options |= {name: value for name, value in given.items() if name not in ("host", "port")}
    options["ssl"] = scheme == "rediss"
    for_both = {
        name: options[name] for name in options if name.startswith(("socket_", "ssl", "driver_", "proto", "retry"))
    }
    sentinel = Sentinel(hosts, sentinel_kwargs={**for_both, **sentinel_options})
    return sentinel.master_for(service, connection_pool_class=BlockingSentinelPool, **options)


def _cluster(parts: SplitResult, scheme: str, options: dict[str, Any]) -> RedisCluster:
    login, hosts = _hosts(parts, DEFAULT_PORT)
    return RedisCluster(
        url=_plain_url(scheme, login, *hosts[0], "", parts.query),
        startup_nodes=[ClusterNode(host, port) for host, port in hosts[1:]],
        connection_pool_class=BlockingConnectionPool,
        **options,
    )


def _split(url: str) -> tuple[SplitResult, str, str]:
    """The URL's parts, its scheme as redis-py knows it, and what stands behind it: "", "sentinel" or "cluster"."""
    parts = urlsplit(url)
    scheme, _, kind = parts.scheme.partition("+")
    return parts, scheme, kind


def _service(parts: SplitResult) -> tuple[str, str]:
    """Name and database of /service/0."""
    service, _, database = parts.path.strip("/").partition("/")
    return service, database


def _hosts(parts: SplitResult, default_port: int) -> tuple[str, list[tuple[str, int]]]:
    """user:password@, and the (host, port) pairs. `[::1]:6379` is an IPv6 address."""
    login, at, names = parts.netloc.rpartition("@")
    hosts = []
    for name in filter(None, names.split(",")):
        one = urlsplit(f"//{name}")
        hosts.append((one.hostname or "localhost", one.port or default_port))
    return login + at, hosts or [("localhost", default_port)]


def _plain_url(scheme: str, login: str, host: str, port: int, path: str, query: str) -> str:
    name = f"[{host}]" if ":" in host else host
    return urlunsplit((scheme, f"{login}{name}:{port}", path, query, ""))
