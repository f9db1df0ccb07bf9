"""A gateway in this process, in front of a scripted upstream that is a real HTTP server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from app import create_app
from tests.support.client import Gateway
from tests.support.fake_upstream import FakeUpstream


@pytest.fixture
def upstream() -> Iterator[FakeUpstream]:
    with FakeUpstream() as server:
        yield server


MakeGateway = Callable[..., Gateway]


@pytest.fixture
def make_gateway(upstream: FakeUpstream) -> Iterator[MakeGateway]:
    """make_gateway(server={…}, …): sections laid over a config with one provider, `up`, and a memory store."""
    made: list[Any] = []

    def make(provider: dict[str, Any] | None = None, **sections: Any) -> Gateway:
        section = {
            "spec": "openai_compatible",
            "endpoint": {"base_url": upstream.url},
            "credentials": {"api_key": "sk-upstream-secret"},
            "retry": {"attempts": 1},
            **(provider or {}),
        }
        app = create_app(
            {"providers": {"up": section}, "session": {"backend": "memory"}, "trace": {"enabled": False}, **sections}
        )
        made.append(app.extensions["godex"])
        client: FlaskClient = app.test_client()
        return Gateway(client)

    yield make
    for gateway in made:
        gateway.close()


@pytest.fixture
def gateway(make_gateway: MakeGateway) -> Gateway:
    return make_gateway()
