"""Envelopes that only the gateway opens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.sealing import Sealer

PAYLOADS = st.dictionaries(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")))


@given(PAYLOADS, st.text(st.characters(codec="utf-8"), max_size=8))
def test_what_is_sealed_opens_for_its_owner(payload, owner):
    sealer = Sealer([b"key"])
    assert sealer.unseal(sealer.seal(payload, owner), owner) == payload


def test_the_same_payload_is_never_sealed_alike_and_shows_nothing():
    sealer = Sealer([b"key"])
    first, second = sealer.seal({"text": "secret thought"}, ""), sealer.seal({"text": "secret thought"}, "")
    assert first != second and "secret" not in first


def test_keys_rotate():
    old, both, new = Sealer([b"old"]), Sealer([b"new", b"old"]), Sealer([b"new"])
    assert both.unseal(old.seal({"a": 1}, ""), "") == {"a": 1}
    assert new.unseal(both.seal({"a": 1}, ""), "") == {"a": 1}
    assert new.unseal(old.seal({"a": 1}, ""), "") is None


def test_another_owner_cannot_open_it():
    sealer = Sealer([b"key"])
    assert sealer.unseal(sealer.seal({"a": 1}, "ann"), "bob") is None


BROKEN = [
    "",
    "x",
    "gAAAAABforeign",
    "gdx1",
    "gdx1..",
    "gdx1.nokey.AAAA",
    "gdx2.x.y",
    "gdx1.%s.!!!",
    "gdx1.%s.AAAA",
    "gdx1.%s.é",
]


@pytest.mark.parametrize("envelope", BROKEN)
def test_foreign_and_broken_envelopes_stay_closed(envelope):
    sealer = Sealer([b"key"])
    key_id = sealer.seal({}, "").split(".")[1]
    assert sealer.unseal(envelope.replace("%s", key_id), "") is None


@given(st.integers(0, 200), st.integers(1, 255))
def test_one_changed_character_keeps_it_closed(place, change):
    sealer = Sealer([b"key"])
    envelope = sealer.seal({"text": "x" * 20}, "")
    place %= len(envelope)
    changed = envelope[:place] + chr((ord(envelope[place]) + change) % 128) + envelope[place + 1 :]
    opened = sealer.unseal(changed, "")
    assert opened is None or changed == envelope or opened == {"text": "x" * 20}  # unused bits of base64's last letter
