from __future__ import annotations

import re

import pytest

from app.sessions.ids import (
    chain_tag,
    from_parts,
    is_conversation_id,
    is_storable,
    item_id,
    new_conversation_id,
    new_response_id,
    response_of_item,
    secret_part,
)

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


@pytest.mark.parametrize("of_input", [False, True])
@pytest.mark.parametrize("number", [0, 7, 4095, 4096])
@pytest.mark.parametrize("prefix", ["msg", "fc", "ctco", "rs", "cmp", "item"])
def test_an_items_id_leads_to_its_response(prefix: str, number: int, of_input: bool) -> None:
    response_id = new_response_id()
    made = item_id(prefix, response_id, number, of_input=of_input)
    assert made.startswith(f"{prefix}_") and len(made) <= 64
    assert response_of_item(made) == response_id


def test_items_of_one_response_have_ids_of_their_own() -> None:
    response_id = new_response_id()
    made = [
        item_id("msg", response_id, number, of_input=of_input) for number in range(5000) for of_input in (False, True)
    ]
    assert len(set(made)) == len(made)


@pytest.mark.parametrize("foreign", FOREIGN)
def test_items_of_a_foreign_response_have_ids_that_stay_the_same(foreign: str) -> None:
    made = item_id("msg", foreign, 1, of_input=True)
    assert made == item_id("msg", foreign, 1, of_input=True) != item_id("msg", foreign + "x", 1, of_input=True)
    assert response_of_item(made) != foreign


@pytest.mark.parametrize(
    "other", ["", "msg_1", "msg_" + "0" * 48, "msg_" + "g" * 51, "_" + "0" * 51, "MSG_" + "0" * 51]
)
def test_ids_of_another_shape_lead_nowhere(other: str) -> None:
    assert response_of_item(other) is None


def test_ids_of_conversations_are_recognised() -> None:
    made = {new_conversation_id() for _ in range(100)}
    assert len(made) == 100 and all(map(is_conversation_id, made))
    assert not any(map(is_conversation_id, ["", "conv_", "conv_" + "0" * 47, "conv_" + "G" * 48, new_response_id()]))
