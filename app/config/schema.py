"""godex.yaml as marshmallow: unknown keys are refused, absent ones are left to the defaults of model.py."""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from marshmallow import RAISE, Schema, ValidationError, fields, post_load, pre_load, validates_schema
from marshmallow.validate import Regexp

from . import model
from .capabilities import CapabilityMap
from .fields import Duration, Positive, SecretText, Switch, Text, Whole

SHORTEST_SEAL_KEY = 32  # characters: 256 bits as hexadecimal are 64, as base64 44; less is a word, not a key


class Section(Schema):
    """A section of the file; loads to the dataclass `builds`."""

    class Meta:
        unknown = RAISE

    builds: type

    @pre_load
    def an_empty_key_is_absent(self, data: Any, **_: Any) -> Any:
        """`session:` with everything below it commented out is null in YAML."""
        if not isinstance(data, Mapping):
            return data
        return {key: value for key, value in data.items() if value is not None}

    @post_load
    def build(self, data: dict[str, Any], **_: Any) -> Any:
        return self.builds(**{key: tuple(value) if isinstance(value, list) else value for key, value in data.items()})


def _section(schema: type[Section], **options: Any) -> fields.Nested:
    return fields.Nested(schema, **options)


def _as_list(value: Any) -> list[Any]:
    """The two ways to give keys, one or several, as several."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _network(text: str) -> None:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise ValidationError("must be an IP address or network, such as 10.0.0.0/8") from None


class ServerSection(Section):
    builds = model.ServerConfig

    host = Text()
    port = Whole(0, 65535)
    workers = Whole(1, 1024)
    connections = Whole(1, 100_000)
    websockets = Switch()
    heartbeat = Duration()
    max_body_mb = Positive()
    graceful_timeout = Duration()
    trusted_proxies = fields.List(fields.String(validate=_network))


class LimitsSection(Section):
    builds = model.KeyLimits

    requests_per_minute = Whole(1)
    tokens_per_minute = Whole(1)
    concurrent = Whole(1)


class KeySection(Section):
    """{key | sha256, name, limits}; a plain string is {key: string}. Loads to None for an empty key."""

    name = Text()
    key = fields.String()
    sha256 = fields.String(validate=Regexp(r"[0-9a-fA-F]{64}\Z", error="must be 64 hexadecimal digits"))
    limits = _section(LimitsSection)

    @pre_load
    def a_plain_string_is_a_key(self, data: Any, **_: Any) -> Any:
        return {"key": data} if isinstance(data, str) else data

    @validates_schema
    def one_of_both(self, data: dict[str, Any], **_: Any) -> None:
        if ("key" in data) == ("sha256" in data):
            raise ValidationError("needs either key or sha256")

    @post_load
    def build(self, data: dict[str, Any], **_: Any) -> model.ApiKey | None:
        key = data.pop("key", None)
        if key == "":  # an optional variable: keys: ["${GODEX_API_KEY:-}"]
            return None
        digest = data.pop("sha256").lower() if key is None else hashlib.sha256(key.encode()).hexdigest()
        return model.ApiKey(name=data.pop("name", f"key-{digest[:8]}"), sha256=digest, **data)


class AuthSection(Section):
    builds = model.AuthConfig

    keys = fields.List(fields.Nested(KeySection))
    keys_file = Text()
    open = Switch()
    seal_key = SecretText()
    seal_keys = fields.List(SecretText())

    @validates_schema
    def seal_keys_are_keys(self, data: dict[str, Any], **_: Any) -> None:
        if "seal_key" in data and "seal_keys" in data:
            raise ValidationError("stands beside seal_key: keep one of them", "seal_keys")
        for name in ("seal_key", "seal_keys"):
            if any(len(secret.reveal()) < SHORTEST_SEAL_KEY for secret in _as_list(data.get(name))):
                raise ValidationError(
                    f"needs at least {SHORTEST_SEAL_KEY} characters; `openssl rand -base64 32` makes a good one", name
                )

    @post_load
    def build(self, data: dict[str, Any], **_: Any) -> model.AuthConfig:
        return model.AuthConfig(
            keys=tuple(key for key in data.get("keys", []) if key is not None),
            keys_file=data.get("keys_file"),
            open=data.get("open", False),
            seal_keys=tuple(_as_list(data.get("seal_key")) or _as_list(data.get("seal_keys"))),
        )


class KeysFile(Section):
    """auth.keys_file. Loads to a tuple of keys."""

    keys = fields.List(fields.Nested(KeySection))

    @post_load
    def build(self, data: dict[str, Any], **_: Any) -> Any:
        return tuple(key for key in data.get("keys", []) if key is not None)


class ModelsSection(Section):
    builds = model.ModelsConfig

    aliases = fields.Dict(keys=Text(), values=Text())
    fallbacks = fields.Dict(keys=Text(), values=fields.List(Text()))

    @post_load
    def build(self, data: dict[str, Any], **_: Any) -> model.ModelsConfig:
        fallbacks = {asked: tuple(others) for asked, others in data.get("fallbacks", {}).items()}
        return model.ModelsConfig(aliases=data.get("aliases", {}), fallbacks=fallbacks)


class CredentialsSection(Section):
    builds = model.Credentials

    api_key = SecretText()
    api_keys = fields.List(SecretText())
    passthrough = Switch()

    @pre_load
    def the_word_alone(self, data: Any, **_: Any) -> Any:
        return {"passthrough": True} if data == "passthrough" else data

    @validates_schema
    def only_one_way(self, data: dict[str, Any], **_: Any) -> None:
        given = [name for name in ("api_key", "api_keys", "passthrough") if data.get(name)]
        if len(given) > 1:
            raise ValidationError(f"needs one of {', '.join(given)}, not several")

    @post_load
    def build(self, data: dict[str, Any], **_: Any) -> model.Credentials:
        keys = _as_list(data.get("api_key")) or _as_list(data.get("api_keys"))
        return model.Credentials(api_keys=tuple(keys), passthrough=data.get("passthrough", False))


def _http_url(text: str) -> None:
    try:
        parts = urlsplit(text)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise ValidationError("must be an http:// or https:// URL")
    if parts.username or parts.password:
        raise ValidationError("must have no user or password: keys go to credentials or headers")


class EndpointSection(Section):
    builds = model.Endpoint

    base_url = fields.String(validate=_http_url)
    path = fields.String(validate=Regexp(r"(/|\Z)", error="must start with /"))


class TimeoutsSection(Section):
    builds = model.Timeouts

    connect = Duration()
    first_byte = Duration()
    idle = Duration()
    total = Duration()


class RetrySection(Section):
    builds = model.Retry

    attempts = Whole(1, 20)
    budget = Duration()


class ProviderSection(Section):
    builds = model.ProviderConfig

    spec = Text(
        required=True,
        error_messages={
            "required": "is required: the kind of upstream; openai_compatible for one that has no spec of its own"
        },
    )
    credentials = _section(CredentialsSection)
    endpoint = _section(EndpointSection)
    headers = fields.Dict(
        keys=fields.String(validate=Regexp(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z", error="is not a header name")),
        values=SecretText(),
    )
    capabilities = CapabilityMap()
    models = fields.Dict(keys=Text(), values=CapabilityMap())
    timeouts = _section(TimeoutsSection)
    retry = _section(RetrySection)
    pool_size = Whole(1, 100_000)
    proxy = Text()
    ca_bundle = Text()


class MemorySection(Section):
    builds = model.MemoryStoreConfig

    max_count = Whole(1)
    max_mb = Positive()


class SqliteSection(Section):
    builds = model.SqliteStoreConfig

    path = Text()


class RedisSection(Section):
    builds = model.RedisStoreConfig

    url = Text()
    prefix = Text()
    connections = Whole(1, 100_000)


class SpoolSection(Section):
    builds = model.SpoolConfig

    max_count = Whole(1)
    max_mb = Positive()


class SessionSection(Section):
    builds = model.SessionConfig

    backend = Text("memory", "sqlite", "redis")
    memory = _section(MemorySection)
    sqlite = _section(SqliteSection)
    redis = _section(RedisSection)
    ttl = Duration()
    max_depth = Whole(1, 10_000)
    include_incomplete = Switch()
    instructions = Text("replay", "current")
    on_save_error = Text("warn", "fail")
    spool = _section(SpoolSection)


class InputSection(Section):
    builds = model.InputConfig

    unknown_items = Text("text", "drop", "reject")


class CompatSection(Section):
    builds = model.CompatConfig

    strict = Switch()


class OutputSection(Section):
    builds = model.OutputConfig

    repair = Whole(0, 5)


class ReasoningSection(Section):
    builds = model.ReasoningConfig

    stream = Text("summary", "raw")
    memory = Duration(or_zero=True)


class TraceSection(Section):
    builds = model.TraceConfig

    enabled = Switch()
    path = Text()
    capture_payload = Switch()
    max_queue_size = Whole(1)
    batch_size = Whole(1)
    flush_interval = Duration()
    retention = Duration()


class LoggingSection(Section):
    builds = model.LoggingConfig

    level = Text("debug", "info", "warning", "error")
    format = Text("auto", "json", "text")


class ConfigFile(Section):
    builds = model.Config

    server = _section(ServerSection)
    auth = _section(AuthSection)
    default_provider = Text()
    models = _section(ModelsSection)
    providers = fields.Dict(
        keys=fields.String(validate=Regexp(r"[^/\s]+\Z", error="a provider's name has no slash and no space")),
        values=fields.Nested(ProviderSection),
    )
    session = _section(SessionSection)
    input = _section(InputSection)
    compat = _section(CompatSection)
    output = _section(OutputSection)
    reasoning = _section(ReasoningSection)
    diagnostics = Switch()
    trace = _section(TraceSection)
    logging = _section(LoggingSection)


CONFIG_FILE = ConfigFile()
KEY_LIST = KeysFile()
