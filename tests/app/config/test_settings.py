"""What the parts of the gateway are handed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

from app.config.model import Config, ProviderConfig, SessionConfig
from app.config.settings import client_settings, session_settings
from app.sessions.settings import SessionSettings
from providers.settings import ClientSettings
from tests.app.config.conftest import SPECS

Load = Callable[..., Config]


def test_the_defaults_of_the_file_are_those_of_the_parts() -> None:
    assert session_settings(SessionConfig()) == SessionSettings()
    assert client_settings(ProviderConfig(spec="alpha")) == ClientSettings()


def test_a_provider_section_reaches_the_transport(load: Load) -> None:
    section = {
        "spec": "alpha",
        "credentials": {"api_keys": ["a", "b"]},
        "endpoint": {"base_url": "https://a.example/v2", "path": "/c"},
        "headers": {"X-Team": "t"},
        "timeouts": {"connect": "1s", "first_byte": 2, "idle": 3, "total": "1m"},
        "retry": {"attempts": 1, "budget": 5},
        "pool_size": 7,
        "proxy": "http://proxy.example:1",
        "ca_bundle": "/ca.pem",
    }
    assert client_settings(load({"providers": {"a": section}}).providers["a"]) == ClientSettings(
        base_url="https://a.example/v2",
        path="/c",
        api_keys=("a", "b"),
        headers={"X-Team": "t"},
        connect=1.0,
        first_byte=2.0,
        idle=3.0,
        total=60.0,
        attempts=1,
        budget=5.0,
        pool_size=7,
        proxy="http://proxy.example:1",
        ca_bundle="/ca.pem",
    )


def test_a_session_section_reaches_the_store(load: Load) -> None:
    section = {
        "backend": "redis",
        "redis": {"url": "redis://r/1", "prefix": "p", "connections": 3},
        "sqlite": {"path": "/s.db"},
        "memory": {"max_count": 5, "max_mb": 2},
        "ttl": "1h",
        "max_depth": 9,
        "include_incomplete": True,
        "instructions": "current",
        "on_save_error": "fail",
        "spool": {"max_count": 4, "max_mb": 1},
    }
    config = load({"providers": {"a": {"spec": "alpha", "credentials": {"api_key": "k"}}}, "session": section})
    assert asdict(session_settings(config.session)) == {
        "backend": "redis",
        "ttl": 3600.0,
        "max_depth": 9,
        "include_incomplete": True,
        "instructions": "current",
        "sqlite_path": "/s.db",
        "redis_url": "redis://r/1",
        "redis_prefix": "p",
        "redis_connections": 3,
        "memory_max_count": 5,
        "memory_max_bytes": 2097152,
        "on_save_error": "fail",
        "spool_max_count": 4,
        "spool_max_bytes": 1048576,
    }


def test_capabilities_of_the_file_win_over_those_of_the_spec_and_its_models(load: Load) -> None:
    section = {
        "spec": "alpha",
        "credentials": {"api_key": "k"},
        "capabilities": {"context_window": 3000, "max_tools": None},
        "models": {"alpha-9*": {"context_window": 4000}},
    }
    spec = load({"providers": {"a": section}}).providers["a"].applied_to(SPECS["alpha"])
    assert SPECS["alpha"].capabilities_for("alpha-1").context_window == 2000
    assert spec.capabilities_for("other").context_window == 3000
    assert spec.capabilities_for("alpha-1").context_window == 3000
    assert spec.capabilities_for("alpha-9x").context_window == 4000


def test_capabilities_get_the_types_of_the_spec(load: Load) -> None:
    written = {
        "parameters": ["top_p"],
        "degraded_tools": {"shell": "function"},
        "temperature_range": [0, 1],
        "efforts": ["low", "high"],
        "think_tags": [["<think>", ["</think>", "</mm:think>"]]],
        "tool_choice_while_thinking": None,
        "max_tools": 128,
    }
    section = {"spec": "alpha", "credentials": {"api_key": "k"}, "capabilities": written}
    assert load({"providers": {"a": section}}).providers["a"].capabilities == {
        "parameters": frozenset({"top_p"}),
        "degraded_tools": {"shell": "function"},
        "temperature_range": (0.0, 1.0),
        "efforts": ("low", "high"),
        "think_tags": (("<think>", ("</think>", "</mm:think>")),),
        "tool_choice_while_thinking": None,
        "max_tools": 128,
    }
