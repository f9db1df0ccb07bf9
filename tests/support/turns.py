"""A turn of the kernel without an app: ids are counted, the clock stands still."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

from bridge.plan.diagnostics import Diagnostics
from bridge.request.build import Plan, plan_request
from bridge.response.assemble import new_response
from bridge.spec import Capabilities
from bridge.stream.deltas import Delta
from bridge.stream.machine import respond
from bridge.stream.turn import Turn

NOW = 1_800_000_000  # Unix seconds

Event = dict[str, Any]


def plan_for(request: dict[str, Any], caps: Capabilities = Capabilities()) -> Plan:
    items = request.get("input")
    return plan_request(request, items if isinstance(items, list) else [], caps, Diagnostics())


def turn_for(request: dict[str, Any] | None = None, caps: Capabilities = Capabilities(), **options: Any) -> Turn:
    body = {"model": "m", "input": "hi", **(request or {})}
    plan = plan_for(body, caps)
    numbers = count(1)
    return Turn(
        new_response(body, response_id="resp_1", created_at=NOW, stored=True),
        plan.tools,
        plan.notes,
        new_id=lambda prefix: f"{prefix}_{next(numbers)}",
        now=lambda: NOW + 1,
        **options,
    )


def events_of(deltas: Iterable[Delta], turn: Turn | None = None) -> list[Event]:
    """The events of a turn; a failure becomes the terminal event, as in the app's first stage."""
    return list(_closed(deltas, turn or turn_for()))


def _closed(deltas: Iterable[Delta], turn: Turn) -> Iterator[Event]:
    try:
        yield from respond(deltas, turn)
    except Exception as error:
        yield turn.fail(error)
