"""What is taken out of payloads, and what is not."""

from __future__ import annotations

import pytest

from app.trace.redact import redactor

BASE64 = "QUJD" * 200
CASES = [
    ({"api_key": "k"}, {"api_key": "***"}, "a field that is called a key"),
    ({"Authorization": "Basic eA=="}, {"Authorization": "***"}, "a header"),
    ({"x-api-key": "k"}, {"x-api-key": "***"}, "a header with dashes"),
    ({"headers": {"X-Any": "v", "Y": "w"}}, {"headers": {"X-Any": "***", "Y": "***"}}, "all headers of an MCP server"),
    ({"authorization": "tok"}, {"authorization": "***"}, "the token of an MCP server"),
    ("use sk-0123456789abcdef now", "use *** now", "a key in a text"),
    ("own-house-key-4711 was it", "*** was it", "a key that is known"),
    (
        f"see data:image/png;base64,{BASE64} here",
        f"see data:image/png,({len(BASE64) + 22} characters) here",
        "an image",
    ),
    ({"data": BASE64, "format": "wav"}, {"data": "(800 characters)", "format": "wav"}, "a sound"),
    ({"encrypted_content": "gdx1.k.abc"}, {"encrypted_content": "(10 characters)"}, "a sealed item"),
    ({"file_data": "abc"}, {"file_data": "(3 characters)"}, "a file"),
    ([{"a": ["sk-0123456789abcdef"]}], [{"a": ["***"]}], "deep inside"),
]
KEPT = [
    {"max_tokens": 5, "total_tokens": 7},
    {"token": 5},  # a number is no key
    "an ordinary sentence about tokens and passwords",
    "resp_0ff55f66ed8e9b8e7f2a1c3d",
    {"arguments": '{"path": "/tmp/a/b/c.py"}'},
    {"headers": ["a", "b"]},
    [1, 2.5, None, True],
]


@pytest.mark.parametrize(("payload", "kept", "why"), CASES, ids=[why for *_, why in CASES])
def test_taken_out(payload, kept, why):
    assert redactor(["own-house-key-4711"])(payload) == kept


@pytest.mark.parametrize("payload", KEPT, ids=str)
def test_left_in(payload):
    assert redactor([])(payload) == payload


def test_the_payload_itself_is_not_changed():
    payload = {"headers": {"a": "b"}, "list": ["sk-0123456789abcdef"]}
    redactor([])(payload)
    assert payload == {"headers": {"a": "b"}, "list": ["sk-0123456789abcdef"]}
