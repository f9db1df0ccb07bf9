"""The exceptions of requests, urllib3 and sockets → ProviderError. The one place that knows these families."""

from __future__ import annotations

import ssl
from typing import Literal

import requests.exceptions as requests_errors
import urllib3.exceptions as urllib3_errors

from bridge.errors import (
    UPSTREAM_CUT,
    UPSTREAM_ERROR,
    UPSTREAM_INVALID_RESPONSE,
    UPSTREAM_TIMEOUT,
    UPSTREAM_UNREACHABLE,
    ProviderError,
)

Phase = Literal["connect", "tls", "head", "body", "settings"]

# In order: the first kind that matches. requests wraps what happens up to the head; a body is read through urllib3
# or from the socket itself.
_KINDS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str, Phase, str], ...] = (
    (
        (requests_errors.ConnectTimeout, urllib3_errors.ConnectTimeoutError),
        UPSTREAM_TIMEOUT,
        "connect",
        "{provider} did not accept a connection in time",
    ),
    (
        (requests_errors.Timeout, urllib3_errors.TimeoutError, TimeoutError),
        UPSTREAM_TIMEOUT,
        "head",
        "{provider} did not answer in time",
    ),
    (
        (requests_errors.SSLError, urllib3_errors.SSLError, ssl.SSLCertVerificationError),
        UPSTREAM_UNREACHABLE,
        "tls",
        "no trusted TLS connection to {provider}; check endpoint.base_url and its certificate",
    ),
    (
        (requests_errors.ProxyError, urllib3_errors.ProxyError),
        UPSTREAM_UNREACHABLE,
        "connect",
        "the proxy in front of {provider} cannot be used",
    ),
    (
        (requests_errors.ContentDecodingError, urllib3_errors.DecodeError),
        UPSTREAM_INVALID_RESPONSE,
        "body",
        "{provider} sent a body that cannot be decompressed",
    ),
    (
        (
            urllib3_errors.ProtocolError,
            requests_errors.ChunkedEncodingError,
            ConnectionResetError,
            BrokenPipeError,
            ssl.SSLError,
        ),
        UPSTREAM_CUT,
        "body",
        "{provider} closed the connection before its answer was complete",
    ),
    (
        (requests_errors.ConnectionError, urllib3_errors.HTTPError, OSError),
        UPSTREAM_UNREACHABLE,
        "connect",
        "{provider} cannot be reached",
    ),
    (
        # A subclass of ValueError, too: a URL without scheme, a key with a line break in it.
        requests_errors.RequestException,
        UPSTREAM_ERROR,
        "settings",
        "the request to {provider} cannot be sent; check its base_url, headers and key",
    ),
)


class upstream_errors:  # noqa: N801  # used as contextlib's are
    """Raises ProviderError for whatever these libraries raise inside. Its context holds provider, phase and cause.

    The cause is the name of the exception only: its text may hold the URL or a header with a key. A class, for it is
    entered twice in each call: contextlib's generators cost three times as much.
    """

    __slots__ = ("_provider",)

    def __init__(self, provider: str) -> None:
        self._provider = provider

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, (requests_errors.RequestException, urllib3_errors.HTTPError, OSError)):
            raise _mapped(self._provider, error) from error


def _mapped(provider: str, error: Exception) -> ProviderError:
    if _aborted(error):  # closed without a head: a kept connection that had gone stale, or a crash
        error_kind: Exception = urllib3_errors.ProtocolError()
    else:
        error_kind = error
    for kinds, code, phase, message in _KINDS:
        if isinstance(error_kind, kinds) and not _wrong_setting(error_kind, phase):
            return ProviderError(
                code, message.format(provider=provider), provider=provider, phase=phase, cause=type(error).__name__
            )
    raise AssertionError(f"no kind for {type(error)}")


def _aborted(error: Exception) -> bool:
    """requests' ConnectionError around a ProtocolError: there was a connection, and it was closed."""
    return type(error) is requests_errors.ConnectionError and isinstance(
        error.args[0] if error.args else None, (urllib3_errors.ProtocolError, ConnectionResetError, BrokenPipeError)
    )


def _wrong_setting(error: Exception, phase: Phase) -> bool:
    """RequestException is an OSError: what has no network in it must not count as a network failure."""
    return (
        phase == "connect"
        and isinstance(error, requests_errors.RequestException)
        and not isinstance(error, (requests_errors.ConnectionError, requests_errors.Timeout))
    )
