"""What many requests use at once is made once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from app import gateway as module
from app.config.loader import load_config
from app.gateway import Gateway


def at_once(ask: Callable[[], Any]) -> list[Any]:
    """What eight threads get that ask together."""
    got: list[Any] = []
    together = threading.Barrier(8)

    def work() -> None:
        together.wait()
        got.append(ask())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return got


@pytest.mark.parametrize(
    ("maker", "ask"),
    [("open_store", lambda gateway: gateway.store), ("connect", lambda gateway: gateway.provider("demo"))],
    ids=["store", "provider"],
)
def test_it_is_made_once(maker: str, ask: Callable[[Gateway], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    sections = {"providers": {"demo": {"spec": "demo"}}, "session": {"backend": "memory"}, "trace": {"enabled": False}}
    gateway = Gateway(load_config(sections, environ={}))
    make, made = getattr(module, maker), []

    def slowly(*args: Any) -> Any:
        made.append(args)
        time.sleep(0.02)
        return make(*args)

    monkeypatch.setattr(module, maker, slowly)
    assert len({id(one) for one in at_once(lambda: ask(gateway))}) == 1
    assert len(made) == 1
    gateway.close()
