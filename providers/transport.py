"""Calls to one upstream over requests: pooled, timed, repeated only before the first byte of the answer."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Self
from urllib.parse import urlsplit

import requests
from requests.exceptions import InvalidHeader, InvalidURL
from requests.utils import check_header_validity
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, stop_before_delay
from tenacity.wait import wait_exponential_jitter

from bridge import errors as codes
from bridge.errors import ProviderError
from bridge.protocol.chat import ChatChunk, ChatRequest, ChatResponse
from bridge.spec import ProviderSpec
from providers.adapter import OneAddress
from providers.body import UpstreamBody
from providers.breaker import DOWN, Breaker
from providers.chunks import ChunkReader, joined, read_body
from providers.faults import status_error
from providers.json_text import dump_json
from providers.keys import KeyPool
from providers.settings import ClientSettings, endpoint_url
from providers.shared import SharedState
from providers.upstream_errors import upstream_errors
from providers.watchdog import process_watchdog

LARGEST_ERROR: Final = 1024 * 1024  # bytes of an error body

_ALWAYS_TRANSIENT: Final = frozenset(
    {codes.UPSTREAM_RATE_LIMIT, codes.UPSTREAM_OVERLOADED, codes.UPSTREAM_SERVER_ERROR, codes.UPSTREAM_CUT}
)
_backoff = wait_exponential_jitter(multiplier=0.4, max=8, jitter=0.4)


class ChatStream:
    """An accepted streaming call. Who iterates closes it at the end; cancel() may come from anywhere.

    done        [DONE] came (see ChunkReader)
    body        a whole JSON answer in place of a stream, for `spec.read_response`; known once the iteration has ended
    skipped     broken chunks that were passed over
    cancelled   cancel() was called: the iteration ended early and quietly
    request_id  the upstream's own name for this call, or ""
    """

    def __init__(self, reader: ChunkReader, body: UpstreamBody, request_id: str) -> None:
        self.request_id = request_id
        self._reader = reader
        self._upstream_body = body
        self._batches = reader.batches()

    @property
    def done(self) -> bool:
        return self._reader.done

    @property
    def body(self) -> ChatResponse | None:
        return self._reader.body

    @property
    def skipped(self) -> int:
        return self._reader.skipped

    @property
    def cancelled(self) -> bool:
        return self._upstream_body.stopped

    def batches(self) -> Iterator[list[ChatChunk]]:
        """Non-empty lists of chunks, each what one read brought. Raises ProviderError when the stream fails."""
        try:
            yield from self._batches
        except ProviderError:
            if not self.cancelled:  # a chunk that cancel() cut in two is nobody's fault
                raise

    def __iter__(self) -> Iterator[ChatChunk]:
        return itertools.chain.from_iterable(self.batches())

    def cancel(self) -> None:
        self._upstream_body.stop()

    def close(self) -> None:
        """Gives the connection back after a complete read, drops it otherwise. Only for the side that iterates."""
        self._upstream_body.close(ended=self.done)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class ChatClient:
    """Speaks Chat Completions to one upstream. Safe to use from many threads or greenlets."""

    def __init__(
        self,
        spec: ProviderSpec,
        settings: ClientSettings,
        name: str = "",
        shared: SharedState | None = None,
        on_retry: Callable[[str], None] | None = None,
    ) -> None:
        """name: what messages call this upstream; the spec's name when empty. shared: for keys and breaker.
        on_retry: told the domain code of what failed, before a call is repeated.

        Raises ProviderError (UPSTREAM_ERROR) for an address or a key that no request can be made of.
        """
        self.name = name or spec.name
        self._spec = spec
        self._settings = settings
        self._secret_keys = tuple(key.strip() for key in settings.api_keys)
        self.keys = KeyPool(self.name, self._secret_keys, shared)
        self.breaker = Breaker(self.name, shared)
        self._session = _session(settings)
        self._proxies = {"http": settings.proxy, "https": settings.proxy} if settings.proxy else None
        # Prepared once per key: preparing costs more than the rest of a call (70 µs against 5 for a copy).
        self._prepared = {key: self._prepare(key) for key in (*self._secret_keys, None)}
        self._on_retry = on_retry

    def complete(self, request: ChatRequest, headers: Mapping[str, str] | None = None) -> ChatResponse:
        """One whole answer. headers: laid over those of the settings, such as the key that a client sent.

        Raises ProviderError.
        """
        if request.get("stream"):
            request = {**request, "stream": False}
        body, _ = self._open(request, headers)
        try:
            return read_body(self.name, body.reads(), self._spec.read_error, self._secrets(headers))
        finally:
            body.close()

    def open_stream(self, request: ChatRequest, headers: Mapping[str, str] | None = None) -> ChatStream:
        """Returns as soon as the upstream has accepted the request (its head is there, with a status of 2xx).

        Raises ProviderError.
        """
        if not request.get("stream"):
            request = {**request, "stream": True}
        body, head = self._open(request, headers)
        reader = ChunkReader(self.name, body.reads(), self._spec.read_error, self._secrets(headers))
        return ChatStream(reader, body, head.get("x-request-id") or "")

    def close(self) -> None:
        self._session.close()

    def _tell(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if self._on_retry is not None and isinstance(error, ProviderError):
            self._on_retry(error.code)

    def _prepare(self, key: str | None) -> requests.PreparedRequest:
        headers = {
            "User-Agent": "godex",
            "Accept": "*/*",
            "Accept-Encoding": "identity",  # a compressed stream is held back by whoever compresses it
            "Content-Type": "application/json",
            **self._settings.headers,
        }
        if key is not None:
            headers[self._spec.auth_header] = self._spec.auth_scheme + key
        with upstream_errors(self.name):
            check_headers(headers)
            try:
                url = endpoint_url(self._spec, self._settings)
            except ValueError as error:
                raise InvalidURL(str(error)) from error
            prepared = requests.Request("POST", url, headers=headers).prepare()
            prepared.headers.setdefault("Host", urlsplit(prepared.url or "").netloc.rpartition("@")[2])
            return prepared

    def _open(self, request: ChatRequest, headers: Mapping[str, str] | None) -> tuple[UpstreamBody, Mapping[str, str]]:
        payload, headers = dump_json(request), headers or {}
        started = time.monotonic()
        try:
            return self._attempt(payload, headers)
        except ProviderError as error:
            first = [error]

        def again() -> tuple[UpstreamBody, Mapping[str, str]]:
            if first:
                raise first.pop()
            return self._attempt(payload, headers)

        # Only now, and with the first failure as its first attempt: tenacity costs 3 % of a call that goes well.
        budget = self._settings.budget - (time.monotonic() - started)
        opened: tuple[UpstreamBody, Mapping[str, str]] = Retrying(
            stop=stop_after_attempt(self._settings.attempts) | stop_before_delay(budget),
            wait=_wait,
            retry=retry_if_exception(is_transient),
            before_sleep=self._tell,
            reraise=True,
        )(again)
        return opened

    def _attempt(self, payload: bytes, headers: Mapping[str, str]) -> tuple[UpstreamBody, Mapping[str, str]]:
        """One call, with another key where the upstream refuses one: each key at most once."""
        others = len(self._secret_keys) - 1
        while True:
            self.breaker.admit()
            key = self.keys.take()
            try:
                opened = self._send(key, payload, headers)
            except ProviderError as error:
                self.breaker.failed() if error.code in DOWN else self.breaker.succeeded()
                if not self.keys.refuse(key, error) or others <= 0:
                    raise
                others -= 1
            except BaseException:
                self.breaker.abandoned()
                raise
            else:
                self.breaker.succeeded()
                return opened

    def _send(
        self, key: str | None, payload: bytes, headers: Mapping[str, str]
    ) -> tuple[UpstreamBody, Mapping[str, str]]:
        settings = self._settings
        prepared = self._prepared[key].copy()
        prepared.body = payload
        prepared.headers["Content-Length"] = str(len(payload))
        prepared.headers.update(headers)
        started = time.monotonic()
        with upstream_errors(self.name):
            check_headers(headers)
            # The adapter and not the session: no cookies, no redirects, no look at the environment.
            response = self._session.get_adapter(prepared.url or "").send(
                prepared,
                stream=True,
                timeout=(settings.connect, min(settings.first_byte, settings.total)),
                verify=settings.ca_bundle or True,
                proxies=self._proxies,
            )
        body = UpstreamBody(
            self.name,
            response,
            idle=settings.idle,
            deadline=started + settings.total,
            watchdog=process_watchdog(),
        )
        if 200 <= response.status_code < 300:
            return body, response.headers
        raise self._refusal(response, body, headers)

    def _refusal(self, response: requests.Response, body: UpstreamBody, headers: Mapping[str, str]) -> ProviderError:
        try:
            text = joined(self.name, body.reads(), LARGEST_ERROR)
        except ProviderError:
            text = b""  # the status alone says enough
        finally:
            body.close()
        return status_error(
            self.name,
            response.status_code,
            text,
            response.headers,
            self._spec.read_error,
            self._secrets(headers),
        )

    def _secrets(self, headers: Mapping[str, str] | None) -> tuple[str, ...]:
        """Every key that this call may have carried, so that no message repeats one."""
        sent = (value.rpartition(" ")[2] for value in (headers or {}).values())
        return (*self._secret_keys, *self._settings.headers.values(), *sent)


def check_headers(headers: Mapping[str, str]) -> None:
    """Raises requests' InvalidHeader: line breaks, and what is not ASCII."""
    for name, value in headers.items():
        check_header_validity((name, value))
        if not (name + value).isascii():
            raise InvalidHeader("headers are ASCII")


