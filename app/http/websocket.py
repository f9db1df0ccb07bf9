"""WebSocket mode of /v1/responses (contract section 9): one response at a time, further frames queue."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from flask import Response, request
from simple_websocket import ConnectionClosed, Server

from bridge.errors import CONNECTION_LIMIT, INVALID_PARAMETER, UPGRADE_REQUIRED, GodeXError, ServerError
from bridge.stream.numbering import Event
from bridge.stream.turn import Turn
from providers.json_text import dump_json

from ..context import Caller, ResponsesContext
from ..drain import NEVER, SLOWEST, WRITE_PATIENCE, current, process_drain
from ..gateway import Gateway
from ..ids import new_request_id
from ..pipelines.begin import begin
from ..pipelines.prepare import prepare
from ..pipelines.stream import answer_stream, run
from ..sessions.session import StoredResponseSession, make_session
from .blueprint import api, caller, gateway
from .body import parsed_object
from .errors import error_body, internal_error
from .outbox import Outbox, fill
from .responses import max_body_bytes
from .schemas import CreateResponse, load
from .sse import PATIENCE

CREATE = "response.create"
LONGEST_CONNECTION = 60 * 60  # seconds
REMEMBERED = 64  # responses that one connection keeps, stored or not
PING_INTERVAL = 25  # seconds; finds peers that vanished
SERVICE_RESTART = 1012  # close code
SSE_FIELDS = ("stream_options", "background")  # without meaning on a socket

Remembered = OrderedDict[str, StoredResponseSession]


@api.get("/responses")
def explain_websocket() -> Response:
    """A plain GET: nothing to list here. 426 also makes Codex fall back to POST at once."""
    raise ServerError(UPGRADE_REQUIRED, "GET /v1/responses speaks WebSocket only; send POST, or upgrade")


class WholeFrames:
    """The connection below simple-websocket, which calls `send` and does not ask how much was taken.

    A gevent socket takes what there is room for: of a long frame, or before a client that reads slowly, the rest was
    lost. Frames of several threads (pings, answers to pings) wait for each other. A client that does not read is cut
    off as it is without a WebSocket (drain.py).
    """

    def __init__(self, sock: Any) -> None:
        self._sock = sock
        self._lock = threading.Lock()

    def send(self, data: bytes) -> None:
        running = current()
        with self._lock:
            running.due = time.monotonic() + WRITE_PATIENCE + len(data) / SLOWEST
            try:
                self._sock.sendall(data)
            finally:
                running.due = NEVER

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


def open_websocket() -> Response:
    if not gateway().config.server.websockets:
        raise ServerError(UPGRADE_REQUIRED, "WebSockets are switched off here (server.websockets); send POST")
    socket = Server(request.environ, ping_interval=PING_INTERVAL, max_message_size=max_body_bytes())
    socket.sock = WholeFrames(socket.sock)
    try:
        Connection(socket, gateway(), caller()).serve()
    except ConnectionClosed:
        pass
    finally:
        if socket.connected:
            socket.close()
    return _Hijacked(socket.mode)


api.add_url_rule("/responses", view_func=open_websocket, websocket=True)


class _Hijacked(Response):
    """The reply of a request whose socket was taken over: the server must send nothing more."""

    def __init__(self, mode: str) -> None:
        super().__init__()
        self._mode = mode

    def __call__(self, environ: Any, start_response: Any) -> Any:
        if self._mode == "gunicorn":
            raise StopIteration  # how gunicorn's workers are told that the connection is no longer theirs
        return super().__call__(environ, start_response) if self._mode == "werkzeug" else []


class Connection:
    """remembered: the latest responses of this socket, also those of `store: false`; gone with the socket."""

    def __init__(self, socket: Server, gateway: Gateway, caller: Caller) -> None:
        self._socket = socket
        self._gateway = gateway
        self._caller = caller
        self._remembered: Remembered = OrderedDict()

    def serve(self) -> None:
        """Until the client leaves (ConnectionClosed), an hour is over or the process stops."""
        end = time.monotonic() + LONGEST_CONNECTION
        while (left := end - time.monotonic()) > 0:
            try:
                with process_drain.resting():
                    frame = self._socket.receive(timeout=left)
            except GodeXError as stopping:
                self._socket.close(SERVICE_RESTART, stopping.message)
                return
            if frame is not None:
                self._answer(frame)
        self._send_error(ServerError(CONNECTION_LIMIT, "a connection lasts 60 minutes at most; open a new one"))

    def _answer(self, frame: str | bytes) -> None:
        """One frame, answered whole. Errors are frames too: the socket stays open."""
        body: dict[str, Any] = {}
        try:
            body = _create_body(frame)
            self._stream(body)
        except GodeXError as error:
            # What could not be continued once is not offered again (contract section 9).
            previous = body.get("previous_response_id")
            if isinstance(previous, str):  # the body may be what was refused
                self._remembered.pop(previous, None)
            self._send_error(error)
        except ConnectionClosed:
            raise
        except Exception as error:
            self._send_error(internal_error(error))

    def _stream(self, body: dict[str, Any]) -> None:
        generate = body.pop("generate", True)
        request = load(CreateResponse, body)
        options: dict[str, Any] = {"request_id": new_request_id(), "known": self._remembered}
        if generate is False:
            context = prepare(self._gateway, request, self._caller, **options)
            events = run(_warm_up(context.turn), context)
        else:
            context, answer = begin(self._gateway, request, self._caller, **options)
            events = answer_stream(answer, context)
        self._pass_on(events, context)
        response = context.turn.response
        self._remembered[response["id"]] = make_session(context.request, response, self._caller.owner)
        while len(self._remembered) > REMEMBERED:
            self._remembered.popitem(last=False)

    def _pass_on(self, events: Iterator[Event], context: ResponsesContext) -> None:
        outbox = Outbox()
        fill(outbox, events, dump_json)
        heart, silence = self._gateway.heart, 0.0
        try:
            with heart.watching(outbox):
                while (pieces := outbox.take()) is not None:
                    for piece in pieces:
                        self._socket.send(piece.decode())
                    silence = 0.0 if pieces else silence + heart.interval
                    if not self._socket.connected:
                        raise ConnectionClosed
                    if silence >= PATIENCE:
                        silence = 0.0
                        self._socket.send(dump_json(context.turn.still_in_progress()).decode())
        finally:
            outbox.abandon()
            if not outbox.ended:
                context.cancel()

    def _send_error(self, error: GodeXError) -> None:
        status, body, retry_after = error_body(error)
        frame: dict[str, Any] = {"type": "error", "status": status, **body}
        if retry_after is not None:
            frame["headers"] = {"retry-after": str(retry_after)}  # Codex repeats a 429 only where it hears when
        self._socket.send(dump_json(frame).decode())


def _create_body(frame: str | bytes) -> dict[str, Any]:
    """The create body of a `response.create` frame. Raises ServerError INVALID_JSON or INVALID_PARAMETER."""
    body = parsed_object(frame.encode("utf-8", "surrogatepass") if isinstance(frame, str) else frame)
    if body.pop("type", None) != CREATE:
        raise ServerError(INVALID_PARAMETER, f'type must be "{CREATE}"', param="type")
    for name in SSE_FIELDS:
        body.pop(name, None)
    return {**body, "stream": True}


def _warm_up(turn: Turn) -> Iterator[Event]:
    """`generate: false`: the input is taken, the model is not asked. The next frame continues from it."""
    yield from turn.begin()
    turn.finish_reason = "stop"
    yield from turn.end()
