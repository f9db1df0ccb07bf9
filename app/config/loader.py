"""Where the configuration comes from, and what is made of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from marshmallow import ValidationError

from bridge.errors import CONFIG_INVALID, ServerError
from bridge.spec import ProviderSpec

from .checks import contradictions
from .hints import Problem, problems_of
from .model import Config
from .schema import CONFIG_FILE
from .text import expand, parse_yaml

Source = Config | Mapping[str, Any] | str | Path | None

PLACES = ("./godex.yaml", "~/.config/godex/config.yaml")


def load_config(
    source: Source = None,
    *,
    overrides: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    specs: Mapping[str, ProviderSpec] | None = None,
) -> Config:
    """The checked configuration.

    source     a path; a mapping with godex.yaml's keys (for a host application); None = $GODEX_CONFIG, ./godex.yaml,
               ~/.config/godex/config.yaml, and without any of them the environment alone; a Config is returned as it is
    overrides  keys laid over those of the source, such as {"server": {"port": 8080}}
    environ    for ${NAME}, $GODEX_CONFIG and well-known key variables; os.environ when None
    specs      the upstreams that can be named by `spec`; those of providers.registry when None

    Raises ServerError(CONFIG_INVALID) that lists every problem found, also as context["problems"] (list of strings).
    """
    if isinstance(source, Config):
        return source
    environ = os.environ if environ is None else environ
    specs = _builtin_specs() if specs is None else specs
    origin, data = _read(source, environ)
    data, problems = expand(data, environ)
    data = _laid_over(data, overrides or {})
    if not data.get("providers"):
        data = _with_providers_of_environment(data, environ, specs, alone=origin == "environment")
    try:
        config: Config = CONFIG_FILE.load(_with_workers(data))
    except ValidationError as error:
        told = {problem.path for problem in problems}
        found = sorted(problems_of(CONFIG_FILE, error.normalized_messages()))
        raise _invalid(origin, problems + [problem for problem in found if problem.path not in told]) from None
    if problems:
        raise _invalid(origin, problems)
    config = replace(
        config,
        source=origin,
        default_provider=config.default_provider or next(iter(config.providers), ""),
        unsupported=frozenset(name for name, provider in config.providers.items() if provider.spec not in specs),
    )
    problems = list(contradictions(config, specs))
    if problems:
        raise _invalid(origin, problems)
    return config


def demo_config() -> dict[str, Any]:
    """A source for load_config: the built-in upstream that needs no key answers every model name.

    $GODEX_API_KEY, where it is set, is the key that clients use.
    """
    return {
        "auth": {"keys": ["${GODEX_API_KEY:-}"]},
        "default_provider": "demo",
        "providers": {"demo": {"spec": "demo"}},
        "models": {"aliases": {"*": "demo/demo-1"}},
    }


def _builtin_specs() -> Mapping[str, ProviderSpec]:
    # Here, not above: the configuration of a test or a host that names its own specs needs no registry.
    from providers.registry import builtin_specs

    return builtin_specs()


def _read(source: Mapping[str, Any] | str | Path | None, environ: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    """(where it was found, its keys)"""
    if isinstance(source, Mapping):
        return "mapping", dict(source)
    path = Path(source).expanduser() if source is not None else _found(environ)
    if path is None:
        return "environment", {}
    origin = str(path)
    try:
        data = parse_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _invalid(origin, [Problem("", f"cannot be read: {error.strerror}")]) from None
    except ValueError as error:  # not UTF-8, or not YAML
        text = "is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)
        raise _invalid(origin, [Problem("", text)]) from None
    if data is None:
        return origin, {}
    if not isinstance(data, dict):
        raise _invalid(origin, [Problem("", "must be a mapping of sections: `server:`, `providers:`, …")])
    return origin, data


def _found(environ: Mapping[str, str]) -> Path | None:
    if environ.get("GODEX_CONFIG"):
        return Path(environ["GODEX_CONFIG"]).expanduser()
    return next((path for path in (Path(place).expanduser() for place in PLACES) if path.is_file()), None)


def _laid_over(data: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`data` with `changes` merged in, section by section."""
    merged = dict(data)
    for key, value in changes.items():
        below = merged.get(key)
        merged[key] = _laid_over(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return merged


def _with_providers_of_environment(
    data: Mapping[str, Any], environ: Mapping[str, str], specs: Mapping[str, ProviderSpec], *, alone: bool
) -> dict[str, Any]:
    """Providers whose well-known key variable is set, the first of them answering every model name.

    Without a file (`alone`) $GODEX_API_KEY is the key that clients use.
    """
    keyed = {name: spec for name, spec in specs.items() if spec.api_key_env and environ.get(spec.api_key_env)}
    if not keyed:
        return dict(data)
    first = next((name for name in keyed if name == data.get("default_provider")), next(iter(keyed)))
    found: dict[str, Any] = {
        "default_provider": first,
        "providers": {
            name: {"spec": name, "credentials": {"api_key": environ[spec.api_key_env]}} for name, spec in keyed.items()
        },
    }
    if keyed[first].default_model:
        found["models"] = {"aliases": {"*": f"{first}/{keyed[first].default_model}"}}
    if alone and environ.get("GODEX_API_KEY"):
        found["auth"] = {"keys": [environ["GODEX_API_KEY"]]}
    return _laid_over(found, {key: value for key, value in data.items() if key != "providers"})


def _with_workers(data: Mapping[str, Any]) -> dict[str, Any]:
    """One worker where sessions live in its memory, unless the number was asked for."""
    session, server = data.get("session"), data.get("server") or {}
    if isinstance(session, Mapping) and session.get("backend") == "memory" and isinstance(server, Mapping):
        return {**data, "server": {"workers": 1, **server}}
    return dict(data)


def _invalid(origin: str, problems: list[Problem]) -> ServerError:
    lines = [str(problem) for problem in problems]
    message = f"configuration from {origin}: " + (lines[0] if len(lines) == 1 else f"{len(lines)} problems")
    if len(lines) > 1:
        message += "".join(f"\n  {line}" for line in lines)
    return ServerError(CONFIG_INVALID, message, problems=lines, source=origin)
