"""Each log line shows its facts, in both formats."""

from __future__ import annotations

import ast
import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import app
from app.logs import JsonLines, TextLines, fields

PACKAGE = Path(app.__file__).parent
LEVELS = {"debug", "info", "warning", "error", "exception", "critical", "log"}


def log_calls() -> Iterator[tuple[str, ast.Call]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LEVELS:
                owner = node.func.value
                if isinstance(owner, ast.Name) and owner.id.lower() in {"log", "logger"}:
                    yield f"{path.relative_to(PACKAGE)}:{node.lineno}", node


def unseen(call: ast.Call) -> bool:
    """Whether it has facts that no format prints: these know what `fields` made, and nothing else."""
    extras = [keyword.value for keyword in call.keywords if keyword.arg == "extra"]
    return any(not (isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and e.func.id == "fields") for e in extras)


def may_clash(call: ast.Call) -> bool:
    """Whether a fact could be given twice, which raises instead of writing a line: an error's facts have any names."""
    inside = [
        node for node in ast.walk(call) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "fields"
    ]
    return any(keyword.arg is None for one in inside for keyword in one.keywords)


def test_all_facts_of_log_lines_go_through_fields() -> None:
    calls = list(log_calls())
    assert len(calls) > 30
    assert [where for where, call in calls if unseen(call)] == []


def test_no_fact_is_given_twice() -> None:
    assert [where for where, call in log_calls() if may_clash(call)] == []


def test_of_two_facts_with_one_name_the_last_is_told() -> None:
    told = fields({"provider": "up", "code": "x"}, {"provider": "down"}, code="y")
    assert told == {"fields": {"provider": "down", "code": "y"}}


@pytest.mark.parametrize(
    "facts",
    [
        {"reason": "no disk", "response_id": "resp_1", "count": 3},
        {"message": "an error's own", "name": "n", "level": 7, "args": "a", "exc_info": "e", "lineno": 1},
    ],
    ids=["plain", "names of a LogRecord's own"],
)
def test_facts_are_printed_in_both_formats(facts: dict[str, Any]) -> None:
    text, structured = printed(TextLines(), facts), json.loads(printed(JsonLines(), facts))
    assert "it happened" in text and structured["message"] == "it happened"
    for key, value in facts.items():
        assert f"{key}={value}" in text
        assert value in (structured.get(key), structured.get(f"error_{key}"))


def printed(formatter: logging.Formatter, facts: dict[str, Any]) -> str:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    logger = logging.Logger("godex.test")
    logger.addHandler(handler)
    logger.warning("it happened", extra=fields(**facts))
    return stream.getvalue()
