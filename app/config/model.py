"""godex.yaml as frozen values. Field names are the file's keys, field defaults are the file's defaults.

Times are seconds, sizes are MB (1,048,576 bytes). Mappings keep the order of the file.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from bridge.spec import ProviderSpec

from .secret import Secret

SessionBackend = Literal["memory", "sqlite", "redis"]
Instructions = Literal["replay", "current"]
OnSaveError = Literal["warn", "fail"]
UnknownItems = Literal["text", "drop", "reject"]
ReasoningStream = Literal["summary", "raw"]
LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["auto", "json", "text"]

DAY = 24 * 60 * 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    host: str = "127.0.0.1"  # an address, a name, or "unix:/path/of/a/socket"
    port: int = 5678
    workers: int = 2
    connections: int = 1000  # open at once in one worker, streams and idle ones together
    websockets: bool = True  # GET /v1/responses with an upgrade; off = 426
    heartbeat: float = 10.0  # a comment on silent streams; also how soon a lost client is noticed
    max_body_mb: float = 64.0  # after decompression
    graceful_timeout: float = 120.0  # how long running streams may go on after TERM or HUP
    trusted_proxies: tuple[str, ...] = ("127.0.0.1", "::1")  # whose X-Forwarded-* headers count: addresses, networks

    @property
    def on_loopback(self) -> bool:
        """Nobody outside this machine can connect."""
        return is_loopback(self.host)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLimits:
    """What one API key may use; None = no limit."""

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrent: int | None = None  # requests in progress at once


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key that clients may use. Only its SHA-256 (hex, lower case) is kept."""

    name: str
    sha256: str = field(repr=False)
    limits: KeyLimits = KeyLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthConfig:
    keys: tuple[ApiKey, ...] = ()
    keys_file: str | None = None  # more of them, read again when it changes
    open: bool = False  # no keys although others can connect
    seal_keys: tuple[Secret, ...] = ()  # the first seals, all of them unseal; none = made once, kept in the store

    @property
    def has_keys(self) -> bool:
        """Whether callers need one."""
        return bool(self.keys or self.keys_file)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelsConfig:
    aliases: Mapping[str, str] = field(default_factory=dict)  # name → "provider/model"; "*" = any other name
    fallbacks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # "provider/model" → others, in order


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """The keys for one upstream: its own, tried in turn, or the one that the client sent (passthrough)."""

    api_keys: tuple[Secret, ...] = ()
    passthrough: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where the upstream is; None = what its spec says. Requests go to base_url + path."""

    base_url: str | None = field(default=None, repr=False)  # either may hold a key in its query
    path: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    connect: float = 5.0
    first_byte: float = 120.0
    idle: float = 120.0  # silence between two reads
    total: float = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    attempts: int = 3  # all attempts together; 1 = never again
    budget: float = 30.0  # seconds for all attempts and the waits between them


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderConfig:
    spec: str
    credentials: Credentials = Credentials()
    endpoint: Endpoint = Endpoint()
    headers: Mapping[str, Secret] = field(default_factory=dict)  # sent with every call; values may be keys
    capabilities: Mapping[str, Any] = field(default_factory=dict)  # fields of bridge.spec.Capabilities
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # wildcard → such fields
    timeouts: Timeouts = Timeouts()
    retry: Retry = Retry()
    pool_size: int = 200  # connections kept open by one worker
    proxy: str | None = field(default=None, repr=False)  # URL; the environment's proxies are not looked at
    ca_bundle: str | None = None  # PEM file to trust instead of the usual authorities

    def applied_to(self, spec: ProviderSpec) -> ProviderSpec:
        """The built-in spec with this section's capabilities laid over it.

        They also stand after the spec's own model rows, which would win over them otherwise; the section's model rows
        come last.
        """
        return replace(
            spec,
            capabilities=replace(spec.capabilities, **self.capabilities),
            models=(*spec.models, ("*", self.capabilities), *self.models.items()),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryStoreConfig:
    max_count: int = 10_000  # responses
    max_mb: float = 256.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteStoreConfig:
    path: str = "./data/sessions.db"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisStoreConfig:
    url: str = field(default="redis://localhost:6379/0", repr=False)  # may hold a password
    prefix: str = "godex"
    connections: int = 64  # of one worker, at most


@dataclass(frozen=True, slots=True, kw_only=True)
class SpoolConfig:
    """Responses that wait in a worker's memory while the store is away."""

    max_count: int = 1_000
    max_mb: float = 64.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionConfig:
    backend: SessionBackend = "sqlite"
    memory: MemoryStoreConfig = MemoryStoreConfig()
    sqlite: SqliteStoreConfig = SqliteStoreConfig()
    redis: RedisStoreConfig = RedisStoreConfig()
    ttl: float = 30 * DAY
    max_depth: int = 64  # turns of one chain
    include_incomplete: bool = False  # may a chain go on from an incomplete response
    instructions: Instructions = "replay"  # earlier turns' instructions: sent again, or only the present ones
    on_save_error: OnSaveError = "warn"  # warn: a failed save waits in the spool; fail: the request fails too
    spool: SpoolConfig = SpoolConfig()


@dataclass(frozen=True, slots=True, kw_only=True)
class InputConfig:
    unknown_items: UnknownItems = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompatConfig:
    strict: bool = False  # what would be degraded or ignored is rejected


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputConfig:
    repair: int = 1  # rounds in which a model may mend an answer that broke its output contract


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningConfig:
    stream: ReasoningStream = "summary"
    memory: float = 6 * 60 * 60.0  # how long reasoning is kept for clients that do not send it back; 0 = not at all


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceConfig:
    enabled: bool = True
    path: str = "./data/trace.db"
    capture_payload: bool = False
    max_queue_size: int = 10_000  # records
    batch_size: int = 500
    flush_interval: float = 1.0
    retention: float = 30 * DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggingConfig:
    level: LogLevel = "info"
    format: LogFormat = "auto"  # auto: text on a terminal, else JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    server: ServerConfig = ServerConfig()
    auth: AuthConfig = AuthConfig()
    default_provider: str = ""
    models: ModelsConfig = ModelsConfig()
    providers: Mapping[str, ProviderConfig] = field(default_factory=dict)
    session: SessionConfig = SessionConfig()
    input: InputConfig = InputConfig()
    compat: CompatConfig = CompatConfig()
    output: OutputConfig = OutputConfig()
    reasoning: ReasoningConfig = ReasoningConfig()
    diagnostics: bool = False  # every reply carries its full list of diagnostics
    trace: TraceConfig = TraceConfig()
    logging: LoggingConfig = LoggingConfig()

    # Facts about this config, not keys of the file.
    source: str = ""  # where it was read: a path, "environment", "mapping"
    unsupported: frozenset[str] = frozenset()  # configured providers whose spec is unknown; /health lists them


def is_loopback(host: str) -> bool:
    """Whether a listening address reaches only this machine. Names other than localhost count as outside."""
    if host == "localhost" or host.startswith("unix:"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
