"""What an input item means for a conversation: the few kinds into which all item types fall (see items.py)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bridge.request.content import ChatPart


@dataclass(slots=True)
class Said:
    """A message of the user, or instructions (role system or developer)."""

    role: str
    parts: list[ChatPart]


@dataclass(slots=True)
class Answered:
    """Text of the assistant."""

    text: str


@dataclass(slots=True)
class Thought:
    """Reasoning that belongs to the assistant message that follows. details: opaque blocks, in order."""

    text: str
    details: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class Called:
    """A tool call. name is the upstream name, arguments JSON text. output is filled in by the doctor."""

    call_id: str
    name: str
    arguments: str
    path: str
    output: Output | None = None


@dataclass(slots=True)
class Output:
    call_id: str
    parts: list[ChatPart]
    path: str


Entry = Said | Answered | Thought | Called | Output
