"""GodeX(app): the gateway inside any Flask app."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import Flask

from .config.loader import load_config
from .config.model import Config
from .gateway import Gateway
from .http import compact as _compact_routes
from .http import conversations as _conversation_routes
from .http import health as _health_routes
from .http import models as _model_routes
from .http import responses as _response_routes
from .http import stored as _stored_routes
from .http import websocket as _websocket_routes
from .http.blueprint import EXTENSION, api, health

ROUTES = (
    _response_routes,
    _compact_routes,
    _stored_routes,
    _conversation_routes,
    _model_routes,
    _health_routes,
    _websocket_routes,
)  # imported for the routes they add to the blueprints


class GodeX:
    """Mounts the gateway: `GodeX(app)`, or `GodeX().init_app(app, url_prefix="/v1")`.

    config: a Config, the path of a godex.yaml, or a mapping with its keys; without one, `app.config["GODEX"]`, and
    without that the usual search (see the README). The host's logging, JSON provider and error handlers stay its own.
    """

    def __init__(self, app: Flask | None = None, config: Config | Mapping[str, Any] | str | None = None) -> None:
        self._config = config
        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask, url_prefix: str = "/v1", health_prefix: str = "") -> None:
        """health_prefix: where /health and /metrics go, for a host that has such routes of its own.

        Raises ServerError CONFIG_INVALID.
        """
        source = self._config if self._config is not None else app.config.get("GODEX")
        config = source if isinstance(source, Config) else load_config(source)
        app.extensions[EXTENSION] = Gateway(config)  # not on self: one extension may serve several apps
        app.register_blueprint(api, url_prefix=url_prefix)
        app.register_blueprint(health, url_prefix=health_prefix or None)
