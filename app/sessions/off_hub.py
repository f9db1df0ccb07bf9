"""Blocking C calls under gevent: SQLite waits for locks and disks in C, where the event loop cannot step in."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar, cast

T = TypeVar("T")


def off_hub(call: Callable[[], T]) -> T:
    """The result of `call`, which runs in gevent's thread pool where gevent has patched the process, else right here.

    In the pool it must not touch locks or sleeps of the standard library: they are gevent's, and belong to the hub.
    """
    monkey = sys.modules.get("gevent.monkey")
    if monkey is None or not monkey.is_module_patched("socket"):
        return call()
    from gevent import get_hub

    result, error = get_hub().threadpool.apply(_outcome, (call,))
    if error is not None:
        raise error
    return cast(T, result)


def _outcome(call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """Carries an exception as a value: gevent prints the stack of one that leaves a pool thread."""
    try:
        return call(), None
    except BaseException as error:
        return None, error
