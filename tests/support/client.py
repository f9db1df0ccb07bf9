"""Asking a gateway, in this process or over HTTP, with every answer checked against the contract."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.support.invariants import check_response, check_stream

Event = dict[str, Any]


def read_events(body: bytes) -> list[Event]:
    """The events of a whole stream; checks its framing: event line = type, data line, [DONE] at the end."""
    blocks = [block for block in body.decode().split("\n\n") if block and not block.startswith(":")]
    assert blocks[-1] == "data: [DONE]", blocks[-1]
    events = []
    for block in blocks[:-1]:
        framed = re.fullmatch(r"event: ([a-z_.]+)\ndata: (.*)", block)
        assert framed, f"odd framing: {block[:80]!r}"
        events.append(json.loads(framed[2]))
        assert events[-1]["type"] == framed[1]
    return events


@dataclass
class Streamed:
    """A stream that was accepted."""

    headers: Any
    events: list[Event]
    response: dict[str, Any]

    @property
    def kinds(self) -> list[str]:
        return [event["type"] for event in self.events]


class Gateway:
    """Create calls to a Flask test client."""

    def __init__(self, client: FlaskClient, path: str = "/v1") -> None:
        self.client = client
        self._path = path

    def post(self, body: Any = None, headers: dict[str, str] | None = None, **fields: Any) -> TestResponse:
        """The raw reply; fields make the body where none is given."""
        if body is None:
            body = {"model": "m", "input": "hi", **fields}
        return self.client.post(f"{self._path}/responses", json=body, headers=headers)

    def create(self, **fields: Any) -> dict[str, Any]:
        """A Response object that came with 200."""
        reply = self.post(**fields)
        assert reply.status_code == 200, reply.get_data(as_text=True)
        response: dict[str, Any] = reply.get_json()
        check_response(response)
        return response

    def stream(self, **fields: Any) -> Streamed:
        """A whole stream that began with 200."""
        reply = self.post(stream=True, **fields)
        assert reply.status_code == 200, reply.get_data(as_text=True)
        assert reply.mimetype == "text/event-stream"
        events = read_events(reply.get_data())
        return Streamed(reply.headers, events, check_stream(events))

    def refused(self, status: int, **fields: Any) -> dict[str, Any]:
        """The `error` of a request that is refused, the same with and without stream."""
        return check_error(self.post(**fields), status)


def check_error(reply: TestResponse, status: int) -> dict[str, Any]:
    assert reply.status_code == status, reply.get_data(as_text=True)
    assert reply.mimetype == "application/json"
    error: dict[str, Any] = reply.get_json()["error"]
    assert set(error) == {"message", "type", "param", "code", "godex_code"}
    assert error["message"] and error["type"] and error["code"]
    assert reply.headers["x-request-id"]
    return error


def output_text(response: dict[str, Any]) -> str:
    return "".join(
        part.get("text", "") for item in response["output"] if item["type"] == "message" for part in item["content"]
    )
