"""GET /v1/models: what a client may ask for."""

from __future__ import annotations

from flask import Response

from ..catalogue import codex_catalogue, openai_entry, served_model, served_models
from .blueprint import api, gateway
from .replies import json_reply


@api.get("/models")
def list_models() -> Response:
    """One body for both readers: `object` and `data` are OpenAI's list, `models` is Codex's catalogue."""
    models = list(served_models(gateway()))
    listed = [openai_entry(model) for model in models]
    return json_reply({"object": "list", "data": listed, "models": codex_catalogue(models)})


@api.get("/models/<path:name>")
def get_model(name: str) -> Response:
    return json_reply(openai_entry(served_model(gateway(), name)))  # a name that is not listed may still be served
