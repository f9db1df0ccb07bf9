"""Tools that reach Codex in other shapes: MCP namespaces, sub-agents, tool search, code mode."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.e2e.codex.calls import command
from tests.support.fake_upstream import answer

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

SERVER = str(Path(__file__).parent / "mcp_server.py")
BOTH_WAYS = pytest.mark.parametrize("websockets", [False, True], ids=["post", "websocket"])


def servers(*names):
    return {f"mcp_servers.{name}": {"command": sys.executable, "args": [SERVER, name]} for name in names}


def names(chat):
    return [tool["function"]["name"] for tool in chat["tools"]]


@BOTH_WAYS
def test_an_mcp_tool_is_called_in_its_namespace(codex, websockets):
    run = codex(
        "Add.",
        answer(calls=(("m", "mcp__tiny__add", '{"a":2,"b":3}'),)),
        answer("Five."),
        config=servers("tiny"),
        endpoint={"supports_websockets": websockets},
    )
    assert run.answer == "Five."
    (called,) = run.items("mcp_tool_call")
    assert (called["server"], called["tool"], called["status"]) == ("tiny", "add", "completed")
    assert "tiny says 5" in run.outputs()[0]


def test_two_servers_with_equal_tool_names_are_told_apart(codex):
    run = codex(
        "Add at both.",
        answer(calls=(("x", "mcp__east__add", '{"a":1,"b":1}'), ("y", "mcp__west__add", '{"a":2,"b":2}'))),
        answer("Both."),
        config=servers("east", "west"),
    )
    assert run.answer == "Both."
    assert {"mcp__east__add", "mcp__west__add"} <= set(names(run.requests[0]))
    assert [call["server"] for call in run.items("mcp_tool_call")] == ["east", "west"]
    east, west = run.outputs()
    assert "east says 2" in east and "west says 4" in west


def test_a_picture_in_a_result_follows_in_a_message_of_the_user(codex):
    run = codex(
        "Look.",
        answer(calls=(("p", "mcp__tiny__take_picture", "{}"),)),
        answer("Red."),
        config=servers("tiny"),
    )
    assert run.answer == "Red."
    output, shown = run.requests[-1]["messages"][-2:]
    assert "from tiny" in output["content"]
    assert shown["role"] == "user" and any(part["type"] == "image_url" for part in shown["content"])


def test_found_tools_can_be_called(codex):
    run = codex(
        "Add.",
        answer(calls=(("s", "tool_search", '{"query":"add numbers"}'),)),
        answer(calls=(("m", "mcp__tiny__add", '{"a":2,"b":3}'),)),
        answer("Five."),
        config=servers("tiny"),
        entry={"supports_search_tool": True},
    )
    assert run.answer == "Five."
    assert "tool_search" in names(run.requests[0]) and "mcp__tiny__add" not in names(run.requests[0])
    assert "mcp__tiny__add" in names(run.requests[1])
    found, added = run.outputs()
    assert "add" in found and "tiny says 5" in added


def agents(spawn, wait):
    """Both agents ask the same model: which one it is shows in the messages."""

    def play(chat):
        outputs = [message["content"] for message in chat["messages"] if message["role"] == "tool"]
        if "Parent task" not in json.dumps(chat["messages"]):
            assert "Child task" in json.dumps(chat["messages"])
            return answer("Child is done.") if outputs else answer(calls=(command("k", "echo child > child.txt"),))
        if not outputs:
            return answer(calls=(("s", *spawn),))
        if len(outputs) == 1:
            return answer(calls=(("w", *wait(outputs[0])),))
        return answer("Heard: " + str([message["content"] for message in chat["messages"][-2:]]))

    return play


def test_a_sub_agent_works_and_reports(codex):
    def wait(spawned):
        agent = re.search(r'"agent_id":\s*"([^"]+)"', spawned)
        return "multi_agent_v1__wait_agent", json.dumps({"targets": [agent[1]], "timeout_ms": 30000})

    play = agents(("multi_agent_v1__spawn_agent", '{"message":"Child task"}'), wait)
    codex.upstream.script(codex.upstream_model, play, repeat=True)
    run = codex("Parent task")
    assert "Child is done." in run.answer
    assert (codex.folder / "child.txt").read_text() == "child\n"


def test_a_sub_agent_of_the_second_version_hears_its_task(codex):
    task = {"message": "Child task", "task_name": "helper", "fork_turns": "none"}
    waiting = ("collaboration__wait_agent", '{"timeout_ms":30000}')
    play = agents(("collaboration__spawn_agent", json.dumps(task)), lambda spawned: waiting)
    codex.upstream.script(codex.upstream_model, play, repeat=True)
    run = codex("Parent task", entry={"multi_agent_version": "v2"}, config={"features.multi_agent_v2": True})
    assert "Child is done." in run.answer
    assert (codex.folder / "child.txt").read_text() == "child\n"


LITE = {"use_responses_lite": True, "tool_mode": "code_mode_only", "multi_agent_version": "v1"}


@BOTH_WAYS
def test_a_lite_model_gets_its_tools_from_an_input_item(codex, websockets):
    script = "const r = await tools.exec_command({cmd: 'echo lite > lite.txt; echo ran'}); text(r.output);"
    run = codex(
        "Write.",
        answer(calls=(("x", "functions__exec", json.dumps({"input": script})),)),
        answer("Written."),
        entry=LITE,
        endpoint={"supports_websockets": websockets},
    )
    assert run.answer == "Written."
    assert "functions__exec" in names(run.requests[0])
    assert (codex.folder / "lite.txt").read_text() == "lite\n"
    assert "ran" in run.outputs()[0]
