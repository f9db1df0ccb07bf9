"""What a client needs to know beside its spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from bridge.spec import ProviderSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """One provider's section of the configuration, as far as its transport is concerned. Times are seconds.

    base_url    None = the spec's; may be a bare host, end in a version prefix, or name the whole endpoint
    path        None = the spec's
    api_keys    used in turn; none = the caller passes the client's own key in the headers of each call
    headers     sent with every call
    connect     until a connection stands
    first_byte  from the request until the head of the answer
    idle        of silence between two reads of the body
    total       from the request until the end of the body
    attempts    all of them together; 1 = never again
    budget      for all attempts and the waits between them
    pool_size   connections kept open
    proxy       URL of an HTTP proxy; the environment's proxies are not looked at
    ca_bundle   path of a PEM file to trust instead of the usual authorities
    """

    base_url: str | None = None
    path: str | None = None
    api_keys: tuple[str, ...] = field(default=(), repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    connect: float = 5.0
    first_byte: float = 120.0
    idle: float = 120.0
    total: float = 3600.0
    attempts: int = 3
    budget: float = 30.0
    pool_size: int = 200
    proxy: str | None = field(default=None, repr=False)
    ca_bundle: str | None = None


def endpoint_url(spec: ProviderSpec, settings: ClientSettings) -> str:
    """The URL of the calls. A bare host gets the spec's own prefix, or /v1, which compatible servers share.

    Raises ValueError for what is no URL at all.
    """
    base = urlsplit((settings.base_url or spec.base_url).strip())
    call_path, _, call_query = (spec.path if settings.path is None else settings.path).partition("?")
    prefix = base.path.rstrip("/")
    if not prefix:
        prefix = urlsplit(spec.base_url).path.rstrip("/") if spec.base_url else "/v1"
    whole = prefix if prefix.endswith(call_path.rstrip("/")) else f"{prefix}/{call_path.lstrip('/')}"
    query = "&".join(part for part in (base.query, call_query) if part)
    return urlunsplit((base.scheme, base.netloc, whole, query, ""))
