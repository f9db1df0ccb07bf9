"""`godex config check` and `godex config print`."""

from __future__ import annotations

import json
import sys

import click
import yaml

from providers.registry import OWN_CLIENT, builtin_specs

from ..config.model import Config
from ..config.redact import redacted
from ..config.settings import client_settings
from .problems import checked_config

CONFIG_OPTION = click.option(
    "--config",
    "path",
    type=click.Path(dir_okay=False),
    help="The file to read; else $GODEX_CONFIG, ./godex.yaml, ~/.config/godex/config.yaml, the environment.",
)


@click.group()
def config() -> None:
    """Look at the configuration without starting anything."""


@config.command()
@CONFIG_OPTION
@click.option("--live", is_flag=True, help="Also ask each provider for its models, with each key; costs no tokens.")
def check(path: str | None, live: bool) -> None:
    """Say whether the configuration is right.

    Exit code 2 and one line for each mistake when it is not; 1 when it is, but with --live a provider cannot be
    reached or refuses a key.
    """
    loaded = checked_config(path)
    click.echo(f"The configuration from {loaded.source} is right: {_summary(loaded)}.")
    for name in sorted(loaded.unsupported):
        click.echo(f"warning: providers.{name}.spec '{loaded.providers[name].spec}' is unknown; {name} will not serve")
    if live:
        right = [_pinged(loaded, name) for name in loaded.providers if name not in loaded.unsupported]
        if not all(right):
            raise click.exceptions.Exit(1)


def _pinged(loaded: Config, name: str) -> bool:
    from providers.ping import ping  # brings requests, which `godex serve` must not have before its workers

    section = loaded.providers[name]
    spec = section.applied_to(builtin_specs()[section.spec])
    if spec.name in OWN_CLIENT:
        click.echo(f"{name}: right; it runs inside GodeX")
        return True
    outcomes = list(ping(name, spec, client_settings(section)))
    for _, told in outcomes:
        click.echo(told)
    return all(good for good, _ in outcomes)


def _summary(loaded: Config) -> str:
    others = [name for name in loaded.providers if name != loaded.default_provider]
    also = f" (also {', '.join(others)})" if others else ""
    return f"default provider {loaded.default_provider}{also}, sessions in {loaded.session.backend}"


@config.command(name="print")
@CONFIG_OPTION
@click.option("--json", "as_json", is_flag=True, help="JSON instead of YAML.")
def print_(path: str | None, as_json: bool) -> None:
    """Print the whole configuration as it is in force: defaults filled in, secrets masked, times in seconds."""
    shown = redacted(checked_config(path))
    if as_json:
        click.echo(json.dumps(shown, indent=2, ensure_ascii=False))
    else:
        _echo_yaml(yaml.safe_dump(shown, sort_keys=False, allow_unicode=True))


def _echo_yaml(text: str) -> None:
    """In colours on a terminal, where the extra `cli` is installed."""
    if sys.stdout.isatty():
        try:
            from rich.console import Console
            from rich.syntax import Syntax
        except ImportError:
            pass
        else:
            Console().print(Syntax(text, "yaml", background_color="default"))
            return
    click.echo(text, nl=False)
