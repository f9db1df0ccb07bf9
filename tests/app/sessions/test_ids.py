from __future__ import annotations

import re

import pytest

from app.sessions.ids import chain_tag, from_parts, is_storable, new_response_id, secret_part

FOREIGN = ["resp_abc", "chatcmpl-1", "x" * 300, "é{}", "\ud800", "resp_" + "A" * 48, "resp_" + "0" * 49]


def test_an_id_looks_like_openais() -> None:
    assert re.fullmatch(r"resp_[0-9a-f]{48}", new_response_id())
    assert re.fullmatch(r"resp_[0-9a-f]{48}", new_response_id("chatcmpl-1"))


@pytest.mark.parametrize("root", [new_response_id(), *FOREIGN])
def test_all_ids_of_a_chain_share_its_tag(root: str) -> None:
    child = new_response_id(root)
    grandchild = new_response_id(child)
    assert chain_tag(root) == chain_tag(child) == chain_tag(grandchild)
    assert re.fullmatch("[0-9a-f]{16}", chain_tag(root))


def test_ids_of_one_chain_differ_in_128_random_bits() -> None:
    root = new_response_id()
    secrets = {secret_part(new_response_id(root)) for _ in range(1000)}
    assert len(secrets) == 1000
    assert {len(secret) for secret in secrets} == {16}


def test_chains_differ() -> None:
    assert len({chain_tag(new_response_id()) for _ in range(1000)}) == 1000
    assert len({chain_tag(foreign) for foreign in FOREIGN}) == len(FOREIGN)


def test_an_id_is_the_sum_of_its_parts() -> None:
    response_id = new_response_id()
    assert from_parts(chain_tag(response_id), secret_part(response_id)) == response_id


@pytest.mark.parametrize("foreign", FOREIGN)
def test_an_id_of_a_foreign_shape_has_no_secret_part(foreign: str) -> None:
    assert secret_part(foreign) is None


@pytest.mark.parametrize("response_id", ["", "a b", "a\n", "é", "\ud800", "x" * 257, "\x00"])
def test_what_no_store_should_be_asked_for(response_id: str) -> None:
    assert not is_storable(response_id)


@pytest.mark.parametrize("response_id", ["a", "x" * 256, "{resp:1}", new_response_id()])
def test_what_a_store_can_be_asked_for(response_id: str) -> None:
    assert is_storable(response_id)
