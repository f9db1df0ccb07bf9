"""What all clients need: the gateway's address, and an async client of the SDK."""

from __future__ import annotations

from collections.abc import Callable

import openai
import pytest

from tests.support.served import Served


@pytest.fixture
def base_url(served: Served) -> str:
    return f"{served.url}/v1"


@pytest.fixture
def connected(base_url: str) -> Callable[..., openai.AsyncOpenAI]:
    """connected(**options): an async client of the gateway; to be used as a context manager."""

    def connect(**options: object) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(base_url=base_url, api_key="any", **{"max_retries": 0, **options})  # type: ignore[arg-type]

    return connect
