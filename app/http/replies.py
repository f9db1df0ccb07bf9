"""JSON bodies. Not Flask's `jsonify`: a host app's JSON provider is its own business, and this is faster."""

from __future__ import annotations

from typing import Any

from flask import Response

from providers.json_text import dump_json


def json_reply(body: Any, status: int = 200) -> Response:
    return Response(dump_json(body), status=status, mimetype="application/json")
