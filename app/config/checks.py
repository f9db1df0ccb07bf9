"""Rules that tie several keys together: names that must exist, doors that must not stand open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from bridge.spec import ProviderSpec

from .hints import Problem, did_you_mean
from .keys import read_keys
from .model import Config, ProviderConfig


def contradictions(config: Config, specs: Mapping[str, ProviderSpec]) -> Iterator[Problem]:
    """Everything wrong in a config whose keys are each well-formed. `specs` are the built-in ones, by name."""
    if not config.providers:
        yield Problem("providers", _no_provider(specs))
        return
    yield from _names(config, specs)
    for name, provider in config.providers.items():
        if provider.spec in specs:
            yield from _reachable(f"providers.{name}", provider, specs[provider.spec])
    yield from _doors(config)
    if config.session.backend == "memory" and config.server.workers > 1:
        yield Problem(
            "session.backend", "memory is not shared between workers: use sqlite or redis, or server.workers: 1"
        )


def _no_provider(specs: Mapping[str, ProviderSpec]) -> str:
    variables = sorted({spec.api_key_env for spec in specs.values() if spec.api_key_env})
    return (
        "none is configured. Write a godex.yaml (`godex init` does), or set a key in the environment"
        f" ({', '.join(variables)}), or use the demo, which needs no key:"
        " `godex serve --demo`, or `godex init --yes` for a file"
    )


def _names(config: Config, specs: Mapping[str, ProviderSpec]) -> Iterator[Problem]:
    """Unknown specs are fatal only where requests are bound to arrive; elsewhere /health lists them."""
    needed = {config.default_provider: "default_provider"}  # provider → the first key that needs it
    if config.default_provider not in config.providers:
        yield _no_such_provider("default_provider", config.default_provider, config)
    for path, target in _targets(config):
        provider, slash, model = target.partition("/")
        if not (provider and slash and model):
            yield Problem(path, f"must read provider/model, such as {config.default_provider}/{target or 'name'}")
        elif provider not in config.providers:
            yield _no_such_provider(path, provider, config)
        else:
            needed.setdefault(provider, path)
    for provider, path in needed.items():
        spec = config.providers[provider].spec if provider in config.providers else None
        if spec is not None and spec not in specs:
            hint = did_you_mean(spec, specs) or f"; known: {', '.join(sorted(specs))}"
            yield Problem(f"providers.{provider}.spec", f"unknown spec '{spec}', needed by {path}{hint}")


def _no_such_provider(path: str, provider: str, config: Config) -> Problem:
    return Problem(path, f"no provider is called '{provider}'{did_you_mean(provider, config.providers)}")


def _targets(config: Config) -> Iterator[tuple[str, str]]:
    for alias, target in config.models.aliases.items():
        yield f"models.aliases.{alias}", target
    for asked, others in config.models.fallbacks.items():
        yield f"models.fallbacks.{asked}", asked
        for place, other in enumerate(others):
            yield f"models.fallbacks.{asked}[{place}]", other


def _reachable(path: str, provider: ProviderConfig, spec: ProviderSpec) -> Iterator[Problem]:
    if not (provider.endpoint.base_url or spec.base_url):
        yield Problem(f"{path}.endpoint.base_url", f"is required: spec {spec.name} has no address of its own")
    own_header = spec.auth_header.lower() in {header.lower() for header in provider.headers}
    if spec.needs_key and not (provider.credentials.api_keys or provider.credentials.passthrough or own_header):
        variable = spec.api_key_env or "MY_API_KEY"
        yield Problem(f"{path}.credentials", f"a key is needed: {{api_key: ${{{variable}}}}}, or passthrough: true")


def _doors(config: Config) -> Iterator[Problem]:
    if config.auth.open and config.auth.has_keys:
        beside = "auth.keys" if config.auth.keys else "auth.keys_file"
        yield Problem("auth.open", f"stands beside {beside}: keep one of them")
    if config.auth.keys_file:
        try:
            read_keys(config.auth.keys_file)
        except ValueError as error:
            yield Problem("auth.keys_file", str(error))
    if not (config.auth.has_keys or config.auth.open or config.server.on_loopback):
        yield Problem(
            "auth.keys",
            f"none, but server.host {config.server.host} can be reached from outside: add a key"
            " (keys: [${GODEX_API_KEY}]), listen on 127.0.0.1, or say auth.open: true",
        )
    for kind in ("name", "sha256"):
        twice = [count for count in Counter(getattr(key, kind) for key in config.auth.keys).values() if count > 1]
        if twice:
            yield Problem("auth.keys", "two keys have the same name" if kind == "name" else "one key stands here twice")
            return
