"""/health: what is registered · /health/live: the process answers · /health/ready: it can serve."""

from __future__ import annotations

from flask import Response

from bridge.errors import SessionError

from ..drain import process_drain
from .blueprint import gateway, health
from .replies import json_reply


@health.get("/health")
def show_health() -> Response:
    config = gateway().config
    return json_reply(
        {
            "status": "ok",
            "default_provider": config.default_provider,
            "providers": [{"name": name, "spec": spec} for name, spec in gateway().registered.items()],
            "unsupported": [{"name": name, "spec": config.providers[name].spec} for name in sorted(config.unsupported)],
        }
    )


@health.get("/health/live")
def live() -> Response:
    return json_reply({"status": "ok"})


@health.get("/health/ready")
def ready() -> Response:
    problems = {}
    if process_drain.draining:
        problems["process"] = "is stopping"
    try:
        gateway().store.ping()
    except SessionError as error:
        problems["session_store"] = error.message
    if not gateway().registered:
        problems["providers"] = "none is registered"
    return json_reply(
        {"status": "unavailable" if problems else "ok", "problems": problems}, status=503 if problems else 200
    )
