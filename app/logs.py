"""Log lines of an application of its own, under the logger name "godex". A host's platform keeps its own set-up."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import Any

from pythonjsonlogger.orjson import OrjsonFormatter

from .config.model import LoggingConfig

ROOT = "godex"


def fields(*known: Mapping[str, Any], **values: Any) -> dict[str, Mapping[str, Any]]:
    """`extra=fields(…)`: the facts of a log line, in one attribute, so that no name clashes with a LogRecord's own.

    known: facts of an error, of a request: whatever names they have. `**` would raise where two of them share one;
    here the last is told.
    """
    merged: dict[str, Any] = {}
    for facts in (*known, values):
        merged |= facts
    return {"fields": merged}


def configure_logging(config: LoggingConfig) -> None:
    """One handler on stderr; format auto: readable on a terminal, else JSON."""
    logger = logging.getLogger(ROOT)
    logger.setLevel(config.level.upper())
    logger.propagate = False
    as_text = config.format == "text" or (config.format == "auto" and sys.stderr.isatty())
    handler = logging.StreamHandler()
    handler.setFormatter(TextLines() if as_text else JsonLines())
    logger.handlers[:] = [handler]


class JsonLines(OrjsonFormatter):
    """One JSON object a line; the facts stand beside time, level and message."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s", rename_fields={"levelname": "level"})

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        facts = log_data.pop("fields", None) or {}
        # A fact called `message` (an error's) must not take the place of the line's own.
        return {**log_data, **{f"error_{key}" if key in log_data else key: value for key, value in facts.items()}}


class TextLines(logging.Formatter):
    """`12:00:01 INFO response request_id=req_1 status=completed …`"""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s", datefmt="%H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:
        facts = getattr(record, "fields", {})
        told = " ".join(f"{key}={value}" for key, value in facts.items() if value is not None)
        return f"{super().formatMessage(record)} {told}".rstrip()
