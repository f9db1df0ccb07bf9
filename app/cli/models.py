"""`godex models`."""

from __future__ import annotations

import json
from typing import Any

import click

from ..catalogue import ServedModel, served_models
from ..config.model import Config
from .config import CONFIG_OPTION
from .problems import checked_config


@click.command()
@CONFIG_OPTION
@click.option("--json", "as_json", is_flag=True, help="JSON instead of a table.")
def models(path: str | None, as_json: bool) -> None:
    """List the models that can be asked for, who answers them, and what each can do."""
    # Here, not above: it brings the libraries of all stores, and `godex serve` must not have them before its workers
    # patch the sockets.
    from ..gateway import Gateway

    config = checked_config(path)
    rows = [_row(model, config) for model in served_models(Gateway(config))]
    if as_json:
        click.echo(json.dumps({"models": rows, "unsupported": sorted(config.unsupported)}, indent=2))
        return
    _echo_table(rows)
    if "*" in config.models.aliases:
        click.echo(f"\nAny other name is answered by {config.models.aliases['*']}.")
    elif config.default_provider:
        click.echo(f"\nAny other name goes to {config.default_provider} as it stands.")
    for name in sorted(config.unsupported):
        click.echo(f"{name}: the spec '{config.providers[name].spec}' is unknown; it does not serve.")


def _row(model: ServedModel, config: Config) -> dict[str, Any]:
    caps = model.caps
    return {
        "model": model.name,
        "answered_by": str(model.target),
        "fallbacks": list(config.models.fallbacks.get(str(model.target), ())),
        "context_window": caps.context_window,
        "effort": list(caps.efforts) if caps.effort == "native" else {"boolean": ["none", "high"]}.get(caps.effort, []),
        "thinks_by_default": caps.thinking_by_default,
        "input": ["text", *(name for name, taken in _media(model).items() if taken)],
        "output": sorted(caps.response_formats),
        "tools": sorted(caps.tools),
        "degraded_tools": sorted(caps.degraded_tools),
        "tool_choice": sorted(caps.tool_choice),
    }


def _media(model: ServedModel) -> dict[str, bool]:
    return {"image": model.caps.input_images, "file": model.caps.input_files, "video": model.caps.input_video}


COLUMNS = {
    "MODEL": lambda row: row["model"],
    "ANSWERED BY": lambda row: " → ".join([row["answered_by"], *row["fallbacks"]]),
    "CONTEXT": lambda row: f"{row['context_window']:,}" if row["context_window"] else "?",
    "EFFORT": lambda row: " ".join(row["effort"]) or "-",
    "INPUT": lambda row: " ".join(row["input"]),
    "JSON": lambda row: (
        "schema" if "json_schema" in row["output"] else "mode" if "json_object" in row["output"] else "-"
    ),
    "NATIVE TOOLS": lambda row: " ".join(row["tools"]),
}


def _echo_table(rows: list[dict[str, Any]]) -> None:
    table = [list(COLUMNS), *([str(cell(row)) for cell in COLUMNS.values()] for row in rows)]
    widths = [max(len(line[place]) for line in table) for place in range(len(COLUMNS))]
    for line in table:
        click.echo("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
