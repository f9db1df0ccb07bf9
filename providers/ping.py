"""Whether an upstream can be reached and takes its keys, asked without spending a token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import requests

from bridge.errors import ProviderError
from bridge.spec import ProviderSpec
from providers.settings import ClientSettings, endpoint_url
from providers.upstream_errors import upstream_errors

PATIENCE: Final = 10.0  # seconds for an answer; a list of models needs no thought


def ping(name: str, spec: ProviderSpec, settings: ClientSettings) -> Iterator[tuple[bool, str]]:
    """For each key (or once without any), whether it went well, and in words how.

    Asks for the list of models, the one thing that nearly all upstreams give for nothing. One that has no such list
    was reached all the same.
    """
    for number, key in enumerate(settings.api_keys or (None,), start=1):
        which = f", key {number}" if len(settings.api_keys) > 1 else ""
        try:
            good, told = _outcome(_status(name, spec, settings, key), key)
        except ProviderError as error:
            good, told = False, f"{error.message} ({error.context.get('cause')}); check {_models_url(spec, settings)}"
        yield good, f"{name}{which}: {told}"


def _outcome(status: int, key: str | None) -> tuple[bool, str]:
    if status in (401, 403):
        if key is None:
            return True, "reached; clients bring the key"
        return False, f"the API key is refused (HTTP {status}); check its credentials"
    if status >= 500:
        return False, f"answers HTTP {status}"
    if status >= 300:
        return True, f"reached; it has no list of models (HTTP {status}), so that the key was not tried"
    return True, "right"


def _status(name: str, spec: ProviderSpec, settings: ClientSettings, key: str | None) -> int:
    headers = dict(settings.headers)
    if key is not None:
        headers[spec.auth_header] = spec.auth_scheme + key.strip()
    with upstream_errors(name), requests.Session() as session:
        session.trust_env = False  # as for calls
        reply = session.get(
            _models_url(spec, settings),
            headers=headers,
            timeout=(settings.connect, PATIENCE),
            verify=settings.ca_bundle or True,
            proxies={"http": settings.proxy, "https": settings.proxy} if settings.proxy else None,
            allow_redirects=False,  # a key is not carried elsewhere
            stream=True,  # the body is not read
        )
        return reply.status_code


def _models_url(spec: ProviderSpec, settings: ClientSettings) -> str:
    scheme, host, path, query, _ = urlsplit(endpoint_url(spec, settings))
    call = (spec.path if settings.path is None else settings.path).partition("?")[0]
    return urlunsplit((scheme, host, f"{path.removesuffix(call.rstrip('/')).rstrip('/')}/models", query, ""))
