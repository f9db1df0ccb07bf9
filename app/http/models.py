"""GET /v1/models: what a client may ask for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flask import Response

from bridge.errors import MODEL_NOT_FOUND, ServerError

from ..gateway import Gateway
from .blueprint import api, gateway
from .replies import json_reply

CREATED = 0  # Unix seconds; upstreams do not tell when a model was made, and clients only want a number


@api.get("/models")
def list_models() -> Response:
    return json_reply({"object": "list", "data": list(_models(gateway()))})


@api.get("/models/<path:name>")
def get_model(name: str) -> Response:
    for model in _models(gateway()):
        if model["id"] == name:
            return json_reply(model)
    target = gateway().resolver.resolve(name)  # a name that is not listed may still be served
    if target.provider not in gateway().registered:
        raise ServerError(MODEL_NOT_FOUND, f"model {name!r} is not served here", param="model")
    return json_reply(_model(name, target.provider))


def _models(gateway: Gateway) -> Iterator[dict[str, Any]]:
    """Aliases, then the models that the providers' specs and the configuration name."""
    seen: set[str] = set()
    for alias, target in gateway.config.models.aliases.items():
        if alias != "*":
            seen.add(alias)
            yield _model(alias, target.partition("/")[0])
    for provider in gateway.registered:
        for name in gateway.model_names(provider):
            if f"{provider}/{name}" not in seen:
                seen.add(f"{provider}/{name}")
                yield _model(f"{provider}/{name}", provider)


def _model(name: str, owner: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": CREATED, "owned_by": owner}
