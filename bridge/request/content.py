"""Content parts of the Responses API → content of a chat message."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from bridge.errors import UNSUPPORTED_INPUT, BridgeError
from bridge.plan.diagnostics import Diagnostics
from bridge.spec import Capabilities

ChatPart = dict[str, Any]
TEXT_PARTS = frozenset({"input_text", "output_text", "text", "summary_text", "reasoning_text"})
FERNET_PREFIX = "gAAAAA"  # how everything begins that OpenAI's server encrypted
NO_IMAGE = "[An image stood here; this model reads text only.]"


def chat_parts(content: Any, path: str, caps: Capabilities, notes: Diagnostics) -> list[ChatPart]:
    """content: a string or a list of parts. Gives text and, where the model takes them, image, file and video parts.

    Raises BridgeError UNSUPPORTED_INPUT for a part that only OpenAI's own storage could resolve (file ids).
    """
    if content is None:
        return []
    if isinstance(content, str):
        return [_text(content)]
    parts: list[ChatPart] = []
    for index, part in enumerate(content):
        kind = part.get("type")
        if kind in TEXT_PARTS:
            parts.append(_text(part.get("text") or ""))
        elif kind == "refusal":
            parts.append(_text(part.get("refusal") or ""))
        else:
            parts.append(_media(kind, part, f"{path}[{index}]", caps, notes))
    return parts


def joined_text(parts: Sequence[ChatPart]) -> str:
    if len(parts) == 1 and parts[0]["type"] == "text":  # nearly every message of a history
        only: str = parts[0]["text"]
        return only
    return "\n".join(part["text"] for part in parts if part["type"] == "text")


def chat_content(parts: list[ChatPart], caps: Capabilities) -> str | list[ChatPart]:
    """A string when there is nothing but text: the only form that every server takes."""
    if caps.text_parts_as_string and (
        (len(parts) == 1 and parts[0]["type"] == "text") or all(part["type"] == "text" for part in parts)
    ):
        return joined_text(parts)
    return parts


def _text(text: str) -> ChatPart:
    return {"type": "text", "text": text}


def _media(kind: Any, part: dict[str, Any], path: str, caps: Capabilities, notes: Diagnostics) -> ChatPart:
    if kind == "input_image":
        return _image(part, path, caps, notes)
    if kind == "input_file":
        return _file(part, path, caps, notes)
    if kind == "input_video" and caps.input_video:
        return {"type": "video_url", "video_url": {"url": part.get("video_url") or ""}}
    if kind == "encrypted_content":
        return _text(_entrusted_text(part.get("encrypted_content"), path, notes))
    notes.degraded(path, f"content of type {kind} is replaced by a note: this model cannot take it")
    return _text(f"[Content of type {kind} stood here; this model cannot take it.]")


def _entrusted_text(value: Any, path: str, notes: Diagnostics) -> str:
    """What one agent told another in an argument that its tool's schema marks `encrypted`. OpenAI's server encrypts
    those before the client sees them; here they leave as the model wrote them, and so they come back as plain text.
    """
    if not isinstance(value, str) or value.startswith(FERNET_PREFIX):
        notes.ignored(path, "content that only its maker can decrypt", "info")
        return ""
    return value


def _image(part: dict[str, Any], path: str, caps: Capabilities, notes: Diagnostics) -> ChatPart:
    url = part.get("image_url")
    if isinstance(url, dict):  # the Chat Completions spelling, sent by some clients
        url = url.get("url")
    if not url:
        raise _no_storage(path, "file_id" if part.get("file_id") else "image_url")
    if not caps.input_images:
        notes.degraded(path, "an image is replaced by a note: this model reads text only")
        return _text(NO_IMAGE)
    image = {"url": url}
    if part.get("detail") in ("low", "high"):  # auto is the default; "original" is unknown upstream
        image["detail"] = part["detail"]
    return {"type": "image_url", "image_url": image}


def _file(part: dict[str, Any], path: str, caps: Capabilities, notes: Diagnostics) -> ChatPart:
    name = part.get("filename") or "file"
    data = part.get("file_data")
    if not data:
        raise _no_storage(path, "file_id" if part.get("file_id") else "file_url")
    if caps.input_files:
        return {"type": "file", "file": {"filename": name, "file_data": data}}
    text = _decoded_text(data)
    if text is None:
        raise BridgeError(UNSUPPORTED_INPUT, f"this model takes no files; {name} is not plain text either", param=path)
    notes.degraded(path, f"{name} is sent as text", "info")
    return _text(f"[File {name}]\n{text}")


def _decoded_text(data: str) -> str | None:
    """The text of a text file sent as base64, with or without a data URI around it; None if it is no UTF-8 text."""
    header, _, payload = data.rpartition(",")
    try:
        text = base64.b64decode(payload, validate=True).decode("utf-8")
    except ValueError:  # not base64, or not UTF-8
        return None
    return text if header.startswith("data:text/") or "\x00" not in text else None


def _no_storage(path: str, field: str) -> BridgeError:
    return BridgeError(
        UNSUPPORTED_INPUT,
        f"{path} points to a file by {field}; there is no file storage here: send the content itself as a data URI",
        param=path,
    )
