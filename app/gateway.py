"""What lives as long as the process: configuration, resolver, providers, store, keys, trace. One per app."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, cast

from bridge.errors import PROVIDER_NOT_REGISTERED, ServerError
from providers.client import Client
from providers.registry import Provider, builtin_specs, connect

from .config.keys import KeyRing
from .config.model import Config, ProviderConfig
from .config.settings import client_settings, session_settings
from .http.outbox import Heart
from .limits.limiter import Limiter
from .resolver import ModelResolver
from .sealing import Sealer, new_secret
from .sessions.factory import open_store
from .sessions.store import SessionStore
from .spans import spans
from .trace.recorder import NullRecorder, Recorder, TraceRecorder

if TYPE_CHECKING:
    from .limits.ledger import Ledger

SEAL_SETTING = "seal_key"


class Gateway:
    """Nothing is opened before it is used: workers are forked first, sockets and files come after."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.resolver = ModelResolver(
            config.models.aliases,
            config.default_provider,
            config.providers.keys() - config.unsupported,
            config.unsupported,
        )
        self.trace: Recorder = TraceRecorder(config.trace, _keys(config)) if config.trace.enabled else NullRecorder()
        self.heart = Heart(config.server.heartbeat)
        self.keys = KeyRing(config.auth)
        self.limiter = Limiter(self._open_ledger, self._count_limited)
        self._providers: dict[str, Provider] = {}
        self._lock = threading.RLock()  # a provider is connected with the store at hand
        self.opened_store: SessionStore | None = None

    @property
    def store(self) -> SessionStore:
        if self.opened_store is None:
            from .metrics import TimedStore  # the master, which checks configurations, must not import it

            with self._lock:  # two stores in memory would each know half of the conversations
                if self.opened_store is None:
                    opened = TimedStore(open_store(session_settings(self.config.session)))
                    self.opened_store = cast(SessionStore, opened)
        return self.opened_store

    @property
    def clients(self) -> Mapping[str, Client]:
        """By provider, as far as they were used already."""
        return {name: provider.client for name, provider in tuple(self._providers.items())}

    def _open_ledger(self) -> Ledger:
        from .limits.ledger import open_ledger  # redis, in it, must not be imported by the master

        return open_ledger(self.config.session)

    def _count_limited(self, key: str, limit: str) -> None:
        from .metrics import metrics

        metrics().limited(key, limit)

    def look_after(self, lag: float | None = None) -> None:
        """Once a second. lag: seconds by which the event loop was late."""
        from .metrics import metrics

        metrics().sample(self, lag)

    @cached_property
    def sealer(self) -> Sealer:
        """Keys from the configuration, else one that is made once and kept in the store, for all replicas."""
        secrets = [key.reveal().encode() for key in self.config.auth.seal_keys]
        return Sealer(secrets or [self.store.setting(SEAL_SETTING, new_secret)])

    def provider(self, name: str) -> Provider:
        """Raises ServerError PROVIDER_NOT_REGISTERED."""
        provider = self._providers.get(name)
        if provider is None:
            section = self.config.providers.get(name)
            if section is None or name in self.config.unsupported:
                raise ServerError(
                    PROVIDER_NOT_REGISTERED, f"provider {name!r} is not registered; see GET /health", param="model"
                )
            with self._lock:  # who waited for it finds what the first has made
                provider = self._providers.get(name)
                if provider is None:
                    provider = self._providers[name] = self._connect(name, section)
        return provider

    def _connect(self, name: str, section: ProviderConfig) -> Provider:
        from .metrics import metrics

        shared = None if self.config.session.backend == "memory" else self.store  # memory: there is one worker
        spec = section.applied_to(builtin_specs()[section.spec])
        retried = partial(metrics().upstream_retried, name)
        return connect(name, spec, client_settings(section), shared, retried)

    def model_names(self, provider: str) -> list[str]:
        """The models of a provider that can be named: patterns without a wildcard, aliases' and fallbacks' targets."""
        section = self.config.providers[provider]
        spec = builtin_specs()[section.spec]
        names = [spec.default_model, *(pattern for pattern, _ in spec.models), *section.models]
        targets = [*self.config.models.aliases.values(), *self.config.models.fallbacks]
        names += [target.partition("/")[2] for target in targets if target.startswith(f"{provider}/")]
        return list(dict.fromkeys(name for name in names if name and not set(name) & set("*?[")))

    @property
    def registered(self) -> Mapping[str, str]:
        """provider name → spec name, of those that can be used."""
        return {
            name: section.spec for name, section in self.config.providers.items() if name not in self.config.unsupported
        }

    def close(self, timeout: float = 5.0) -> None:
        """Let go of connections and write what still waits, which may take `timeout` seconds."""
        self.trace.close(timeout / 2)
        self.limiter.close()
        spans().close(timeout / 4)
        for provider in self._providers.values():
            provider.client.close()
        if self.opened_store is not None:
            self.opened_store.close(timeout)


def _keys(config: Config) -> tuple[str, ...]:
    """Every key that is sent upstream."""
    return tuple(
        secret.reveal()
        for provider in config.providers.values()
        for secret in (*provider.credentials.api_keys, *provider.headers.values())
    )
