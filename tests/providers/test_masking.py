from __future__ import annotations

import pytest

from providers.masking import mask

KEYS = {
    "OpenAI": "sk-proj-Ab12Cd34Ef56",
    "half hidden by the upstream": "sk-abcd********wxyz",
    "Groq": "gsk_Ab12Cd34Ef56Gh78",
    "Zhipu": "0123456789abcdef0123456789abcdef.Ab12Cd34Ef56",
    "MiniMax": "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "Azure": "0123456789abcdef0123456789abcdef",
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_what_looks_like_a_key_is_masked(key: str) -> None:
    assert mask(f"Invalid key: {key}, try another") == "Invalid key: ***, try another"


def test_a_bearer_token_of_any_shape_is_masked() -> None:
    assert mask("got Authorization: Bearer swordfish") == "got Authorization: Bearer ***"


@pytest.mark.parametrize(
    "text",
    [
        "The model `Llama-4-Maverick-17B-128E-Instruct-FP8` does not exist",
        "risk-averse task-oriented",
        "maximum context length is 131072 tokens",
        "request 8c5b2c8e-1d2f-4a6b-9c3d-0123456789ab",
    ],
)
def test_words_model_names_and_request_ids_stay(text: str) -> None:
    assert mask(text) == text


def test_a_known_secret_is_masked_but_no_short_word() -> None:
    assert mask("the swordfish key on true", ["swordfish", "true"]) == "the *** key on true"
