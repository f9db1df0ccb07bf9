"""requests' adapter for calls that all go to one address: what it works out for each call is worked out once.

Of a call's CPU (without waiting) that was a tenth: addresses parsed five times, a pool looked up by a key of 25 parts,
cookies searched for.
"""

from __future__ import annotations

from typing import Any

import requests
from requests.adapters import HTTPAdapter

from providers.connection import PlainConnection, TlsConnection


class OneAddress(HTTPAdapter):
    """Every request has the same URL and goes through the same proxy, with the same certificates.

    Answers carry no cookies and no encoding: both are for readers of text, which is not how their bodies are read.
    """

    _pool: Any = None
    _target: str | None = None

    def get_connection_with_tls_context(self, *args: Any, **options: Any) -> Any:
        if self._pool is None:
            pool: Any = super().get_connection_with_tls_context(*args, **options)
            pool.ConnectionCls = TlsConnection if pool.scheme == "https" else PlainConnection
            self._pool = pool
        return self._pool

    def request_url(self, *args: Any) -> str:
        if self._target is None:
            self._target = super().request_url(*args)
        return self._target

    def build_response(self, req: requests.PreparedRequest, resp: Any) -> requests.Response:
        response = requests.Response()
        response.status_code = resp.status
        response.headers = resp.headers  # case-insensitive already
        response.raw = resp
        response.reason = resp.reason
        response.url = req.url or ""
        response.request = req
        response.connection = self
        return response

    def close(self) -> None:
        self._pool = None
        super().close()
