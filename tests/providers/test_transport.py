"""The client against a real server: what goes up, what comes back, when it gives up."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import responses

from bridge import errors as codes
from bridge.errors import ProviderError
from providers.chat import chat_spec
from providers.connection import SMALL_BODY
from providers.settings import ClientSettings
from providers.transport import ChatClient
from tests.support.fake_upstream import Answer, FakeUpstream, answer, body, chunk, failure, sse
from tests.support.tls import certificate_for_localhost

Connect = Callable[..., ChatClient]
REQUEST = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
QUICK = {"Retry-After-Ms": "10"}  # header of an upstream that wants to be asked again at once


def texts(client: ChatClient, request: dict[str, Any] = REQUEST) -> list[str]:
    with client.open_stream(request) as stream:
        return [chunk["choices"][0]["delta"].get("content") or "" for chunk in stream if chunk["choices"]]


def failure_of(call: Callable[[], Any]) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        call()
    return caught.value


# what goes up


def test_a_request_goes_to_the_path_of_the_spec_with_key_and_body(upstream: FakeUpstream, connect: Connect) -> None:
    connect(headers={"X-Title": "GodeX"}).complete({**REQUEST, "stream": False})

    sent = upstream.requests[0]
    assert sent.path == "/v1/chat/completions"
    assert sent.body == {**REQUEST, "stream": False}
    assert sent.headers["authorization"] == "Bearer sk-upstream-key"
    assert sent.headers["x-title"] == "GodeX"
    assert sent.headers["accept-encoding"] == "identity"


def test_a_spec_may_carry_its_key_in_another_header(upstream: FakeUpstream, connect: Connect) -> None:
    spec = chat_spec(name="acme", base_url=upstream.url, auth_header="api-key", auth_scheme="")
    connect(spec).complete(REQUEST)

    assert upstream.requests[0].headers["api-key"] == "sk-upstream-key"
    assert "authorization" not in upstream.requests[0].headers


def test_keys_are_used_in_turn(upstream: FakeUpstream, connect: Connect) -> None:
    client = connect(api_keys=("one", " two "))
    for _ in range(3):
        client.complete(REQUEST)

    assert [r.headers["authorization"] for r in upstream.requests] == ["Bearer one", "Bearer two", "Bearer one"]


def test_headers_of_a_call_win(upstream: FakeUpstream, connect: Connect) -> None:
    connect().complete(REQUEST, {"Authorization": "Bearer the-clients-own"})

    assert upstream.requests[0].headers["authorization"] == "Bearer the-clients-own"


def test_the_environment_is_not_looked_at(
    upstream: FakeUpstream, connect: Connect, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login user password swordfish\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    connect().complete(REQUEST)

    assert upstream.requests[0].headers["authorization"] == "Bearer sk-upstream-key"


def test_cookies_are_not_kept(upstream: FakeUpstream, connect: Connect) -> None:
    upstream.script("m", body(answer_body(), headers={"Set-Cookie": "tenant=1"}), repeat=True)
    client = connect()
    client.complete(REQUEST)
    client.complete(REQUEST)

    assert "cookie" not in upstream.requests[1].headers


def test_a_redirect_is_an_error_and_not_followed(upstream: FakeUpstream, connect: Connect) -> None:
    upstream.script("m", body("", status=307, headers={"Location": f"{upstream.url}/elsewhere"}))

    assert failure_of(lambda: connect().complete(REQUEST)).code == codes.UPSTREAM_ERROR
    assert len(upstream.requests) == 1


def test_text_outside_unicode_and_huge_numbers_can_be_sent(upstream: FakeUpstream, connect: Connect) -> None:
    odd = {**REQUEST, "messages": [{"role": "user", "content": "\ud83d"}], "seed": 2**70}
    connect().complete(odd)

    assert upstream.requests[0].body == odd


def answer_body(text: str = "Hello") -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


# what comes back


@pytest.mark.parametrize(
    "how",
    [{}, {"framing": "close"}, {"gzip": True}, {"split": 1}, {"split": 7}, {"crlf": True}],
    ids=str,
)
def test_a_stream_arrives_whole_however_it_is_framed(
    upstream: FakeUpstream, connect: Connect, how: dict[str, Any]
) -> None:
    upstream.script("m", answer("Grüße an alle 中文", **how))
    with connect().open_stream(REQUEST) as stream:
        text = "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in stream)

    assert text == "Grüße an alle 中文"
    assert stream.done
    assert stream.body is None
    assert upstream.wait_for_outcome() == "done"


@pytest.mark.parametrize("how", [{}, {"gzip": True}], ids=str)
def test_a_whole_answer_arrives(upstream: FakeUpstream, connect: Connect, how: dict[str, Any]) -> None:
    upstream.script("m", body(answer_body(), **how))

    assert connect().complete(REQUEST) == answer_body()


def test_a_stream_that_nobody_asked_for_is_switched_off_for_a_whole_answer(
    upstream: FakeUpstream, connect: Connect
) -> None:
    connect().complete({**REQUEST, "stream": True})

    assert upstream.requests[0].body["stream"] is False


def test_a_stream_is_open_as_soon_as_the_head_is_there(upstream: FakeUpstream, connect: Connect) -> None:
    upstream.script("m", sse(chunk(content="a"), stall_after=0))
    stream = connect().open_stream(REQUEST)

    stream.cancel()
    assert list(stream) == []
    stream.close()


def test_an_event_is_handed_on_before_the_next_one_comes(upstream: FakeUpstream, connect: Connect) -> None:
    for how in ({}, {"framing": "close"}, {"gzip": True}):
        upstream.script("m", sse(chunk(content="a"), chunk(content="b"), stall_after=1, **how))
        with connect(idle=5).open_stream(REQUEST) as stream:
            assert len(next(stream.batches())) == 1
            stream.cancel()


def test_a_json_body_in_place_of_a_stream_is_kept_apart(upstream: FakeUpstream, connect: Connect) -> None:
    upstream.script("m", body(answer_body()))
    with connect().open_stream(REQUEST) as stream:
        assert list(stream) == []

    assert stream.body == answer_body()


def test_the_upstreams_name_for_the_call_is_kept(upstream: FakeUpstream, connect: Connect) -> None:
    upstream.script("m", answer("a", headers={"x-request-id": "req-7"}))
    with connect().open_stream(REQUEST) as stream:
        assert stream.request_id == "req-7"


# connections


def test_one_connection_serves_call_after_call(upstream: FakeUpstream, connect: Connect) -> None:
    client = connect()
    for _ in range(3):
        client.complete(REQUEST)
        texts(client)

    assert {request.connection for request in upstream.requests} == {1}


def test_a_connection_is_kept_when_the_end_follows_done_in_a_packet_of_its_own(
    upstream: FakeUpstream, connect: Connect
) -> None:
    upstream.script("m", sse(chunk(content="a"), "data: [DONE]\n\n", {"pause": 0.05}, done=False), repeat=True)
    client = connect()
    texts(client)
    texts(client)

    assert {request.connection for request in upstream.requests} == {1}


def test_a_connection_that_stays_open_behind_done_is_not_waited_for(upstream: FakeUpstream, connect: Connect) -> None:
    upstream.script("m", sse(chunk(content="a"), "data: [DONE]\n\n", "", done=False, stall_after=2))
    started = time.monotonic()

    assert texts(connect()) == ["a"]
    assert time.monotonic() - started < 5
    assert upstream.wait_for_outcome() == "client_gone"


def test_a_stream_left_in_the_middle_drops_its_connection(upstream: FakeUpstream, connect: Connect) -> None:
    upstream.script("m", sse(chunk(content="a"), chunk(content="b"), stall_after=2))
    with connect().open_stream(REQUEST) as stream:
        next(stream.batches())

    assert upstream.wait_for_outcome() == "client_gone"


def test_more_streams_than_the_pool_holds_are_served_without_a_warning(
    upstream: FakeUpstream, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    upstream.script("m", sse(*(chunk(content=str(n)) for n in range(10)), pause=0.02), repeat=True)
    client = connect(pool_size=50)
    results: list[list[str]] = []
    threads = [threading.Thread(target=lambda: results.append(texts(client))) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert results == [[str(n) for n in range(10)]] * 50
    assert not [record for record in caplog.records if "pool is full" in record.message]


# leaving


def test_cancel_from_another_thread_ends_a_silent_stream(upstream: FakeUpstream, connect: Connect) -> None:
    upstream.script("m", sse(chunk(content="a"), stall_after=1))
    stream = connect().open_stream(REQUEST)
    seen: list[Any] = []
    finished = threading.Event()

    def read() -> None:
        seen.extend(stream)
        stream.close()
        finished.set()

    threading.Thread(target=read).start()
    while not seen and not finished.is_set():
        time.sleep(0.005)
    stream.cancel()

    assert finished.wait(5)
    assert len(seen) == 1
    assert stream.cancelled
    assert upstream.wait_for_outcome() == "client_gone"


def test_cancel_in_the_middle_of_a_chunk_is_no_error(upstream: FakeUpstream, connect: Connect) -> None:
    upstream.script("m", sse('data: {"choi', stall_after=1))
    stream = connect().open_stream(REQUEST)
    threading.Timer(0.05, stream.cancel).start()

    assert list(stream) == []
    stream.close()


def test_cancel_after_the_end_does_not_touch_the_next_call(upstream: FakeUpstream, connect: Connect) -> None:
    client = connect()
    with client.open_stream(REQUEST) as stream:
        list(stream)
    with client.open_stream(REQUEST) as other:
        stream.cancel()
        assert len(list(other)) > 0

    assert other.done


def test_close_may_be_repeated(upstream: FakeUpstream, connect: Connect) -> None:
    with connect().open_stream(REQUEST) as stream:
        list(stream)
    stream.close()

    assert stream.done


# cuts and silence

CUTS: dict[str, Answer] = {
    "FIN": sse(chunk(content="a"), chunk(content="b"), cut_after=1),
    "RST": sse(chunk(content="a"), {"pause": 0.05}, chunk(content="b"), cut_after=2, reset=True),
    "inside a chunk": sse(chunk(content="a"), 'data: {"choices":[{"del', cut_after=2, done=False),
    "inside a chunk, open end": sse(chunk(content="a"), 'data: {"choices":[{"del', done=False, framing="close"),
    "inside a gzip body": sse(chunk(content="a"), chunk(content="b"), cut_after=1, gzip=True),
}


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
def test_a_stream_that_breaks_off_is_a_cut_behind_the_chunks_that_came(
    upstream: FakeUpstream, connect: Connect, cut: Answer
) -> None:
    upstream.script("m", cut)
    seen: list[Any] = []

    def read() -> None:
        with connect().open_stream(REQUEST) as stream:
            seen.extend(stream)

    assert failure_of(read).code == codes.UPSTREAM_CUT
    assert len(seen) == 1


def test_an_open_end_without_done_only_ends(upstream: FakeUpstream, connect: Connect) -> None:
    upstream.script("m", sse(chunk(content="a"), done=False, framing="close"))
    with connect().open_stream(REQUEST) as stream:
        assert len(list(stream)) == 1

    assert not stream.done


def test_a_whole_answer_that_breaks_off_is_a_cut(upstream: FakeUpstream, connect: Connect) -> None:
    upstream.script("m", body(answer_body("x" * 5000), cut_after=0))

    assert failure_of(lambda: connect().complete(REQUEST)).code == codes.UPSTREAM_CUT


def test_no_head_in_time_is_a_timeout(upstream: FakeUpstream, connect: Connect) -> None:
    upstream.script("m", answer("x", stall=True), repeat=True)
    error = failure_of(lambda: connect(first_byte=0.1, attempts=3).open_stream(REQUEST))

    assert (error.code, error.context["phase"]) == (codes.UPSTREAM_TIMEOUT, "head")
    assert len(upstream.requests) == 1  # the wait was long enough once


@pytest.mark.parametrize("how", [{}, {"gzip": True}, {"framing": "close"}], ids=str)
def test_silence_between_two_reads_is_a_timeout(upstream: FakeUpstream, connect: Connect, how: dict[str, Any]) -> None:
    upstream.script("m", sse(chunk(content="a"), stall_after=1, **how))
    error = failure_of(lambda: texts(connect(idle=0.15)))

    assert (error.code, error.context["phase"]) == (codes.UPSTREAM_TIMEOUT, "idle")
    assert upstream.wait_for_outcome() == "client_gone"


def test_a_stream_that_never_ends_is_a_timeout(upstream: FakeUpstream, connect: Connect) -> None:
    upstream.script("m", sse(*[chunk(content="a")] * 1000, pause=0.02))
    error = failure_of(lambda: texts(connect(idle=5, total=0.3)))

    assert (error.code, error.context["phase"]) == (codes.UPSTREAM_TIMEOUT, "total")


def test_a_slow_reader_is_not_a_silent_upstream(upstream: FakeUpstream, connect: Connect) -> None:
    upstream.script("m", sse(chunk(content="a"), {"pause": 0.02}, chunk(content="b")))
    with connect(idle=0.15).open_stream(REQUEST) as stream:
        batches = stream.batches()
        next(batches)
        time.sleep(0.3)  # longer than `idle`, with nobody waiting for the upstream
        assert sum(map(len, batches)) == 1


def test_a_stream_longer_than_the_time_for_its_head_goes_on(upstream: FakeUpstream, connect: Connect) -> None:
    upstream.script("m", sse(chunk(content="a"), {"pause": 0.3}, chunk(content="b")))

    assert texts(connect(first_byte=0.15)) == ["a", "b"]


def test_nobody_listening_is_unreachable(upstream: FakeUpstream, connect: Connect) -> None:
    client = connect()
    upstream.close()
    error = failure_of(lambda: client.complete(REQUEST))

    assert error.code == codes.UPSTREAM_UNREACHABLE
    assert "acme" in error.message


@pytest.mark.parametrize(
    "url", ["not a url", "ftp://up.example/v1", "http://", "http://[::1", "http://up.example:port"]
)
def test_an_address_that_is_none_is_an_error_of_ours(connect: Connect, url: str) -> None:
    assert failure_of(lambda: connect(base_url=url).complete(REQUEST)).code == codes.UPSTREAM_ERROR


@pytest.mark.parametrize("key", ["swordfish\nx", "swordfish-中"])
def test_a_key_that_is_no_header_is_an_error_that_does_not_show_it(connect: Connect, key: str) -> None:
    error = failure_of(lambda: connect(api_keys=(key,)))

    assert error.code == codes.UPSTREAM_ERROR
    assert "swordfish" not in str(error.to_log_entry())


@pytest.mark.parametrize("key", ["swordfish\r\nX-Other: x", "swordfish-中"])
def test_a_clients_key_that_is_no_header_is_an_error_that_does_not_show_it(
    upstream: FakeUpstream, connect: Connect, key: str
) -> None:
    error = failure_of(lambda: connect().complete(REQUEST, {"Authorization": f"Bearer {key}"}))

    assert error.code == codes.UPSTREAM_ERROR
    assert "swordfish" not in str(error.to_log_entry())
    assert upstream.requests == []


# refusals and repetitions


def test_a_refusal_is_an_error_before_any_stream(upstream: FakeUpstream, connect: Connect) -> None:
    upstream.script("m", failure(401, "Incorrect API key provided: sk-upstream-key"))
    error = failure_of(lambda: connect().open_stream(REQUEST))

    assert error.code == codes.UPSTREAM_AUTHENTICATION
    assert "sk-upstream-key" not in error.message


def test_a_fault_in_a_200_is_an_error(upstream: FakeUpstream, connect: Connect) -> None:
    upstream.script("m", body({"error": {"message": "no", "code": "rate_limit_exceeded"}}))

    assert failure_of(lambda: connect().complete(REQUEST)).code == codes.UPSTREAM_RATE_LIMIT


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_what_may_pass_is_tried_again(upstream: FakeUpstream, connect: Connect, status: int) -> None:
    upstream.script("m", failure(status, "later", headers=QUICK), failure(status, "later", headers=QUICK), answer("a"))

    assert "".join(texts(connect(attempts=3))) == "a"
    assert len(upstream.requests) == 3


def test_calls_that_are_tried_again_do_not_disturb_each_other(upstream: FakeUpstream, connect: Connect) -> None:
    for name in map(str, range(20)):
        upstream.script(name, failure(503, "later", headers=QUICK), body(answer_body(name)))
    client = connect(attempts=2, pool_size=20)
    found: dict[str, Any] = {}

    def ask(name: str) -> None:
        found[name] = client.complete({**REQUEST, "model": name})

    threads = [threading.Thread(target=ask, args=(str(number),)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert found == {str(number): answer_body(str(number)) for number in range(20)}


LASTING = {
    "400": failure(400, "bad"),
    "401": failure(401, "bad"),
    "404": failure(404, "model m not found"),
    "quota": failure(429, "no money", code="insufficient_quota", headers=QUICK),
    "context as a 500": failure(500, "the prompt is too long: maximum context length is 5"),
}


@pytest.mark.parametrize("lasting", LASTING.values(), ids=LASTING)
def test_what_will_not_pass_is_not_tried_again(upstream: FakeUpstream, connect: Connect, lasting: Answer) -> None:
    upstream.script("m", lasting, repeat=True)
    failure_of(lambda: connect(attempts=3).complete(REQUEST))

    assert len(upstream.requests) == 1


def test_a_connection_closed_without_a_head_is_tried_again(upstream: FakeUpstream, connect: Connect) -> None:
    upstream.script("m", answer(drop=True), answer("a"))

    assert "".join(texts(connect(attempts=2))) == "a"


def test_the_last_refusal_is_the_one_that_is_told(upstream: FakeUpstream, connect: Connect) -> None:
    upstream.script("m", failure(500, "first", headers=QUICK), failure(503, "second", headers=QUICK))
    error = failure_of(lambda: connect(attempts=2).complete(REQUEST))

    assert error.code == codes.UPSTREAM_OVERLOADED
    assert "second" in error.message


def test_a_wait_beyond_the_budget_is_left_to_the_client(upstream: FakeUpstream, connect: Connect) -> None:
    upstream.script("m", failure(429, "later", headers={"Retry-After": "60"}), repeat=True)
    error = failure_of(lambda: connect(attempts=3, budget=5).complete(REQUEST))

    assert error.retry_after == 60
    assert len(upstream.requests) == 1


def test_nothing_is_repeated_once_the_answer_has_begun(upstream: FakeUpstream, connect: Connect) -> None:
    upstream.script("m", sse(chunk(content="a"), cut_after=1), repeat=True)
    failure_of(lambda: texts(connect(attempts=3)))

    assert len(upstream.requests) == 1


# a mocked adapter


@responses.activate
def test_the_usual_mock_of_requests_serves_both_calls() -> None:
    url = "https://up.example/v1/chat/completions"
    responses.post(url, json=answer_body("Hi"))
    responses.post(url, body=f"data: {json.dumps(chunk(content='Hi'))}\n\ndata: [DONE]\n\n")
    client = ChatClient(chat_spec(name="acme", base_url="https://up.example/v1"), ClientSettings(api_keys=("k",)))

    assert client.complete(REQUEST) == answer_body("Hi")
    assert texts(client) == ["Hi"]
    assert responses.calls[0].request.headers["Authorization"] == "Bearer k"
    client.close()


# the way there


class RawServer:
    """Answers each request with one whole answer; heads: of the requests. Under TLS with a certificate."""

    def __init__(self, *, closes: bool = False, certificate: Path | None = None) -> None:
        """closes: each connection after its answer, without having said so."""
        self.heads: list[str] = []
        self.connections = 0
        self.closed = threading.Semaphore(0)
        self._closes = closes
        self._tls = None
        if certificate is not None:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(certificate)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._listener.settimeout(0.1)  # so that close() is noticed
        self._over = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while not self._over:
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            self.connections += 1
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as reader:
            while first := reader.readline():
                head = (first + b"".join(iter(reader.readline, b"\r\n"))).decode()
                reader.read(int(head.lower().partition("content-length: ")[2].partition("\r\n")[0]))
                self.heads.append(head)
                text = json.dumps(answer_body("Hi"))
                connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())
                if self._closes:
                    connection.shutdown(socket.SHUT_RDWR)
                    break
        self.closed.release()

    def close(self) -> None:
        self._over = True
        self._thread.join()
        self._listener.close()


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_a_kept_connection_that_the_upstream_has_closed_is_not_used_again(tls: bool, tmp_path: Path) -> None:
    certificate = certificate_for_localhost(tmp_path) if tls else None
    server = RawServer(closes=True, certificate=certificate)
    url = f"{'https' if tls else 'http'}://127.0.0.1:{server.port}"
    client = ChatClient(
        chat_spec(name="acme", base_url=url), ClientSettings(attempts=1, ca_bundle=str(certificate) if tls else None)
    )
    for number in range(1, 4):
        assert client.complete(REQUEST) == answer_body("Hi")
        assert server.closed.acquire(timeout=5)
        assert server.connections == number
    client.close()
    server.close()


def test_an_open_connection_is_used_again() -> None:
    server = RawServer()
    client = ChatClient(chat_spec(name="acme", base_url=f"http://127.0.0.1:{server.port}"), ClientSettings(attempts=1))
    for _ in range(3):
        assert client.complete(REQUEST) == answer_body("Hi")
    assert server.connections == 1
    client.close()
    server.close()


@pytest.mark.parametrize("named", [{}, {"Host": "up.example"}], ids=["by the address", "by the settings"])
def test_the_upstream_is_told_which_host_is_meant(named: dict[str, str]) -> None:
    server = RawServer()
    url = f"http://user:word@127.0.0.1:{server.port}"
    client = ChatClient(chat_spec(name="acme", base_url=url), ClientSettings(attempts=1, headers=named))
    client.complete(REQUEST)
    hosts = [line for line in server.heads[0].split("\r\n") if line.lower().startswith("host:")]
    assert hosts == [f"Host: {named.get('Host', f'127.0.0.1:{server.port}')}"]
    client.close()
    server.close()


@pytest.mark.parametrize("size", [SMALL_BODY, SMALL_BODY + 1, 10 * SMALL_BODY])
def test_bodies_of_every_size_arrive_whole(upstream: FakeUpstream, connect: Connect, size: int) -> None:
    message = {"role": "user", "content": "x" * size}
    connect().complete({**REQUEST, "messages": [message]})
    assert upstream.requests[0].body["messages"] == [message]


def test_a_proxy_is_given_the_whole_address_of_each_call() -> None:
    proxy = RawServer()
    settings = ClientSettings(attempts=1, proxy=f"http://user:word@127.0.0.1:{proxy.port}")
    client = ChatClient(chat_spec(name="acme", base_url="http://up.example/v1"), settings)
    for _ in range(2):
        assert client.complete(REQUEST) == answer_body("Hi")
    assert [head.split("\r\n")[0] for head in proxy.heads] == [
        "POST http://up.example/v1/chat/completions HTTP/1.1"
    ] * 2
    assert all("Proxy-Authorization: Basic" in head for head in proxy.heads)
    client.close()
    proxy.close()


def test_silence_behind_a_proxy_is_the_upstreams_and_not_asked_for_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        settings = ClientSettings(attempts=3, first_byte=0.2, proxy=f"http://127.0.0.1:{proxy.getsockname()[1]}")
        client = ChatClient(chat_spec(name="acme", base_url="http://up.example/v1"), settings)
        error = failure_of(lambda: client.complete(REQUEST))
        client.close()
    assert (error.code, error.context["phase"]) == (codes.UPSTREAM_TIMEOUT, "head")


def test_a_closed_client_can_be_used_again(upstream: FakeUpstream, connect: Connect) -> None:
    """A running answer of a reloaded configuration may still have to ask once more."""
    client = connect()
    client.complete(REQUEST)
    client.close()
    client.complete(REQUEST)
    assert upstream.connections == 2


# TLS


def test_tls_streams_are_read_cancelled_and_timed_like_others(tmp_path: Path) -> None:
    certificate = certificate_for_localhost(tmp_path)
    with FakeUpstream(certificate=str(certificate)) as upstream:
        spec = chat_spec(name="acme", base_url=upstream.url)
        client = ChatClient(spec, ClientSettings(ca_bundle=str(certificate), idle=0.2, attempts=1))
        assert "".join(texts(client)) == "Hello from upstream."
        upstream.script("m", sse(chunk(content="a"), stall_after=1), repeat=True)
        assert failure_of(lambda: texts(client)).code == codes.UPSTREAM_TIMEOUT
        stream = client.open_stream(REQUEST)
        threading.Timer(0.05, stream.cancel).start()
        assert len(list(stream)) == 1
        stream.close()
        client.close()


def test_a_certificate_nobody_trusts_is_not_tried_again(tmp_path: Path) -> None:
    with FakeUpstream(certificate=str(certificate_for_localhost(tmp_path))) as upstream:
        client = ChatClient(chat_spec(name="acme", base_url=upstream.url), ClientSettings(attempts=3))
        error = failure_of(lambda: client.complete(REQUEST))
        client.close()

    assert (error.code, error.context["phase"]) == (codes.UPSTREAM_UNREACHABLE, "tls")
    assert upstream.connections == 1
