from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.sessions.factory import open_store
from app.sessions.memory_store import MemoryStore
from app.sessions.redis_store import RedisStore
from app.sessions.settings import SessionSettings
from app.sessions.spooled_store import SpooledStore
from app.sessions.sqlite_store import SqliteStore
from bridge.errors import CONFIG_INVALID, STORE_UNAVAILABLE, ServerError, SessionError

from .builders import OWNER, save_chain, session


def settings(backend: str, folder: Path, redis_url: str, **fields: Any) -> SessionSettings:
    return SessionSettings(backend=backend, sqlite_path=str(folder / "sessions.db"), redis_url=redis_url, **fields)


@pytest.mark.parametrize("on_save_error", ["warn", "fail"])
@pytest.mark.parametrize("backend", ["memory", "sqlite", "redis"])
def test_every_backend_opens_and_works(
    backend: str, on_save_error: str, tmp_path: Path, shared_redis_url: str, redis_database: Any
) -> None:
    store = open_store(settings(backend, tmp_path, shared_redis_url, on_save_error=on_save_error))
    ids = save_chain(store, 3)
    assert [turn.id for turn in store.resolve_chain(ids[-1], owner=OWNER).turns] == ids
    store.close()


@pytest.mark.parametrize(("backend", "kind"), [("memory", MemoryStore), ("sqlite", SqliteStore), ("redis", RedisStore)])
def test_a_strict_store_has_no_spool(backend: str, kind: type, tmp_path: Path) -> None:
    assert type(open_store(settings(backend, tmp_path, "redis://h/0", on_save_error="fail"))) is kind


@pytest.mark.parametrize(
    ("backend", "kind"), [("memory", MemoryStore), ("sqlite", SpooledStore), ("redis", SpooledStore)]
)
def test_a_store_that_can_be_away_has_one_by_default(backend: str, kind: type, tmp_path: Path) -> None:
    assert type(open_store(settings(backend, tmp_path, "redis://h/0"))) is kind


def test_a_store_that_is_away_fails_a_save_only_where_that_is_wanted(tmp_path: Path) -> None:
    nowhere = "redis://127.0.0.1:1/0"
    with pytest.raises(SessionError) as caught:
        open_store(settings("redis", tmp_path, nowhere, on_save_error="fail")).save(session("resp_1"))
    assert caught.value.code == STORE_UNAVAILABLE
    lenient = open_store(settings("redis", tmp_path, nowhere))
    lenient.save(session("resp_1"))
    assert lenient.get("resp_1", OWNER)
    lenient.close(timeout=0)


def test_nothing_is_opened_yet(tmp_path: Path) -> None:
    open_store(settings("sqlite", tmp_path / "data", ""))
    assert not (tmp_path / "data").exists()


def test_a_wrong_url_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(ServerError) as caught:
        open_store(settings("redis", tmp_path, "redis+sentinel://h:1"))
    assert caught.value.code == CONFIG_INVALID


def test_a_password_in_the_url_is_not_shown(tmp_path: Path) -> None:
    assert "hunter2" not in repr(settings("redis", tmp_path, "redis://:hunter2@h/0"))
