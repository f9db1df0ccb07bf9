from __future__ import annotations

from typing import Any

import pytest

from bridge.spec import UpstreamFault
from providers.error_shapes import read_error

SHAPES: dict[str, tuple[Any, UpstreamFault]] = {
    "OpenAI": (
        {"error": {"message": "no", "type": "invalid_request_error", "param": "messages[1].role", "code": "bad"}},
        UpstreamFault(message="no", type="invalid_request_error", code="bad", param="messages[1].role"),
    ),
    "a numeric code": ({"error": {"message": "no", "code": 400}}, UpstreamFault(message="no", code="400")),
    "nulls": ({"error": {"message": "no", "type": None, "param": None, "code": None}}, UpstreamFault(message="no")),
    "a sentence (LM Studio)": ({"error": "no model loaded"}, UpstreamFault(message="no model loaded")),
    "a word and a sentence": (
        {"error": "not_found", "message": "model m is gone"},
        UpstreamFault(message="model m is gone", code="not_found"),
    ),
    "an error beside empty choices (stream)": (
        {"choices": [], "error": {"code": 502, "message": "worker limit reached"}},
        UpstreamFault(message="worker limit reached", code="502"),
    ),
    "an error beside a choice (stream)": (
        {"choices": [{"delta": {}, "finish_reason": "error"}], "error": {"message": "gone"}},
        UpstreamFault(message="gone"),
    ),
    "Mistral": (
        {"object": "error", "message": "Expected last role User", "type": "invalid_request_error", "code": 3230},
        UpstreamFault(message="Expected last role User", type="invalid_request_error", code="3230"),
    ),
    "Mistral, message as detail": (
        {"object": "error", "message": {"detail": [{"loc": ["body", "tools", 0], "msg": "Field required"}]}},
        UpstreamFault(message="tools.0: Field required"),
    ),
    "FastAPI, a sentence": ({"detail": "Not Found"}, UpstreamFault(message="Not Found")),
    "FastAPI, a list": (
        {"detail": [{"type": "extra_forbidden", "loc": ["body", "foo"], "msg": "Extra inputs are not permitted"}]},
        UpstreamFault(message="foo: Extra inputs are not permitted", type="extra_forbidden", param="foo"),
    ),
    "DashScope": (
        {"code": "InvalidApiKey", "message": "Invalid API-key", "request_id": "r"},
        UpstreamFault(message="Invalid API-key", code="InvalidApiKey"),
    ),
    "msg": ({"code": 1002, "msg": "busy"}, UpstreamFault(message="busy", code="1002")),
    "a list of errors": ({"errors": [{"message": "no", "code": 5}]}, UpstreamFault(message="no", code="5")),
    "an error in a list": ([{"error": {"message": "no"}}], UpstreamFault(message="no")),
    "a bare string": ("no", UpstreamFault(message="no")),
    "an error without words": ({"error": {"code": "x"}}, UpstreamFault(message="", code="x")),
}


@pytest.mark.parametrize(("value", "fault"), SHAPES.values(), ids=SHAPES)
def test_a_fault_is_read_in_every_shape(value: Any, fault: UpstreamFault) -> None:
    assert read_error(value) == fault


@pytest.mark.parametrize(
    "value",
    [
        {"choices": [{"delta": {"content": "error"}}]},
        {"choices": [{"delta": {}}], "error": None},
        {"choices": [{"delta": {}}], "error": {}},
        {"choices": [], "usage": {"prompt_tokens": 1}},
        {"id": "c", "choices": None},
        {},
        [],
        "",
        None,
        5,
    ],
    ids=str,
)
def test_what_is_no_fault_is_none(value: Any) -> None:
    assert read_error(value) is None