def is_transient(error: BaseException) -> bool:
    """Whether the same call may well succeed a moment later. Nothing of an answer has been read when this is asked."""
    if not isinstance(error, ProviderError):
        return False
    status, phase = error.context.get("status"), error.context.get("phase")
    if phase == "breaker":
        return False  # asking again is what the breaker is there to prevent; another provider may be asked
    if error.code == codes.UPSTREAM_TIMEOUT:
        return phase == "connect" or status is not None  # not after a silence: that was waited for once already
    if error.code == codes.UPSTREAM_UNREACHABLE:
        return phase == "connect"
    return error.code in _ALWAYS_TRANSIENT or (error.code == codes.UPSTREAM_ERROR and status in (409, 425))


def _wait(state: RetryCallState) -> float:
    """Seconds: what the upstream asked for, else a doubling wait with jitter."""
    error: Any = state.outcome.exception() if state.outcome is not None else None
    asked = error.context.get("wait") if isinstance(error, ProviderError) else None
    return float(asked) if asked is not None else _backoff(state)


def _session(settings: ClientSettings) -> requests.Session:
    session = requests.Session()
    session.trust_env = False  # a .netrc entry would replace our key
    for scheme in ("http://", "https://"):
        session.mount(scheme, OneAddress(pool_connections=4, pool_maxsize=settings.pool_size, max_retries=0))
    return session
