"""The command `godex`; the console script calls `main`."""

from .entry import main

__all__ = ["main"]
