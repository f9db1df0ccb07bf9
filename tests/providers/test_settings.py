from __future__ import annotations

import pytest

from providers.chat import chat_spec
from providers.settings import ClientSettings, endpoint_url

SPEC = chat_spec(name="x", base_url="https://up.example/v1")
WHOLE = "https://up.example/v1/chat/completions"


@pytest.mark.parametrize(
    "base_url",
    [
        None,
        "https://up.example",
        "https://up.example/",
        "https://up.example/v1",
        "https://up.example/v1/",
        " https://up.example/v1/chat/completions",
        "https://up.example/v1/chat/completions/",
    ],
)
def test_every_way_to_write_the_address_reaches_the_same_url(base_url: str | None) -> None:
    assert endpoint_url(SPEC, ClientSettings(base_url=base_url)) == WHOLE


def test_a_bare_host_gets_the_prefix_of_its_spec() -> None:
    zhipu_like = chat_spec(name="x", base_url="https://up.example/api/paas/v4")
    deepseek_like = chat_spec(name="x", base_url="https://up.example")
    unknown = chat_spec(name="x", base_url="")
    settings = ClientSettings(base_url="http://localhost:8000")

    assert endpoint_url(zhipu_like, settings) == "http://localhost:8000/api/paas/v4/chat/completions"
    assert endpoint_url(deepseek_like, settings) == "http://localhost:8000/chat/completions"
    assert endpoint_url(unknown, settings) == "http://localhost:8000/v1/chat/completions"


def test_a_query_stays_behind_the_path() -> None:
    azure = ClientSettings(base_url="https://r.example/openai/deployments/d?api-version=2026-01-01")
    keyed = ClientSettings(path="/chat/completions?key=k")

    assert endpoint_url(SPEC, azure) == "https://r.example/openai/deployments/d/chat/completions?api-version=2026-01-01"
    assert endpoint_url(SPEC, keyed) == f"{WHOLE}?key=k"


def test_keys_are_not_in_the_representation() -> None:
    settings = ClientSettings(api_keys=("sk-secret",), headers={"x-key": "hush"}, proxy="http://u:pw@p.example")

    assert all(word not in repr(settings) for word in ("secret", "hush", "pw"))
