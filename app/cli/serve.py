"""`godex serve`."""

from __future__ import annotations

import errno
import os
import socket
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from providers.registry import builtin_specs

from ..config.loader import demo_config, load_config
from ..config.model import AuthConfig, Config, ServerConfig
from ..config.secret import masked_url
from ..version import VERSION
from .config import CONFIG_OPTION
from .problems import Refused, checked_config


@click.command()
@CONFIG_OPTION
@click.option("--host", help="Where to listen; 127.0.0.1 reaches this machine only.")
@click.option("--port", type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option("--workers", type=click.IntRange(1, 1024), help="Processes; as many as there are cores is right.")
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]))
@click.option("--demo", is_flag=True, help="Answer from a built-in upstream that needs no key.")
def serve(
    path: str | None, host: str | None, port: int | None, workers: int | None, log_level: str | None, demo: bool
) -> None:
    """Serve the gateway: gunicorn with gevent workers. HUP reads the configuration anew, TERM drains and stops."""
    if demo and path:
        raise click.UsageError("--demo brings its own configuration: leave out --config")
    source = demo_config() if demo else path
    overrides = _given(server=_given(host=host, port=port, workers=workers), logging=_given(level=log_level))
    config = checked_config(source, overrides)
    refuse_taken_address(config.server)
    # gunicorn is imported here so that the other commands start fast
    from ..server import Server

    Server(config, lambda: load_config(source, overrides=overrides), announce).run()


def _given(**values: Any) -> dict[str, Any]:
    """The options that were given; an empty section changes nothing."""
    return {name: value for name, value in values.items() if value is not None}


def refuse_taken_address(server: ServerConfig) -> None:
    """Say at once what gunicorn would find out after five attempts. Raises Refused."""
    inherited = {"GUNICORN_FD", "LISTEN_FDS"} & os.environ.keys()  # USR2 or systemd hand over an open socket
    if inherited or server.host.startswith("unix:") or server.port == 0:
        return
    where = f"{server.host}:{server.port}"
    try:
        found = socket.getaddrinfo(server.host.strip("[]"), server.port, type=socket.SOCK_STREAM)
        family, kind, _, _, address = found[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except (socket.gaierror, UnicodeError):
        raise Refused(f"cannot listen on {where}: the name is not known") from None
    except OSError as error:
        reason = {
            errno.EADDRINUSE: "another program listens there; choose another port with --port",
            errno.EADDRNOTAVAIL: "this machine has no such address; see server.host or --host",
            errno.EACCES: "this user may not; ports below 1024 need privileges, choose another with --port",
        }
        raise Refused(f"cannot listen on {where}: {reason.get(error.errno or 0, error.strerror)}") from None


def announce(config: Config, address: str) -> None:
    """Where it listens, with what, and a first request to try. On stderr, beside gunicorn's own lines."""
    session = config.session
    places = {"memory": "memory", "sqlite": session.sqlite.path, "redis": masked_url(session.redis.url)}
    workers, callers = _counted(config.server.workers, "worker"), _callers(config.auth)
    click.echo(
        f"GodeX {VERSION} listens on {address}/v1: provider {config.default_provider},"
        f" sessions in {places[session.backend]}, {workers}, {callers}.\nTry: {first_request(config, address)}",
        err=True,
    )
    if session.backend == "sqlite" and not writable(Path(session.sqlite.path)):
        click.echo(
            f"Warning: this user cannot write session.sqlite.path, {session.sqlite.path}: until that changes"
            " responses are kept in memory only, and lost with the process.",
            err=True,
        )


def writable(path: Path) -> bool:
    """Whether the database can be written, or made. Makes its folder, as its first use would."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent), path.open("r+b") if path.exists() else nullcontext():
            return True
    except OSError:
        return False


def _callers(auth: AuthConfig) -> str:
    told = [_counted(len(auth.keys), "API key")] if auth.keys else []
    if auth.keys_file:
        told.append(f"the API keys in {auth.keys_file}")
    return " and ".join(told) or "no API key needed"


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")


def first_request(config: Config, address: str) -> str:
    """A curl command that this server answers."""
    where = f"{address}/v1/responses"
    if address.startswith("unix:"):
        where = f"--unix-socket {address.removeprefix('unix:')} http://localhost/v1/responses"
    key = ' -H "Authorization: Bearer $GODEX_API_KEY"' if config.auth.has_keys else ""
    spec = builtin_specs().get(config.providers[config.default_provider].spec)
    usual = (spec.default_model if spec is not None else "") or "MODEL"
    model = next(iter(config.models.aliases.values()), f"{config.default_provider}/{usual}")
    return f"""curl {where}{key} -H 'Content-Type: application/json' -d '{{"model": "{model}", "input": "Hello"}}'"""
