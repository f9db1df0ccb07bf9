"""Many clients, each in a conversation of its own, that notice whatever goes wrong."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

PATIENCE = 20.0  # seconds for one call


@dataclass
class Refusal:
    """An answer that is no response. error: of its JSON body, None where there was none (nginx's own page, a cut)."""

    status: int
    error: dict[str, Any] | None = None
    retry_after: str | None = None


@dataclass
class Turn:
    """A response that the client saw completed. depth: turns of its chain, itself included."""

    response: dict[str, Any]
    depth: int
    seconds: float


@dataclass
class Talker:
    """One client. Each turn continues the latest response that it saw completed."""

    port: int
    name: str
    model: str = "m"
    turns: list[Turn] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)

    def say(self, *, stream: bool, new: bool = False) -> bool:
        """One turn; whether it was completed. new: begin a chain."""
        previous = self.turns[-1] if self.turns and not new else None
        depth = previous.depth + 1 if previous else 1
        body = {
            "model": self.model,
            "input": f"{self.name} {len(self.turns)}",
            "stream": stream,
            "previous_response_id": previous.response["id"] if previous else None,
        }
        began = time.monotonic()
        result = post(self.port, "/v1/responses", body)
        if isinstance(result, Refusal):
            self.refusals.append(result)
            return False
        self.turns.append(Turn(result, depth, time.monotonic() - began))
        return True


def post(port: int, path: str, body: dict[str, Any]) -> dict[str, Any] | Refusal:
    """The completed Response object. A stream is left as soon as its terminal event is there."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        reply = connection.getresponse()
        if reply.status != 200:
            return _refusal(reply)
        if not body.get("stream"):
            response: dict[str, Any] = json.loads(reply.read())
            return response
        for event in events(reply):
            if event["type"] == "response.completed":
                completed: dict[str, Any] = event["response"]
                return completed
            if event["type"] in ("response.failed", "response.incomplete"):
                return Refusal(200, event["response"]["error"])
        return Refusal(0)
    except (OSError, http.client.HTTPException, ValueError):
        return Refusal(0)  # the connection broke, before or in the answer
    finally:
        connection.close()


def get(port: int, path: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())
    finally:
        connection.close()


def events(reply: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    for line in reply:
        if line.startswith(b"data: {"):
            yield json.loads(line[6:])


def _refusal(reply: http.client.HTTPResponse) -> Refusal:
    raw = reply.read()
    try:
        error = json.loads(raw)["error"]
    except (ValueError, KeyError, TypeError):
        error = None
    return Refusal(reply.status, error, reply.headers.get("Retry-After"))


class Crowd:
    """Talkers that go on, each on a thread of its own, until the block ends."""

    def __init__(self, port: int, size: int, *, pause: float = 0.0, deepest: int = 60) -> None:
        self.talkers = [Talker(port, f"client {number}") for number in range(size)]
        self._pause = pause
        self._deepest = deepest
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._talk, args=(talker,)) for talker in self.talkers]

    def __enter__(self) -> Crowd:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(2 * PATIENCE)

    @property
    def turns(self) -> list[Turn]:
        return [turn for talker in self.talkers for turn in talker.turns]

    @property
    def refusals(self) -> list[Refusal]:
        return [refusal for talker in self.talkers for refusal in talker.refusals]

    def _talk(self, talker: Talker) -> None:
        count = 0
        while not self._over.is_set():
            new = bool(talker.turns) and talker.turns[-1].depth >= self._deepest
            if not talker.say(stream=count % 2 == 0, new=new):
                time.sleep(0.2)  # as clients do
            count += 1
            self._over.wait(self._pause)
