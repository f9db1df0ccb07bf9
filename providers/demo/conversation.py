"""What the demo model knows of a conversation: the words of each side, and the facts that the user told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Message = Mapping[str, Any]

_NAME = re.compile(
    r"\b(?:my name is|i am called|i'm called|call me)\s+([\w'-]+)|我(?:叫|的名字是)\s*(\w+?)(?=[,，.。!！\s]|$)",
    re.IGNORECASE,
)
_FACT = re.compile(r"\b(?:my|the) ([a-z][a-z ]{1,40}?) is ([^.,;!?\n]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Conversation:
    """said: the user's messages as plain text, oldest first, the present one last."""

    said: tuple[str, ...]
    images: int = 0

    @property
    def now(self) -> str:
        return self.said[-1] if self.said else ""

    @property
    def before(self) -> tuple[str, ...]:
        return self.said[:-1]

    def name(self) -> str | None:
        """The name that the user gave last."""
        for text in reversed(self.said):
            match = _NAME.search(text)
            if match:
                return match.group(1) or match.group(2)
        return None

    def fact(self, thing: str) -> str | None:
        """What the user said that `thing` ("favourite colour") is, newest first."""
        wanted = " ".join(thing.lower().split())
        for text in reversed(self.before):
            for match in _FACT.finditer(text):
                if match.group(1).lower().strip() == wanted:
                    return match.group(2).strip()
        return None


def read_conversation(messages: Sequence[Message]) -> Conversation:
    users = [message for message in messages if message.get("role") == "user"]
    images = sum(1 for part in _parts(users[-1].get("content")) if part.get("type") == "image_url") if users else 0
    return Conversation(tuple(text_of(message) for message in users), images)


def text_of(message: Message) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) for part in _parts(content) if isinstance(part.get("text"), str))


def count_tokens(text: str) -> int:
    """Words, signs and single CJK characters: near enough to what real tokenizers count."""
    return len(re.findall(r"[\u3040-\u9fff]|[^\W\u3040-\u9fff]+|[^\w\s]", text))


def _parts(content: Any) -> Iterable[Mapping[str, Any]]:
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
