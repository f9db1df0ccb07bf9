"""`godex init`: a first godex.yaml."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from bridge.spec import ProviderSpec

from ..config.model import is_loopback
from ..config.text import parse_yaml
from .problems import Refused, checked_config

CLIENT_KEY = "GODEX_API_KEY"
STORES = ("sqlite", "redis", "memory")


@click.command()
@click.option("--provider", help="One of the built-in specs.")
@click.option("--base-url", help="Where the upstream is, when not where its spec says.")
@click.option("--model", help="The upstream model that answers every name a client asks for.")
@click.option("--host", help="Where to listen.")
@click.option("--port", type=click.IntRange(1, 65535), default=5678, show_default=True)
@click.option("--store", type=click.Choice(STORES), help="Where stored responses live.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), default="godex.yaml", show_default=True)
@click.option("--force", is_flag=True, help="Overwrite the file when it exists.")
@click.option("--yes", is_flag=True, help="Ask nothing: take the default of everything that is not given.")
def init(
    provider: str | None,
    base_url: str | None,
    model: str | None,
    host: str | None,
    port: int,
    store: str | None,
    output: Path,
    force: bool,
    yes: bool,
) -> None:
    """Write a godex.yaml. Keys are not written into it: it names the environment variables that hold them."""
    if output.exists() and not force:
        raise Refused(f"{output} exists; --force overwrites it")
    ask = _Questions(silent=yes)
    # Here, not above: only this command looks at every spec.
    from providers.registry import builtin_specs

    specs = builtin_specs()
    name = ask.choice(provider, "Which provider answers", sorted(specs), _likely(specs, os.environ))
    if name not in specs:
        raise Refused(f"no provider is called '{name}'; known: {', '.join(sorted(specs))}")
    spec = specs[name]
    choices = Choices(
        provider=name,
        key_variable=(spec.api_key_env or "UPSTREAM_API_KEY") if spec.needs_key else "",
        base_url=base_url or ("" if spec.base_url else ask.text(None, "Its base URL", "http://127.0.0.1:8000/v1")),
        model=ask.text(model, "Which of its models answers every name a client asks for", spec.default_model),
        host=ask.text(host, "Where to listen (127.0.0.1: this machine only)", "127.0.0.1"),
        port=port,
        store=ask.choice(store, "Where stored responses live", STORES, "sqlite"),
    )
    text = godex_yaml(choices)
    checked_config(parse_yaml(text), environ={**os.environ, **dict.fromkeys(choices.variables, "set")})
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, encoding="utf-8")
    click.echo(f"Wrote {output}.")
    for variable in choices.variables:
        if not os.environ.get(variable):
            click.echo(f"Set the key first:  export {variable}=…")
    click.echo("Then:  godex serve" + ("" if str(output) == "godex.yaml" else f" --config {output}"))


@dataclass(frozen=True, slots=True)
class Choices:
    provider: str
    key_variable: str  # "" = the upstream takes no key
    base_url: str  # "" = where the spec says
    model: str
    host: str
    port: int
    store: str

    @property
    def variables(self) -> list[str]:
        """The environment variables that the file will name."""
        client = [] if is_loopback(self.host) else [CLIENT_KEY]
        return ([self.key_variable] if self.key_variable else []) + client


def godex_yaml(choices: Choices) -> str:
    """The file's text; parts that keep their default are left out or stand as comments."""
    name = choices.provider
    lines = [
        "# GodeX. `godex config check` reads this file, `godex config print` shows every default.",
        "server:",
        f"  host: {choices.host}",
        f"  port: {choices.port}",
        "",
    ]
    if is_loopback(choices.host):
        lines += ["# Clients need no key as long as only this machine can connect.", "# auth:"]
        lines += [f"#   keys: [${{{CLIENT_KEY}}}]", ""]
    else:
        lines += ["auth:", f"  keys: [${{{CLIENT_KEY}}}]", ""]
    lines += [f"default_provider: {name}", "", "providers:", f"  {name}:", f"    spec: {name}"]
    if choices.key_variable:
        lines += ["    credentials:", f"      api_key: ${{{choices.key_variable}}}"]
    if choices.base_url:
        lines += ["    endpoint:", f"      base_url: {choices.base_url}"]
    lines += ["", "models:", "  aliases:"]
    lines += ["    # every model name that no other alias and no provider/model matches"]
    lines += [f'    "*": {name}/{choices.model}']
    lines += ["", "session:", f"  backend: {choices.store}"]
    if choices.store == "redis":
        lines += ["  redis:", "    url: ${REDIS_URL:-redis://localhost:6379/0}"]
    return "\n".join(lines) + "\n"


class _Questions:
    """Asks for what was not given; silent, it takes the defaults."""

    def __init__(self, silent: bool) -> None:
        self._silent = silent

    def text(self, given: str | None, question: str, default: str) -> str:
        if given is not None:
            return given
        if not self._silent:
            return str(click.prompt(question, default=default or None))
        if not default:
            raise Refused(f"this has no default: {question}? Give it as an option")
        return default

    def choice(self, given: str | None, question: str, words: tuple[str, ...] | list[str], default: str) -> str:
        if given is not None or self._silent:
            return given or default
        return str(click.prompt(question, type=click.Choice(words), default=default))


def _likely(specs: Mapping[str, ProviderSpec], environ: Mapping[str, str]) -> str:
    """The first provider whose key is in the environment, else the one that needs none."""
    return next((name for name, spec in specs.items() if spec.api_key_env and environ.get(spec.api_key_env)), "demo")
