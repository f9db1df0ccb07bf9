"""One gateway with two gevent workers and a scripted HTTP upstream, for all end-to-end tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import openai
import pytest

from tests.support.fake_upstream import FakeUpstream
from tests.support.served import Served

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def upstream() -> Iterator[FakeUpstream]:
    with FakeUpstream() as server:
        yield server


@pytest.fixture(scope="module")
def served(upstream: FakeUpstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("gateway")
    config = {
        "server": {"heartbeat": 0.3},
        "providers": {
            "up": {
                "spec": "openai_compatible",
                "endpoint": {"base_url": upstream.url},
                "credentials": {"api_key": "sk-upstream-secret"},
                "retry": {"attempts": 1},
            }
        },
        "session": {"backend": "sqlite", "sqlite": {"path": str(folder / "sessions.db")}},
        "trace": {"path": str(folder / "trace.db")},
    }
    with Served(config, folder) as gateway:
        yield gateway
        assert "Traceback" not in gateway.log, gateway.log
        assert "MonkeyPatchWarning" not in gateway.log


@pytest.fixture
def client(served: Served) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="any", max_retries=0) as sdk:
        yield sdk
