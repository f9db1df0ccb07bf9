"""The group of all commands."""

from __future__ import annotations

import click

from ..version import VERSION
from .codex import codex_config
from .config import config
from .init import init
from .models import models
from .serve import serve
from .trace import trace


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="godex")
def main() -> None:
    """GodeX: the OpenAI Responses API in front of Chat Completions providers."""


for command in (serve, init, config, models, codex_config, trace):
    main.add_command(command)
