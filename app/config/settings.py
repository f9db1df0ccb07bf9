"""Sections of the configuration in the shape in which the parts of the gateway take them."""

from __future__ import annotations

from dataclasses import asdict

from providers.settings import ClientSettings

from ..sessions.settings import MIB, SessionSettings
from .model import ProviderConfig, SessionConfig


def client_settings(provider: ProviderConfig) -> ClientSettings:
    """Secrets in the clear: for the transport only."""
    return ClientSettings(
        base_url=provider.endpoint.base_url,
        path=provider.endpoint.path,
        api_keys=tuple(key.reveal() for key in provider.credentials.api_keys),
        headers={name: value.reveal() for name, value in provider.headers.items()},
        **asdict(provider.timeouts),
        **asdict(provider.retry),
        pool_size=provider.pool_size,
        proxy=provider.proxy,
        ca_bundle=provider.ca_bundle,
    )


def session_settings(session: SessionConfig) -> SessionSettings:
    return SessionSettings(
        backend=session.backend,
        ttl=session.ttl,
        max_depth=session.max_depth,
        include_incomplete=session.include_incomplete,
        instructions=session.instructions,
        sqlite_path=session.sqlite.path,
        redis_url=session.redis.url,
        redis_prefix=session.redis.prefix,
        redis_connections=session.redis.connections,
        memory_max_count=session.memory.max_count,
        memory_max_bytes=int(session.memory.max_mb * MIB),
        on_save_error=session.on_save_error,
        spool_max_count=session.spool.max_count,
        spool_max_bytes=int(session.spool.max_mb * MIB),
    )
