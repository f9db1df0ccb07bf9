"""`godex codex-config`: what Codex CLI has to be told to work through this gateway."""

from __future__ import annotations

import ipaddress
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridge.errors import ServerError
from providers.registry import builtin_specs

from ..catalogue import ServedModel, codex_catalogue, served_model, served_models
from ..config.loader import demo_config
from ..config.model import Config
from .config import CONFIG_OPTION
from .problems import Refused, checked_config

if TYPE_CHECKING:
    from ..gateway import Gateway

CLIENT_KEY = "GODEX_API_KEY"
CATALOGUE = "godex-models.json"
PROFILE = "godex.config.toml"  # what `codex --profile godex` lays over config.toml


@click.command(name="codex-config")
@CONFIG_OPTION
@click.option("--demo", is_flag=True, help="For `godex serve --demo`.")
@click.option("--model", help="What Codex asks for; else the first model that is served.")
@click.option("--base-url", help="Where Codex reaches the gateway, when not at server.host and server.port.")
@click.option("--write", is_flag=True, help="Write the files into $CODEX_HOME (~/.codex) instead of showing the block.")
def codex_config(path: str | None, demo: bool, model: str | None, base_url: str | None, write: bool) -> None:
    """Print the block for Codex's config.toml, or write it as the profile `godex`, with the catalogue of models."""
    if demo and path:
        raise click.UsageError("--demo brings its own configuration: leave out --config")
    # Here, not above: it brings the libraries of all stores, and `godex serve` must not have them before its workers
    # patch the sockets.
    from ..gateway import Gateway

    config = checked_config(demo_config() if demo else path)
    models = _models(Gateway(config), model)
    home = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex").absolute()
    block = config_block(config, models[0], base_url or _base_url(config), home / CATALOGUE)
    if not write:
        click.echo(block, nl=False)
        click.echo(f"# `godex codex-config --write` writes this and {CATALOGUE} into {home}.", err=True)
        return
    home.mkdir(parents=True, exist_ok=True)
    catalogue = json.dumps({"models": codex_catalogue(models)}, indent=1, ensure_ascii=False)
    (home / CATALOGUE).write_text(catalogue + "\n", encoding="utf-8")
    (home / PROFILE).write_text(block, encoding="utf-8")
    click.echo(f"Wrote {home / PROFILE} and {home / CATALOGUE}: start with `codex --profile godex`.")


def _models(gateway: Gateway, wanted: str | None) -> list[ServedModel]:
    """What is served, the wanted one first. Raises Refused."""
    models = list(served_models(gateway))
    if wanted is None and models:
        return models
    if wanted is None:
        raise Refused("no model is known by name: give one with --model, or name some in models.aliases")
    try:
        first = served_model(gateway, wanted)
    except ServerError as error:
        raise Refused(error.message) from None
    return [first, *(model for model in models if model.name != wanted)]


def _base_url(config: Config) -> str:
    """Where the gateway is found from this machine. Raises Refused."""
    host = config.server.host.strip("[]")
    if host.startswith("unix:"):
        raise Refused(f"Codex cannot connect to {host}: give the address in front of it with --base-url")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return f"http://{host}:{config.server.port}/v1"
    if address.is_unspecified:
        host = "::1" if address.version == 6 else "127.0.0.1"
    return f"http://{f'[{host}]' if address.version == 6 else host}:{config.server.port}/v1"


def config_block(config: Config, model: ServedModel, base_url: str, catalogue: Path) -> str:
    """A config.toml for Codex, top-level keys first as TOML wants them."""
    lines = [
        f"model = {_toml(model.name)}",
        'model_provider = "godex"',
        f"model_catalog_json = {_toml(str(catalogue))}",
    ]
    if "web_search" not in model.caps.tools:
        lines.append('web_search = "disabled"  # nothing behind this model could run it')
    lines += [
        "",
        "[model_providers.godex]",
        'name = "GodeX"',
        f"base_url = {_toml(base_url)}",
        'wire_api = "responses"',
    ]
    key = _key_variable(config, model)
    if key:
        lines.append(f"env_key = {_toml(key)}  # the variable that holds the key, not the key itself")
    lines.append("request_max_retries = 1  # the gateway repeats failed calls by itself")
    if config.server.websockets:
        lines.append("supports_websockets = true  # sends only what is new instead of the whole session each time")
    return "\n".join(lines) + "\n"


def _key_variable(config: Config, model: ServedModel) -> str:
    """The environment variable of the key that Codex must send, "" where none is asked for."""
    if config.auth.has_keys:
        return CLIENT_KEY
    section = config.providers[model.target.provider]
    if section.credentials.passthrough:
        return builtin_specs()[section.spec].api_key_env or CLIENT_KEY
    return ""


def _toml(text: str) -> str:
    """A TOML basic string; JSON's escapes are among TOML's."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
