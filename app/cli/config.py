"""`godex config check` and `godex config print`."""

from __future__ import annotations

import json
import sys

import click
import yaml

from ..config.model import Config
from ..config.redact import redacted
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
def check(path: str | None) -> None:
    """Say whether the configuration is right; exit code 2 and one line for each mistake when it is not."""
    loaded = checked_config(path)
    click.echo(f"The configuration from {loaded.source} is right: {_summary(loaded)}.")
    for name in sorted(loaded.unsupported):
        click.echo(f"warning: providers.{name}.spec '{loaded.providers[name].spec}' is unknown; {name} will not serve")


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
