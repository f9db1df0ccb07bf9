"""GodeX: the Responses API for providers that speak Chat Completions. Public names: create_app, GodeX.

They are imported on first use: gunicorn's master reads the configuration through this package, and nothing that
imports `requests` may be loaded there before its workers have patched the standard library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .extension import GodeX
    from .factory import create_app

__all__ = ["GodeX", "create_app"]


def __getattr__(name: str) -> Any:
    if name == "create_app":
        from .factory import create_app

        return create_app
    if name == "GodeX":
        from .extension import GodeX

        return GodeX
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
