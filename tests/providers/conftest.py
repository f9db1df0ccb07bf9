from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bridge.spec import ProviderSpec
from providers.chat import chat_spec
from providers.settings import ClientSettings
from providers.transport import ChatClient
from tests.support.fake_upstream import FakeUpstream

Connect = Callable[..., ChatClient]


@pytest.fixture
def upstream() -> Iterator[FakeUpstream]:
    with FakeUpstream() as server:
        yield server


@pytest.fixture
def connect(upstream: FakeUpstream) -> Iterator[Connect]:
    """connect(**settings) → a client of the fake upstream that is closed after the test; one attempt unless told."""
    clients: list[ChatClient] = []

    def make(spec: ProviderSpec | None = None, **settings: Any) -> ChatClient:
        spec = spec or chat_spec(name="acme", base_url=f"{upstream.url}/v1")
        made = ChatClient(spec, ClientSettings(**{"api_keys": ("sk-upstream-key",), "attempts": 1, **settings}))
        clients.append(made)
        return made

    yield make
    for client in clients:
        client.close()
