"""What a command says when it cannot go on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import click

from bridge.errors import ServerError

from ..config.loader import load_config
from ..config.model import Config


class Refused(click.ClickException):
    """Readable lines on stderr and exit code 2."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"godex: {self.message}", err=True, file=file)


def checked_config(
    source: Mapping[str, Any] | str | Path | None,
    overrides: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Config:
    """load_config for a command. Raises Refused with every problem."""
    try:
        return load_config(source, overrides=overrides, environ=environ)
    except ServerError as error:
        raise Refused(error.message) from None
