"""No secret comes out by accident."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest

from app.config.model import Config
from app.config.redact import redacted
from app.config.secret import Secret, masked_url
from bridge.errors import ServerError

Load = Callable[..., Config]

HUSH = "hush-hush-hush-hush-hush-hush-hush"  # in each place where a secret may stand

EVERYWHERE: dict[str, Any] = {
    "auth": {"keys": [HUSH + "0", {"name": "team", "key": HUSH + "1"}], "seal_keys": [HUSH]},
    "providers": {
        "alpha": {"spec": "alpha", "credentials": {"api_key": HUSH}, "proxy": f"http://me:{HUSH}@proxy.example:1"},
        "beta": {"spec": "beta", "credentials": {"api_keys": [HUSH, "other"]}, "headers": {"X-Key": HUSH}},
        "plain": {
            "spec": "plain",
            "endpoint": {"base_url": f"https://p.example/?key={HUSH}", "path": f"/chat?v=1&api_token={HUSH}"},
        },
    },
    "session": {"redis": {"url": f"redis://user:{HUSH}@cache:6379/0?password={HUSH}"}},
}


def test_no_secret_is_in_what_a_config_shows_of_itself(load: Load) -> None:
    config = load(EVERYWHERE)
    for shown in (repr(config), str(config), json.dumps(redacted(config)), repr(config.providers), repr(config.auth)):
        assert HUSH not in shown


def test_what_is_shown_is_whole_but_for_the_secrets(load: Load) -> None:
    shown = redacted(load(EVERYWHERE))
    assert shown["server"]["port"] == 5678
    assert shown["auth"]["keys"][1] == {
        "name": "team",
        "sha256": "***",
        "limits": {"requests_per_minute": None, "tokens_per_minute": None, "concurrent": None},
    }
    assert shown["providers"]["beta"]["credentials"] == {"api_keys": ["***", "***"], "passthrough": False}
    assert shown["providers"]["beta"]["headers"] == {"X-Key": "***"}
    assert shown["providers"]["plain"]["endpoint"]["path"] == "/chat?v=1&api_token=***"
    assert shown["session"]["redis"]["url"] == "redis://***@cache:6379/0?password=***"
    assert set(shown) == set(asdict(Config())) - {"source", "unsupported"}


def test_what_is_shown_is_a_configuration_again(load: Load) -> None:
    source = copy.deepcopy(EVERYWHERE)
    del source["auth"], source["session"], source["providers"]["alpha"]["proxy"]
    shown = redacted(load(source))
    assert redacted(load(shown)) == shown


@pytest.mark.parametrize(
    "change",
    [
        {"providers": {"alpha": {"spec": "alpha", "credentials": HUSH}}},
        {"providers": {"alpha": {"spec": "alpha", "credentials": {"api_key": [HUSH]}}}},
        {"providers": {"alpha": {"spec": "alpha", "credentials": {"api_keys": HUSH}}}},
        {"providers": {"alpha": {"spec": "alpha", "headers": {"X": [HUSH]}, "api_key": HUSH}}},
        {"providers": {"alpha": {"spec": "alpha", "endpoint": {"base_url": f"ftp://{HUSH}"}}}},
        {"auth": {"keys": [[HUSH]], "seal_key": {"x": HUSH}, "open": HUSH}},
        {"auth": {"keys": [HUSH, HUSH], "open": True}},
        {"auth": {"seal_key": HUSH[:31]}},
        {"server": {"port": HUSH, "host": "0.0.0.0", "trusted_proxies": [HUSH]}},
        {"session": {"ttl": HUSH, "backend": HUSH, "redis": HUSH}},
    ],
)
def test_no_secret_is_in_an_error(load: Load, change: dict[str, Any]) -> None:
    with pytest.raises(ServerError) as caught:
        load({**EVERYWHERE, **change})
    assert HUSH[:31] not in f"{caught.value} {caught.value.to_log_entry()}"


def test_a_secret_is_a_value_that_keeps_its_text_to_itself() -> None:
    secret = Secret(HUSH)
    assert (str(secret), repr(secret), f"{secret}") == ("***", "Secret(***)", "***")
    assert secret.reveal() == HUSH
    assert secret == Secret(HUSH) != Secret("other")
    assert len({secret, Secret(HUSH)}) == 1
    assert pickle.loads(pickle.dumps(secret)) == copy.deepcopy(secret) == secret


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://cache:6379/0", "redis://cache:6379/0"),
        ("redis://:pw@cache", "redis://***@cache"),
        ("redis+sentinel://u:p%40q@a:1,b:2/main/0", "redis+sentinel://***@a:1,b:2/main/0"),
        ("https://h/p?api-version=1&subscription-key=abc#x", "https://h/p?api-version=1&subscription-key=***#x"),
        ("no url", "no url"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    assert masked_url(url) == shown
