"""A gateway that traces, and what it wrote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.trace.reader import TraceReader
from tests.support.client import Gateway

Record = dict[str, Any]


class Traced:
    """A gateway whose trace is read back."""

    def __init__(self, make_gateway: Callable[..., Gateway], path: Path, **trace: Any) -> None:
        self.path = path
        self.gateway = make_gateway(trace={"path": str(path), **trace}, auth={"keys": [{"name": "ann", "key": "k-1"}]})
        self.gateway.client.environ_base["HTTP_AUTHORIZATION"] = "Bearer k-1"

    def records(self, **columns: Any) -> list[Record]:
        """All records that have these values, in order of time, after the gateway has closed."""
        self.gateway.client.application.extensions["godex"].close()
        reader = TraceReader(self.path)
        found = [
            record
            for record in sorted(reader.all_records(), key=lambda record: float(record["created_at"]))
            if all(record[name] == value for name, value in columns.items())
        ]
        reader.close()
        return found


@pytest.fixture
def traced(make_gateway: Callable[..., Gateway], tmp_path: Path) -> Callable[..., Traced]:
    """traced(capture_payload=True, …): keys of the section `trace`."""
    return lambda **trace: Traced(make_gateway, tmp_path / "trace.db", **trace)
