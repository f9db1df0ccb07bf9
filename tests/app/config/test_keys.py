"""Keys in a file that changes while the gateway runs."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from app.config import keys as module
from app.config.keys import KeyRing, read_keys
from app.config.model import AuthConfig, Config, KeyLimits
from bridge.errors import ServerError
from tests.support.client import Gateway


def sha256(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys.yaml"


@pytest.fixture
def ring(file: Path, monkeypatch: pytest.MonkeyPatch) -> KeyRing:
    """Looks at the file at every question."""
    monkeypatch.setattr(module, "LOOK_EVERY", 0.0)
    file.write_text("keys: [first]\n")
    return KeyRing(AuthConfig(keys_file=str(file)))


def rewrite(file: Path, text: str) -> None:
    file.write_text(text)
    os.utime(file, ns=(time.time_ns(), time.time_ns() + len(text)))


def test_a_file_says_as_much_about_a_key_as_the_configuration(file: Path) -> None:
    file.write_text(
        f"keys:\n  - plain\n  - {{name: ann, sha256: {sha256('hashed')}, limits: {{concurrent: 2}}}}\n  - ${{KEY}}\n"
    )
    plain, ann, variable = read_keys(str(file), {"KEY": "of-the-environment"})
    assert plain.sha256 == sha256("plain")
    assert (ann.name, ann.sha256, ann.limits) == ("ann", sha256("hashed"), KeyLimits(concurrent=2))
    assert variable.sha256 == sha256("of-the-environment")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read: No such file or directory"),
        ("keys: [{name: x}]\n", "keys[0]: needs either key or sha256"),
        ("key: [a]\n", "key: unknown key; did you mean 'keys'?"),
        ("- a\n", "must be a mapping"),
        ("keys: [a\n", "line 2"),
        ("keys: [${NOWHERE}]\n", "NOWHERE"),
    ],
    ids=["absent", "no key", "a wrong word", "a list", "no YAML", "an unset variable"],
)
def test_what_is_wrong_is_told(file: Path, text: str | None, said: str) -> None:
    if text is not None:
        file.write_text(text)
    with pytest.raises(ValueError, match=".*") as wrong:
        read_keys(str(file), {})
    assert str(file) in str(wrong.value)
    assert said in str(wrong.value)


def test_a_new_key_counts_and_an_old_one_does_not(ring: KeyRing, file: Path) -> None:
    assert ring.find(sha256("first")) is not None
    rewrite(file, "keys: [second]\n")
    assert ring.find(sha256("first")) is None
    assert ring.find(sha256("second")) is not None


def test_a_faulty_file_changes_nothing_and_is_told_once(
    ring: KeyRing, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert ring.find(sha256("first")) is not None
    rewrite(file, "keys: [\n")
    for _ in range(3):
        assert ring.find(sha256("first")) is not None
    assert len(caplog.records) == 1
    rewrite(file, "keys: [second]\n")
    assert ring.find(sha256("second")) is not None


def test_a_file_that_goes_away_changes_nothing(ring: KeyRing, file: Path) -> None:
    assert ring.find(sha256("first")) is not None
    file.unlink()
    assert ring.find(sha256("first")) is not None


def test_an_empty_file_opens_no_door(ring: KeyRing, file: Path) -> None:
    rewrite(file, "keys: []\n")
    assert ring.find(sha256("first")) is None
    assert ring.required


def test_the_file_is_not_looked_at_with_every_request(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("keys: [first]\n")
    ring = KeyRing(AuthConfig(keys_file=str(file)))
    assert ring.find(sha256("first")) is not None
    monkeypatch.setattr(module, "read_keys", lambda path: pytest.fail("the file was read again"))
    rewrite(file, "keys: [second]\n")
    assert ring.find(sha256("first")) is not None


def test_the_configuration_is_checked_with_its_file(load: Callable[..., Config], file: Path) -> None:
    source = {"providers": {"p": {"spec": "plain", "endpoint": {"base_url": "http://x"}}}}
    with pytest.raises(ServerError, match=r"auth\.keys_file: .*cannot be read"):
        load({**source, "auth": {"keys_file": str(file)}})
    file.write_text("keys: [a]\n")
    outside = {"server": {"host": "0.0.0.0"}, "auth": {"keys_file": str(file)}}
    assert load({**source, **outside}).auth.has_keys
    with pytest.raises(ServerError, match=r"auth\.open: stands beside auth\.keys_file"):
        load({**source, "auth": {"keys_file": str(file), "open": True}})


def test_a_gateway_takes_keys_of_both(make_gateway: Callable[..., Gateway], file: Path) -> None:
    file.write_text("keys: [of-the-file]\n")
    gateway = make_gateway(auth={"keys": ["of-the-configuration"], "keys_file": str(file)})
    for key, status in (("of-the-file", 200), ("of-the-configuration", 200), ("of-nobody", 401)):
        assert gateway.post(headers={"Authorization": f"Bearer {key}"}).status_code == status
