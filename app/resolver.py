"""The model a client asked for → provider and upstream model (design section 7, in that order)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from bridge.errors import MODEL_NOT_FOUND, PROVIDER_NOT_REGISTERED, ServerError


@dataclass(frozen=True, slots=True)
class Target:
    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}"

    @classmethod
    def named(cls, name: str) -> Target:
        """ "provider/model", as aliases and fallbacks write it; a model's name may hold further slashes."""
        provider, _, model = name.partition("/")
        return cls(provider, model)


class ModelResolver:
    """1. exact alias  2. provider/model, split at the first "/"  3. the alias "*"  4. the default provider"""

    def __init__(
        self,
        aliases: Mapping[str, str],
        default_provider: str,
        providers: Collection[str],
        unsupported: Collection[str] = (),
    ) -> None:
        self._aliases = aliases
        self._default = default_provider
        self._providers = providers
        self._unsupported = unsupported

    def resolve(self, model: str) -> Target:
        """Raises ServerError PROVIDER_NOT_REGISTERED or MODEL_NOT_FOUND, param "model"."""
        if model in self._aliases:
            return Target.named(self._aliases[model])
        provider, slash, name = model.partition("/")
        if slash and name and provider in self._providers:
            return Target(provider, name)
        if slash and provider in self._unsupported:
            raise ServerError(
                PROVIDER_NOT_REGISTERED,
                f"the spec of provider {provider!r} is not known to this version; see /health",
                param="model",
            )
        if "*" in self._aliases:
            return Target.named(self._aliases["*"])
        if self._default:
            return Target(self._default, model)
        raise ServerError(
            MODEL_NOT_FOUND,
            f"no alias and no provider is configured for model {model!r}; GET /v1/models lists what there is",
            param="model",
        )
