"""`godex trace list|show|tail|export`: what the trace file says."""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from itertools import islice
from typing import IO, Any, Final

import click
from marshmallow import ValidationError

from ..config.fields import Duration
from ..trace.reader import Record, Summary, TraceReader
from .config import CONFIG_OPTION
from .problems import Refused, checked_config

LOOK_EVERY: Final = 0.5  # seconds

FILE_OPTION = click.option("--file", "file", type=click.Path(dir_okay=False), help="The trace file; else trace.path.")
JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="JSON, one object a line.")


def _seconds(context: click.Context, option: click.Parameter, value: str | None) -> float | None:
    """An option such as 15m, 2h or 3d."""
    if value is None:
        return None
    try:
        return float(Duration().deserialize(value))
    except ValidationError as error:
        raise click.BadParameter(str(error.messages[0])) from None


SINCE_OPTION = click.option("--since", callback=_seconds, help="Only what is younger: 15m, 2h, 3d.")


@click.group()
def trace() -> None:
    """Look at what requests went through. Nothing is changed."""


@trace.command(name="list")
@CONFIG_OPTION
@FILE_OPTION
@click.option("-n", "--limit", type=click.IntRange(1), default=20, show_default=True)
@click.option("--provider")
@click.option("--model", help="As its provider calls it.")
@click.option("--failed", is_flag=True, help="Only what did not complete.")
@SINCE_OPTION
@JSON_OPTION
def list_(
    path: str | None,
    file: str | None,
    limit: int,
    provider: str | None,
    model: str | None,
    failed: bool,
    since: float | None,
    as_json: bool,
) -> None:
    """The latest responses, the newest first."""
    with _reading(path, file) as reader:
        found: Iterable[Summary] = reader.summaries(since=_moment(since), provider=provider, model=model)
        if failed:
            found = (one for one in found if one.status not in ("", "completed"))
        lines = list(islice(found, limit))
        if not as_json:
            click.echo(HEADING)
        for one in lines:
            click.echo(json.dumps(asdict(one)) if as_json else _line(one))


@trace.command()
@click.argument("id")
@CONFIG_OPTION
@FILE_OPTION
@click.option("--payload", is_flag=True, help="Print kept payloads too (trace.capture_payload).")
@JSON_OPTION
def show(id: str, path: str | None, file: str | None, payload: bool, as_json: bool) -> None:
    """Everything about one response or request ID."""
    with _reading(path, file) as reader:
        records = reader.records(id)
    if not records:
        raise Refused(f"the trace knows no {id}")
    if as_json:
        for record in records:
            click.echo(json.dumps(_opened(record), ensure_ascii=False))
        return
    began = records[0]["created_at"]
    for text in _collapsed(records, began) if not payload else (_told(record, began) for record in records):
        click.echo(text)


@trace.command()
@CONFIG_OPTION
@FILE_OPTION
@click.option("-n", "--limit", type=click.IntRange(0), default=10, show_default=True, help="So many old ones first.")
@JSON_OPTION
def tail(path: str | None, file: str | None, limit: int, as_json: bool) -> None:
    """Responses as they end, until interrupted."""
    with _reading(path, file) as reader:
        seen = reader.last_id()
        if not as_json:
            click.echo(HEADING)
        for one in reversed(list(islice(reader.summaries(), limit))):
            click.echo(json.dumps(asdict(one)) if as_json else _line(one))
        while True:
            for place, response_id in list(reader.ended(seen)):
                seen = place
                ended = reader.summary(response_id)
                if ended is not None:
                    click.echo(json.dumps(asdict(ended)) if as_json else _line(ended))
            sys.stdout.flush()
            time.sleep(LOOK_EVERY)


@trace.command()
@CONFIG_OPTION
@FILE_OPTION
@click.option("-o", "--output", type=click.File("w", encoding="utf-8"), default="-", help="Where to; else stdout.")
@SINCE_OPTION
def export(path: str | None, file: str | None, output: IO[str], since: float | None) -> None:
    """All records as JSON, one a line, as they were written."""
    with _reading(path, file) as reader:
        for record in reader.all_records(since=_moment(since)):
            output.write(json.dumps(_opened(record), ensure_ascii=False) + "\n")


@contextmanager
def _reading(path: str | None, file: str | None) -> Iterator[TraceReader]:
    where = file or checked_config(path).trace.path
    try:
        reader = TraceReader(where)
    except FileNotFoundError as error:
        raise Refused(str(error)) from None
    try:
        yield reader
    except sqlite3.Error as error:
        raise Refused(f"{where} cannot be read as a trace: {error}") from None
    except (KeyboardInterrupt, BrokenPipeError):
        return
    finally:
        reader.close()


def _moment(since: float | None) -> float:
    return 0 if since is None else time.time() - since


HEADING: Final = f"{'began':19}  {'status':12}  {'seconds':>8}  {'in':>7}  {'cached':>7}  {'out':>6}  response, model"


def _line(one: Summary) -> str:
    began = datetime.fromtimestamp(one.began).strftime("%Y-%m-%d %H:%M:%S")
    seconds = "" if one.duration is None else f"{one.duration:.2f}"
    status = {"client_disconnected": "client left", "": "running"}.get(one.status, one.status)
    numbers = "  ".join(
        f"{'' if number is None else number:>{width}}"
        for number, width in ((one.input_tokens, 7), (one.cached_tokens, 7), (one.output_tokens, 6))
    )
    caller = f" by {one.caller}" if one.caller else ""
    error = f"  {one.error}" if one.error else ""
    what = f"{one.response_id} {one.provider}/{one.model}{caller}"
    return f"{began}  {status:12}  {seconds:>8}  {numbers}  {what}{error}"


def _opened(record: Record) -> Record:
    """Without empty columns, the payload as data."""
    told = {name: value for name, value in record.items() if value is not None and value != ""}
    if "payload" in told:
        told["payload"] = json.loads(told["payload"])
    return told


def _collapsed(records: list[Record], began: float) -> Iterator[str]:
    """A line for each record; events of one name that follow each other in one."""
    index = 0
    while index < len(records):
        record, end = records[index], index + 1
        while end < len(records) and record["kind"] == "event" and _alike(record, records[end]):
            end += 1
        more = end - index - 1
        yield _told({**record, "payload": None}, began) + (f" … {more} more" if more else "")
        index = end


def _alike(one: Record, other: Record) -> bool:
    return all(one[name] == other[name] for name in ("kind", "side", "event_name", "response_id"))


def _told(record: Record, began: float) -> str:
    """`  0.132  client    event    response.created #0`, and below it the payload where there is one."""
    parts: dict[str, Any] = {
        "request": lambda: f"{record['provider']}/{record['model']} {'stream' if record['stream'] else 'sync'}",
        "usage": lambda: " ".join(f"{name.removesuffix('_tokens')}={record[name]}" for name in _TOKENS if record[name]),
        "event": lambda: record["event_name"] + ("" if record["sequence"] is None else f" #{record['sequence']}"),
        "error": lambda: f"{record['code'] or record['error_type']}: {record['message']}",
    }
    size = f" ({record['size']} bytes, sha256 {record['sha256'][:12]})" if record["size"] else ""
    head = f"{record['created_at'] - began:8.3f}  {record['side'] or '':8}  {record['kind']:7}  "
    text = head + parts[record["kind"]]() + size
    if record["payload"]:
        shown = json.dumps(json.loads(record["payload"]), indent=2, ensure_ascii=False)
        text += "\n" + "\n".join(f"    {line}" for line in shown.splitlines())
    return text


_TOKENS: Final = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "total_tokens")
