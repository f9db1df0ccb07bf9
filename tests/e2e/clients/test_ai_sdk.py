"""The Vercel AI SDK, in node: each scenario of ai_sdk.mjs against a scripted upstream."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.fake_upstream import answer, chunk, failure, sse
from tests.support.node import installed

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

CALLS = (("c1", "add", '{"a":2,"b":3}'), ("c2", "add", '{"a":4,"b":5}'))


@pytest.fixture
def sdk(tmp_path, base_url, upstream):
    """sdk(scenario, *answers): what the scenario saw."""
    (tmp_path / "node_modules").symlink_to(installed("ai-sdk") / "node_modules")
    script = shutil.copy(Path(__file__).parent / "ai_sdk.mjs", tmp_path)

    def run(scenario, *answers):
        model = f"ai-{scenario}"
        upstream.script(model, *answers)
        environ = {**os.environ, "BASE_URL": base_url, "MODEL": model, "AI_SDK_LOG_WARNINGS": "false"}
        done = subprocess.run(["node", script, scenario], env=environ, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def contents(upstream):
    return [message["content"] for message in upstream.requests[-1].body["messages"]]


def test_generate_text(sdk):
    seen = sdk("generate", answer("Hello."))
    assert seen["text"] == "Hello." and seen["finish"] == "stop"
    assert seen["usage"]["totalTokens"] == 17


def test_reasoning(sdk):
    assert sdk("reasoning", answer("Hello.", reasoning="Greet.")) == {"text": "Hello.", "reasoning": "Greet."}


def test_stream_text(sdk):
    seen = sdk("stream", answer("Hello wide world", reasoning="Greet."))
    assert seen["text"] == "Hello wide world" and seen["finish"] == "stop" and seen["errors"] == []
    assert "reasoning-delta" in seen["kinds"] and seen["kinds"][-1] == "finish"
    assert seen["usage"]["totalTokens"] == 17


def test_a_tool_loop(sdk, upstream):
    seen = sdk("tools", answer("I add.", calls=CALLS), answer("5 and 9."))
    assert seen == {"text": "5 and 9.", "steps": 2, "results": [{"sum": 5}, {"sum": 9}]}
    assert [message["role"] for message in upstream.requests[-1].body["messages"]] == [
        "user",
        "assistant",
        "tool",
        "tool",
    ]


def test_a_streamed_tool_loop_that_keeps_nothing(sdk, upstream):
    seen = sdk("stream-tools", answer("I add.", reasoning="Add.", calls=CALLS), answer("5 and 9."))
    assert seen["text"] == "I add.5 and 9." and seen["steps"] == 2 and seen["errors"] == []
    assert seen["kinds"].count("tool-result") == 2
    assert contents(upstream) == ["Add.", "I add.", '{"sum":5}', '{"sum":9}']


def test_structured_output(sdk):
    assert sdk("object", answer('{"name":"teal","red":0}')) == {"name": "teal", "red": 0}


def test_streamed_structured_output(sdk):
    seen = sdk("stream-object", answer('{"name":"teal", "red":0}'))
    assert seen["output"] == seen["last"] == {"name": "teal", "red": 0}


def test_a_forced_tool(sdk, upstream):
    assert sdk("forced", answer(calls=CALLS[:1])) == {"calls": [{"a": 2, "b": 3}]}
    assert upstream.requests[-1].body["tool_choice"] == {"type": "function", "function": {"name": "add"}}


def test_a_picture(sdk, upstream):
    assert sdk("picture", answer("Red.")) == {"text": "Red."}
    picture = "data:image/png;base64," + base64.b64encode(b"picture").decode()
    assert contents(upstream)[0][1] == {"type": "image_url", "image_url": {"url": picture}}


def test_a_conversation_by_previous_response_id(sdk, upstream):
    assert sdk("chain", answer("Hello Ann."), answer("Ann.")) == {"text": "Ann."}
    assert contents(upstream) == ["I am Ann.", "Hello Ann.", "Who am I?"]


def test_a_conversation_that_the_client_keeps(sdk, upstream):
    """Stored items are named by item_reference instead of being sent again."""
    script = (answer("I add.", reasoning="Add.", calls=CALLS), answer("5 and 9.", reasoning="Sum."), answer("Still."))
    assert sdk("history", *script) == {"text": "Still."}
    assert contents(upstream) == ["Add.", "I add.", '{"sum":5}', '{"sum":9}', "5 and 9.", "And now?"]


def test_a_rate_limit_is_waited_for(sdk):
    assert sdk("retry", failure(429, "slow down", headers={"Retry-After": "1"}), answer("Hello.")) == {"text": "Hello."}


@pytest.mark.parametrize(("fault", "retryable"), [(failure(400, "bad words"), False), (failure(500, "oops"), True)])
def test_a_refusal_is_an_error_with_its_status(sdk, fault, retryable):
    seen = sdk("refused", fault)
    assert seen["name"] == "AI_APICallError" and seen["retryable"] is retryable
    assert seen["status"] == (400 if fault.status == 400 else 502)


def test_a_cut_stream_is_an_error_and_not_an_answer(sdk):
    seen = sdk("stream", sse(chunk(content="Half an"), cut_after=1))
    assert seen["text"] == "Half an" and seen["finish"] != "stop"
    assert "before its answer was complete" in json.dumps(seen["errors"])
