"""Error objects as upstreams write them: in error bodies, in answers with status 200, in stream chunks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bridge.spec import UpstreamFault

Fields = Mapping[str, Any]


def read_error(value: Any) -> UpstreamFault | None:
    """The fault that a parsed JSON value describes; None for an answer, a chunk, or nothing that can be read.

    Shapes: {"error": {…}} (OpenAI and most), {"error": "text"}, {"errors": […]}, {"detail": …} (FastAPI),
    {"object": "error", "message": …} (Mistral, older vLLM), {"code": …, "message": …}, {"msg": …}, a bare string.
    """
    if isinstance(value, dict):
        if "error" not in value and value.get("choices"):  # nearly every chunk of every stream
            return None
        error = value.get("error")
        return None if not error and value.get("choices") else _of_object(error, value)
    if isinstance(value, list) and value:
        return read_error(value[0])
    return UpstreamFault(message=value) if isinstance(value, str) and value.strip() else None


def _of_object(error: Any, body: Fields) -> UpstreamFault | None:
    error = error or body.get("errors")
    if isinstance(error, list) and error:
        error = error[0]
    if isinstance(error, dict):
        return _fault({"code": body.get("code"), **error})
    if isinstance(error, str) and error:
        # Beside a word such as "not_found" the sentence stands in `message` (Ollama, gateways).
        message = _text(body, "message", "error_description")
        return UpstreamFault(message=message or error, type=_word(body, "type"), code=error if message else _code(body))
    if "detail" in body:
        return _of_detail(body["detail"])
    if _text(body, "message", "msg", "error_msg", "error_message"):
        return _fault(body)
    return None


def _fault(fields: Fields) -> UpstreamFault:
    param = fields.get("param")
    return UpstreamFault(
        message=_text(fields, "message", "msg", "error_msg", "error_message", "detail", "reason"),
        type=_word(fields, "type", "status"),
        code=_code(fields),
        param=param if isinstance(param, str) and param else None,
    )


def _of_detail(detail: Any) -> UpstreamFault | None:
    """FastAPI: a sentence, or the list of what is wrong with the fields of the body."""
    if isinstance(detail, dict):
        return _fault(detail)
    if isinstance(detail, str) and detail:
        return UpstreamFault(message=detail)
    if not (isinstance(detail, list) and detail and isinstance(detail[0], dict)):
        return None
    first = detail[0]
    place = first.get("loc")
    path = ".".join(str(step) for step in place if step != "body") if isinstance(place, list) else ""
    message = _text(first, "msg", "message")
    return UpstreamFault(
        message=f"{path}: {message}" if path else message, type=_word(first, "type"), param=path or None
    )


def _text(fields: Fields, *names: str) -> str:
    """The first of these that holds words; an object in their place (Mistral: {"detail": […]}) is read as a detail."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, dict | list) and value:
            inner = _of_detail(value.get("detail", value) if isinstance(value, dict) else value)
            if inner is not None and inner.message:
                return inner.message
    return ""


def _word(fields: Fields, *names: str) -> str:
    return next((value for name in names if isinstance(value := fields.get(name), str)), "")


def _code(fields: Fields) -> str:
    for name in ("code", "error_code", "status_code"):
        code = fields.get(name)
        if isinstance(code, str | int) and not isinstance(code, bool):
            return str(code)
    return ""
