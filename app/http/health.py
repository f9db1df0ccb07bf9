"""/health: what is registered · /health/live: the process answers · /health/ready: it can serve · /metrics."""

from __future__ import annotations

from flask import Response, request

from bridge.errors import INVALID_API_KEY, ServerError, SessionError

from ..drain import process_drain
from ..metrics import CONTENT_TYPE, metrics
from .auth import may_look
from .blueprint import gateway, health
from .replies import json_reply


@health.get("/health")
def show_health() -> Response:
    """What is registered is told on this machine and to those who have a key; to others only that somebody is here."""
    config = gateway().config
    if not may_look(request, gateway().keys):
        return json_reply({"status": "ok"})
    return json_reply(
        {
            "status": "ok",
            "default_provider": config.default_provider,
            "providers": [{"name": name, "spec": spec} for name, spec in gateway().registered.items()],
            "unsupported": [{"name": name, "spec": config.providers[name].spec} for name in sorted(config.unsupported)],
        }
    )


@health.get("/metrics")
def show_metrics() -> Response:
    if not may_look(request, gateway().keys):
        raise ServerError(INVALID_API_KEY, "metrics are shown on this machine only, or to those who send an API key")
    gateway().look_after()
    return Response(metrics().exposition(), content_type=CONTENT_TYPE)


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
