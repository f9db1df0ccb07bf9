"""JSON bodies. Not Flask's `jsonify`: a host app's JSON provider is its own business, and this is faster."""

from __future__ import annotations

from typing import Any

import orjson
from flask import Response


def json_reply(body: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(body), status=status, mimetype="application/json")
