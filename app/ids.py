"""Fresh ids. 96 random bits each: unguessable and never repeated."""

from __future__ import annotations

import os


def new_item_id(prefix: str) -> str:
    """An id such as "msg_…"; the prefix must be followed by "_" for Codex to keep it."""
    return f"{prefix}_{os.urandom(12).hex()}"


def new_request_id() -> str:
    return f"req_{os.urandom(12).hex()}"
