"""What is refused, where it says so, and where the configuration comes from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.config.loader import load_config
from app.config.model import Config
from bridge.errors import CONFIG_INVALID, ServerError
from tests.app.config.conftest import SPECS

ALPHA = {"spec": "alpha", "credentials": {"api_key": "a-key"}}
Load = Callable[..., Config]


def problems(load: Load, source: Any, **options: Any) -> list[str]:
    with pytest.raises(ServerError) as caught:
        load(source, **options)
    assert caught.value.code == CONFIG_INVALID
    listed: list[str] = caught.value.context["problems"]
    assert all(problem in caught.value.message for problem in listed)
    return listed


def with_alpha(**sections: Any) -> dict[str, Any]:
    return {"providers": {"alpha": ALPHA}, **sections}


def alpha_with(**keys: Any) -> dict[str, Any]:
    return {"providers": {"alpha": {**ALPHA, **keys}}}


NO_DURATION = "must be a duration above zero: seconds, or a number with a unit (500ms, 10s, 15m, 2h, 30d)"

MISTAKES = {
    "misspelt section": (with_alpha(sesion={}), "sesion: unknown key; did you mean 'session'?"),
    "misspelt key": (with_alpha(server={"prot": 1}), "server.prot: unknown key; did you mean 'port'?"),
    "misspelt key, deep": (
        alpha_with(timeouts={"conect": 5}),
        "providers.alpha.timeouts.conect: unknown key; did you mean 'connect'?",
    ),
    "key of another section": (with_alpha(heartbeat=5), "heartbeat: unknown key; did you mean 'server.heartbeat'?"),
    "key one level too high": (
        alpha_with(base_url="https://a.example"),
        "providers.alpha.base_url: unknown key; did you mean 'endpoint.base_url'?",
    ),
    "key like no other": (with_alpha(output={"zzz": 1}), "output.zzz: unknown key; known here: repair"),
    "section that is a list": (with_alpha(trace=[1]), "trace: must be a mapping"),
    "providers that are a list": ({"providers": ["alpha"]}, "providers: must be a mapping"),
    "provider without spec": (
        {"providers": {"x": {}}},
        "providers.x.spec: is required: the kind of upstream; openai_compatible for one that has no spec of its own",
    ),
    "provider that is empty": ({"providers": {"x": None}}, "providers.x: must not be empty"),
    "provider with a slash": (
        {"providers": {"a/b": ALPHA}},
        "providers.a/b: a provider's name has no slash and no space",
    ),
    "port that is no number": (with_alpha(server={"port": "http"}), "server.port: must be a whole number"),
    "port with a fraction": (with_alpha(server={"port": 80.5}), "server.port: must be a whole number"),
    "port that is a switch": (with_alpha(server={"port": True}), "server.port: must be a whole number"),
    "port too high": (with_alpha(server={"port": 70000}), "server.port: must be at least 0 and at most 65535"),
    "no workers": (with_alpha(server={"workers": 0}), "server.workers: must be at least 1 and at most 1024"),
    "size below zero": (with_alpha(server={"max_body_mb": -1}), "server.max_body_mb: must be a number above zero"),
    "size without end": (
        with_alpha(server={"max_body_mb": float("inf")}),
        "server.max_body_mb: must be a number above zero",
    ),
    "switch that is a number": (with_alpha(diagnostics=1), "diagnostics: must be true or false"),
    "switch that is a word": (with_alpha(compat={"strict": "maybe"}), "compat.strict: must be true or false"),
    "duration with a foreign unit": (
        with_alpha(session={"ttl": "3y"}),
        f"session.ttl: {NO_DURATION}",
    ),
    "duration of nothing": (
        with_alpha(trace={"flush_interval": 0}),
        f"trace.flush_interval: {NO_DURATION}",
    ),
    "word that is not offered": (
        with_alpha(session={"backend": "postgres"}),
        "session.backend: must be one of: memory, sqlite, redis",
    ),
    "text that is a number": (
        with_alpha(models={"aliases": {"m": 5}}),
        "models.aliases.m: must be text (put it in quotes)",
    ),
    "proxy that is no network": (
        with_alpha(server={"trusted_proxies": ["127.0.0.1", "nginx"]}),
        "server.trusted_proxies[1]: must be an IP address or network, such as 10.0.0.0/8",
    ),
    "base_url without scheme": (
        alpha_with(endpoint={"base_url": "a.example/v1"}),
        "providers.alpha.endpoint.base_url: must be an http:// or https:// URL",
    ),
    "base_url with a password": (
        alpha_with(endpoint={"base_url": "https://me:hush@a.example"}),
        "providers.alpha.endpoint.base_url: must have no user or password: keys go to credentials or headers",
    ),
    "path without slash": (alpha_with(endpoint={"path": "chat"}), "providers.alpha.endpoint.path: must start with /"),
    "header that is none": (
        alpha_with(headers={"X Team": "a"}),
        "providers.alpha.headers.X Team: is not a header name",
    ),
    "two ways to give a key": (
        {"providers": {"alpha": {"spec": "alpha", "credentials": {"api_key": "a", "passthrough": True}}}},
        "providers.alpha.credentials: needs one of api_key, passthrough, not several",
    ),
    "key that is empty": (
        {"providers": {"alpha": {"spec": "alpha", "credentials": {"api_key": ""}}}},
        "providers.alpha.credentials.api_key: must not be empty (is the environment variable set?)",
    ),
    "no key for a spec that needs one": (
        {"providers": {"alpha": {"spec": "alpha"}}},
        "providers.alpha.credentials: a key is needed: {api_key: ${ALPHA_API_KEY}}, or passthrough: true",
    ),
    "no address for a spec without one": (
        {"providers": {"p": {"spec": "plain"}}},
        "providers.p.endpoint.base_url: is required: spec plain has no address of its own",
    ),
    "misspelt capability": (
        alpha_with(capabilities={"efort": "native"}),
        "providers.alpha.capabilities.efort: unknown key; did you mean 'effort'?",
    ),
    "capability of the wrong type": (
        alpha_with(capabilities={"input_images": "no"}),
        "providers.alpha.capabilities.input_images: must be true or false",
    ),
    "capability with a foreign word": (
        alpha_with(capabilities={"effort": "much"}),
        "providers.alpha.capabilities.effort: must be one of: none, boolean, native",
    ),
    "capability that is no list": (
        alpha_with(capabilities={"tools": "function"}),
        "providers.alpha.capabilities.tools: must be a list",
    ),
    "range of three": (
        alpha_with(capabilities={"top_p_range": [0, 1, 2]}),
        "providers.alpha.capabilities.top_p_range: must be a list of 2",
    ),
    "capability of a model": (
        alpha_with(models={"a-*": {"max_tools": "many"}}),
        "providers.alpha.models.a-*.max_tools: must be a whole number",
    ),
    "key entry without key": (with_alpha(auth={"keys": [{"name": "n"}]}), "auth.keys[0]: needs either key or sha256"),
    "key entry with both": (
        with_alpha(auth={"keys": ["k", {"key": "a", "sha256": "0" * 64}]}),
        "auth.keys[1]: needs either key or sha256",
    ),
    "hash that is none": (
        with_alpha(auth={"keys": [{"sha256": "abc"}]}),
        "auth.keys[0].sha256: must be 64 hexadecimal digits",
    ),
    "misspelt limit": (
        with_alpha(auth={"keys": [{"key": "a", "limits": {"requests_per_minut": 1}}]}),
        "auth.keys[0].limits.requests_per_minut: unknown key; did you mean 'requests_per_minute'?",
    ),
    "one key twice": (
        with_alpha(auth={"keys": ["a", {"name": "b", "key": "a"}]}),
        "auth.keys: one key stands here twice",
    ),
    "one name twice": (
        with_alpha(auth={"keys": [{"name": "n", "key": "a"}, {"name": "n", "key": "b"}]}),
        "auth.keys: two keys have the same name",
    ),
    "short seal key": (
        with_alpha(auth={"seal_key": "short"}),
        "auth.seal_key: needs at least 32 characters; `openssl rand -base64 32` makes a good one",
    ),
    "seal key in both ways": (
        with_alpha(auth={"seal_key": "s" * 32, "seal_keys": ["s" * 32]}),
        "auth.seal_keys: stands beside seal_key: keep one of them",
    ),
    "open beside keys": (
        with_alpha(auth={"keys": ["a"], "open": True}),
        "auth.open: stands beside auth.keys: keep one of them",
    ),
    "door open to others": (
        with_alpha(server={"host": "0.0.0.0"}),
        (
            "auth.keys: none, but server.host 0.0.0.0 can be reached from outside: add a key"
            " (keys: [${GODEX_API_KEY}]), listen on 127.0.0.1, or say auth.open: true"
        ),
    ),
    "default that is not configured": (
        with_alpha(default_provider="alpa"),
        "default_provider: no provider is called 'alpa'; did you mean 'alpha'?",
    ),
    "default with an unknown spec": (
        {"providers": {"x": {"spec": "alpah"}}},
        "providers.x.spec: unknown spec 'alpah', needed by default_provider; did you mean 'alpha'?",
    ),
    "alias to an unknown spec": (
        {"providers": {"alpha": ALPHA, "x": {"spec": "zzz"}}, "models": {"aliases": {"m": "x/y"}}},
        "providers.x.spec: unknown spec 'zzz', needed by models.aliases.m; known: alpha, beta, plain",
    ),
    "fallback to an unknown spec": (
        {"providers": {"alpha": ALPHA, "x": {"spec": "zzz"}}, "models": {"fallbacks": {"alpha/a": ["x/y"]}}},
        "providers.x.spec: unknown spec 'zzz', needed by models.fallbacks.alpha/a[0]; known: alpha, beta, plain",
    ),
    "alias without provider": (
        with_alpha(models={"aliases": {"m": "alpha-1"}}),
        "models.aliases.m: must read provider/model, such as alpha/alpha-1",
    ),
    "alias to nobody": (
        with_alpha(models={"aliases": {"m": "alfa/a"}}),
        "models.aliases.m: no provider is called 'alfa'; did you mean 'alpha'?",
    ),
    "fallback for nobody": (
        with_alpha(models={"fallbacks": {"beta/b": ["alpha/a"]}}),
        "models.fallbacks.beta/b: no provider is called 'beta'",
    ),
    "memory shared by workers": (
        with_alpha(session={"backend": "memory"}, server={"workers": 2}),
        "session.backend: memory is not shared between workers: use sqlite or redis, or server.workers: 1",
    ),
    "no provider at all": (
        {},
        (
            "providers: none is configured. Write a godex.yaml (`godex init` does), or set a key in the environment"
            " (ALPHA_API_KEY, BETA_API_KEY), or use the demo, which needs no key: `godex serve --demo`, or `godex init --yes`"
            " for a file"
        ),
    ),
}


@pytest.mark.parametrize(("source", "problem"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_with_its_path(load: Load, source: dict[str, Any], problem: str) -> None:
    assert problems(load, source) == [problem]


def test_every_problem_is_told_not_only_the_first(load: Load) -> None:
    source = {
        "server": {"port": "x", "hots": "y"},
        "auth": {"keys": ["${MISSING}"]},
        "providers": {"a": {}, "b": {"spec": "beta", "retry": {"attempts": 0}}},
    }
    assert [problem.split(":")[0] for problem in problems(load, source)] == [
        "auth.keys[0]",
        "providers.a.spec",
        "providers.b.retry.attempts",
        "server.hots",
        "server.port",
    ]


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        (10, 10.0),
        (1.5, 1.5),
        ("10", 10.0),
        ("500ms", 0.5),
        ("15m", 900.0),
        ("2 h", 7200.0),
        ("30d", 2592000.0),
        ("1w", 604800.0),
    ],
)
def test_a_duration_is_seconds_or_carries_a_unit(load: Load, written: object, seconds: float) -> None:
    assert load(with_alpha(session={"ttl": written})).session.ttl == seconds


def test_one_provider_is_a_complete_configuration(load: Load) -> None:
    config = load(with_alpha())
    assert config.default_provider == "alpha"
    assert config == Config(
        default_provider="alpha", providers=config.providers, source="mapping", unsupported=frozenset()
    )


def test_the_first_provider_is_the_default_one(load: Load) -> None:
    assert load({"providers": {"b": {**ALPHA}, "a": {**ALPHA}}}).default_provider == "b"


def test_a_provider_with_an_unknown_spec_that_nobody_needs_is_kept_as_unsupported(load: Load) -> None:
    config = load({"providers": {"alpha": ALPHA, "later": {"spec": "not_yet"}}})
    assert config.unsupported == {"later"}


def test_an_empty_section_is_an_absent_one(load: Load) -> None:
    assert load(with_alpha(session=None, server={"port": None})) == load(with_alpha())


def test_a_header_that_carries_the_key_is_a_credential(load: Load) -> None:
    config = load({"providers": {"b": {"spec": "beta", "headers": {"API-Key": "hush"}}}})
    assert config.providers["b"].headers["API-Key"].reveal() == "hush"


def test_keys_outside_loopback_or_an_open_door_are_enough(load: Load) -> None:
    outside = {"host": "0.0.0.0"}
    assert load(with_alpha(server=outside, auth={"open": True})).auth.open
    assert len(load(with_alpha(server=outside, auth={"keys": ["k"]})).auth.keys) == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost", "unix:/run/godex.sock"])
def test_without_keys_this_machine_is_served(load: Load, host: str) -> None:
    assert load(with_alpha(server={"host": host})).server.on_loopback


def test_an_optional_key_that_is_empty_opens_nothing(load: Load) -> None:
    source = with_alpha(auth={"keys": ["${GODEX_API_KEY:-}"]})
    assert load(source).auth.keys == ()
    assert problems(load, {**source, "server": {"host": "0.0.0.0"}})[0].startswith("auth.keys: none")


def test_sessions_in_memory_mean_one_worker(load: Load) -> None:
    assert load(with_alpha(session={"backend": "memory"})).server.workers == 1


def test_a_key_is_named_after_its_hash_unless_it_has_a_name(load: Load) -> None:
    plain, named = load(with_alpha(auth={"keys": ["abc", {"name": "team", "key": "def"}]})).auth.keys
    assert plain.sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert (plain.name, named.name) == ("key-ba7816bf", "team")


def test_the_seal_key_is_the_first_of_the_seal_keys(load: Load) -> None:
    one = load(with_alpha(auth={"seal_key": "1" * 32})).auth.seal_keys
    two = load(with_alpha(auth={"seal_keys": ["1" * 32, "2" * 32]})).auth.seal_keys
    assert [key.reveal() for key in one] == ["1" * 32]
    assert [key.reveal() for key in two] == ["1" * 32, "2" * 32]


def test_overrides_win_and_are_checked_with_the_rest(load: Load) -> None:
    source = with_alpha(server={"host": "127.0.0.1", "port": 1})
    assert load(source, overrides={"server": {"port": 2}}).server.port == 2
    assert load(source, overrides={"server": {"port": 2}}).server.host == "127.0.0.1"
    assert problems(load, source, overrides={"server": {"host": "0.0.0.0"}})[0].startswith("auth.keys")


def test_a_config_is_its_own_source(load: Load) -> None:
    config = load(with_alpha())
    assert load(config) is config


def test_keys_in_the_environment_are_a_start_without_a_file(load: Load, tmp_path: Path, monkeypatch: Any) -> None:
    _nowhere(monkeypatch, tmp_path)
    config = load(None, environ={"BETA_API_KEY": "b", "ALPHA_API_KEY": "a", "GODEX_API_KEY": "mine"})
    assert list(config.providers) == ["alpha", "beta"]
    assert config.default_provider == "alpha"
    assert config.models.aliases == {"*": "alpha/alpha-1"}
    assert config.providers["beta"].credentials.api_keys[0].reveal() == "b"
    assert len(config.auth.keys) == 1
    assert config.source == "environment"


def test_an_empty_variable_is_no_key(load: Load, tmp_path: Path, monkeypatch: Any) -> None:
    _nowhere(monkeypatch, tmp_path)
    assert list(load(None, environ={"ALPHA_API_KEY": "", "BETA_API_KEY": "b"}).providers) == ["beta"]


def test_a_file_without_providers_takes_those_of_the_environment(load: Load) -> None:
    config = load(
        {"default_provider": "beta", "server": {"port": 1}}, environ={"ALPHA_API_KEY": "a", "BETA_API_KEY": "b"}
    )
    assert (config.default_provider, config.server.port) == ("beta", 1)
    assert config.models.aliases == {"*": "beta/beta-1"}
    assert config.auth.keys == ()


def test_a_key_out_of_the_environment_is_never_expanded(load: Load) -> None:
    config = load({}, environ={"ALPHA_API_KEY": "${HOME}"})
    assert config.providers["alpha"].credentials.api_keys[0].reveal() == "${HOME}"


def test_files_are_found_in_order(load: Load, tmp_path: Path, monkeypatch: Any) -> None:
    _nowhere(monkeypatch, tmp_path)
    named, here, home = tmp_path / "named.yaml", tmp_path / "godex.yaml", tmp_path / ".config/godex/config.yaml"
    home.parent.mkdir(parents=True)
    for port, place in enumerate((named, here, home), start=1):
        place.write_text(f"server: {{port: {port}}}\nproviders: {{p: {{spec: alpha, credentials: {{api_key: k}}}}}}\n")
    environ = {"GODEX_CONFIG": str(named)}
    assert load(here, environ=environ).server.port == 2
    assert load(None, environ=environ).server.port == 1
    assert load(None).server.port == 2
    here.unlink()
    assert load(None).server.port == 3


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"server: {port: 1", "line 1: expected ',' or '}', but got '<stream end>'"),
        (b"a: 1\nserver:\n\tport: 1\n", "line 3: found character '\\t' that cannot start any token"),
        (b"server: {}\nserver: {}\n", "line 2: the key 'server' stands here a second time"),
        (b"- a\n", "must be a mapping of sections: `server:`, `providers:`, …"),
        (b"\xff\xfe\xff", "is not UTF-8 text"),
        (b"a: !!python/object:os.system {}\n", None),
    ],
    ids=["cut", "tab", "twice", "list", "bytes", "code"],
)
def test_a_file_that_cannot_be_read_says_where(load: Load, tmp_path: Path, content: bytes, problem: str | None) -> None:
    file = tmp_path / "godex.yaml"
    file.write_bytes(content)
    told = problems(load, file)
    assert len(told) == 1
    assert problem is None or told == [problem]


def test_a_missing_file_is_told_with_its_name(load: Load, tmp_path: Path) -> None:
    with pytest.raises(ServerError, match=r"nothing\.yaml: cannot be read: No such file"):
        load(tmp_path / "nothing.yaml")


def test_os_environ_is_the_environment(monkeypatch: Any) -> None:
    monkeypatch.setenv("A_PORT", "1234")
    assert load_config(with_alpha(server={"port": "${A_PORT}"}), specs=SPECS).server.port == 1234


def _nowhere(monkeypatch: Any, folder: Path) -> None:
    """No file is in sight unless the test makes one."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
