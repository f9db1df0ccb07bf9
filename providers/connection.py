"""urllib3's connections, which write the head of a call and read the head of its answer in one piece each.

http.client writes a head line by line and reads one as an e-mail: with the checks that urllib3 lays over both that was
a seventh of a call's CPU. Here plain heads, which are nearly all, take a short way; a property test holds that it
tells the same as http.client, which reads every other head.

And before a kept connection is used, urllib3 looks whether it was closed meanwhile: by gevent's poll, which starts and
stops a watcher in the event loop for an answer that the system has at once (a twentieth).
"""

from __future__ import annotations

import http.client
import operator
import re
import select
import sys
from collections.abc import Mapping
from typing import Any, Final

from urllib3 import HTTPHeaderDict
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.response import HTTPResponse

SMALL_BODY: Final = 64 * 1024  # bytes: up to here a copy costs less than a second write

# Of the head of an answer: its first line, and all others. Folded lines, control characters, spaces before a colon,
# other versions, interim answers and answers without a body are left to http.client.
_PLAIN_STATUS: Final = re.compile(rb"HTTP/1\.1 ([2-5]\d\d) ([ -~]*)\r\n")
_PLAIN_FIELDS: Final = re.compile(rb"((?:[!#-'*+\-.0-9A-Z^_`a-z|~]+:[\t -~\x80-\xff]*\r\n)+)\r\n")
_NO_BODY: Final = (204, 304)


def request_head(method: str, target: str, headers: Mapping[str, str]) -> bytes:
    """Of headers that were checked (transport.check_headers)."""
    lines = [f"{method} {target} HTTP/1.1", *[f"{name}: {value}" for name, value in headers.items()], "", ""]
    return "\r\n".join(lines).encode("ascii")


class Answer(http.client.HTTPResponse):
    """http.client's response; its head is taken apart here when it is a plain one and all of it has arrived."""

    def begin(self) -> None:
        data = self.fp.peek()  # what one read of the socket brings
        status = _PLAIN_STATUS.match(data)
        fields = _PLAIN_FIELDS.match(data, status.end()) if status else None
        if status is None or fields is None or (code := int(status[1])) in _NO_BODY:
            super().begin()
            return
        lines = fields[1].decode("latin-1").split("\r\n")[:-1]
        headers: Any = HTTPHeaderDict([(name, value.lstrip(" \t")) for name, _, value in map(_at_colon, lines)])
        if len(headers) < len(lines):  # said twice: http.client knows which one counts
            super().begin()
            return
        self.fp.read(fields.end())
        self.headers = self.msg = headers
        self.version, self.code, self.status = 11, code, code
        self.reason = status[2].decode().strip()
        self.chunked = headers.get("transfer-encoding", "").lower() == "chunked"
        self.chunk_left = None
        self.length = None if self.chunked else _length(headers.get("content-length"))
        closes = "close" in headers.get("connection", "").lower()
        self.will_close = closes or (not self.chunked and self.length is None)

    def _read_status(self) -> tuple[str, int, str]:
        """http.client takes 102 and 103 for the answer, which then waits for whoever uses the connection next."""
        while True:
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if not 101 < status < 200:
                return version, status, reason
            http.client.parse_headers(self.fp)


_at_colon = operator.methodcaller("partition", ":")


def _length(text: str | None) -> int | None:
    """As http.client takes it: what is no length counts as none."""
    try:
        length = int(text or "")
    except ValueError:
        return None
    return length if length >= 0 else None


class _QuickHeads:
    """Laid over urllib3's connection: the parts of it that know http.client's state are not used."""

    sock: Any
    timeout: Any

    def request(self, method: str, url: str, body: bytes = b"", headers: Any = None, **options: Any) -> None:
        if self.sock is not None:
            self.sock.settimeout(self.timeout)
        self._asked = method, url, options
        head = request_head(method, url, headers or {})
        connection: Any = self
        if len(body) <= SMALL_BODY:
            connection.send(head + body)
        else:
            connection.send(head)
            connection.send(body)

    def getresponse(self) -> HTTPResponse:
        method, url, options = self._asked
        self.sock.settimeout(self.timeout)
        shutdown = getattr(self.sock, "shutdown", None)
        answer: Any = Answer(self.sock, method=method)
        connection: Any = self
        try:
            answer.begin()
        except BaseException as error:
            answer.close()
            if isinstance(error, ConnectionError):
                connection.close()  # of other errors urllib3 has to know that there was a connection
            raise
        if not isinstance(answer.headers, HTTPHeaderDict):
            answer.headers = HTTPHeaderDict((name, " ".join(text.split())) for name, text in answer.headers.items())
        if answer.will_close:
            connection.close()  # the socket lives on in the answer
        return HTTPResponse(
            body=answer,
            headers=answer.headers,
            status=answer.status,
            version=answer.version,
            version_string="HTTP/1.1",
            reason=answer.reason,
            preload_content=options["preload_content"],
            decode_content=options["decode_content"],
            enforce_content_length=options["enforce_content_length"],
            original_response=answer,
            request_method=method,
            request_url=url,
            sock_shutdown=shutdown,
        )

    @property
    def is_connected(self) -> bool:
        return self.sock is not None and not _readable(self.sock)


class PlainConnection(_QuickHeads, HTTPConnection):  # type: ignore[misc]
    pass


class TlsConnection(_QuickHeads, HTTPSConnection):  # type: ignore[misc]
    pass


def _readable(sock: Any) -> bool:
    """Of an idle connection: it was closed, or says something that nobody asked for. Does not wait."""
    monkey = sys.modules.get("gevent.monkey")
    poll = (monkey.get_original("select", "poll") if monkey is not None else select.poll)()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))
