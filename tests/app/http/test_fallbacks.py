"""Another provider answers where the first cannot, as long as nothing of an answer was seen."""

from __future__ import annotations

import pytest

from providers.breaker import FAILURES as FAILURES_IN_A_ROW
from tests.support.client import output_text
from tests.support.fake_upstream import Answer, FakeUpstream, answer, chunk, failure, sse


@pytest.fixture
def second():
    with FakeUpstream() as server:
        server.default = answer("from the second")
        yield server


@pytest.fixture
def gateway(make_gateway, upstream, second):
    def section(url):
        return {"spec": "openai_compatible", "endpoint": {"base_url": url}, "retry": {"attempts": 1},
                "credentials": {"api_key": "k"}, "timeouts": {"first_byte": 0.5}}  # fmt: skip

    return make_gateway(
        providers={
            "up": section(upstream.url),
            "down": section("http://127.0.0.1:9/v1"),
            "second": {**section(second.url), "capabilities": {"token_limit_field": "max_completion_tokens"}},
        },
        default_provider="up",
        models={"fallbacks": {"up/m": ["down/x", "second/big"]}},
    )


FAILURES = [failure(429, "slow"), failure(500, "oops"), failure(503, "busy"), failure(401, "key"), failure(402, "pay"),
            failure(404, "The model does not exist", code="model_not_found"), Answer(body={}, stall=True)]  # fmt: skip


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("reply", FAILURES, ids=lambda reply: f"{reply.status}{' stall' if reply.stall else ''}")
def test_the_next_provider_answers(gateway, upstream, second, reply, stream):
    upstream.script("m", reply)
    made = gateway.post(stream=stream, max_output_tokens=9)
    assert made.status_code == 200
    assert made.headers["x-godex-model"] == "second/big"
    assert "from the second" in made.get_data(as_text=True).replace('","logprobs":[]}', "") or stream
    assert second.requests[0].body["model"] == "big" and second.requests[0].body["max_completion_tokens"] == 9


@pytest.mark.parametrize("reply", [failure(400, "bad"), failure(400, "maximum context length is 5 tokens")])
def test_a_wrong_request_is_wrong_everywhere(gateway, upstream, second, reply):
    upstream.script("m", reply)
    gateway.refused(400)
    assert second.requests == []


def test_nobody_answers(gateway, upstream, second):
    upstream.script("m", failure(429, "slow", headers={"Retry-After": "7"}))
    second.default = failure(500, "oops")
    assert gateway.refused(429)["message"].startswith("up limits the rate of requests")


def test_after_the_first_byte_nothing_is_repeated(gateway, upstream, second):
    upstream.script("m", sse(chunk(content="half"), cut_after=1))
    assert gateway.stream().response["status"] == "failed"
    assert second.requests == []


def test_other_models_have_no_fallback(gateway, upstream, second):
    upstream.script("other", failure(500, "oops"))
    gateway.refused(502, model="other")
    assert second.requests == []


def test_a_conversation_goes_on_whoever_answers(gateway, upstream, second):
    upstream.script("m", answer("one"), failure(500, "oops"))
    first = gateway.create(input="a")
    made = gateway.create(input="b", previous_response_id=first["id"])
    assert output_text(made) == "from the second"
    assert [message["content"] for message in second.requests[-1].body["messages"]] == ["a", "one", "b"]


def test_the_clients_own_key_is_passed_through(make_gateway, upstream):
    gateway = make_gateway({"credentials": "passthrough"})
    gateway.post(headers={"Authorization": "Bearer client-key"})
    assert upstream.requests[0].headers["authorization"] == "Bearer client-key"


def test_a_fallback_whose_breaker_is_open_is_passed_over(gateway, upstream, second):
    for _ in range(FAILURES_IN_A_ROW + 2):
        upstream.script("m", failure(429, "slow"))
        assert gateway.post().headers["x-godex-model"] == "second/big"
