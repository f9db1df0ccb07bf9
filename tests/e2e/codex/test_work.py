"""A turn as it should go: answers, commands, patches, plans, pictures."""

from __future__ import annotations

import base64
import json

import pytest

from tests.e2e.codex.calls import command, fragment, patch
from tests.support.fake_upstream import answer, chunk, sse
from tests.support.pictures import png

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

BOTH_WAYS = pytest.mark.parametrize("websockets", [False, True], ids=["post", "websocket"])


@BOTH_WAYS
def test_a_plain_answer_is_shown(codex, websockets):
    run = codex("Say hello.", answer("Hello there."), endpoint={"supports_websockets": websockets})
    assert run.status == 0 and run.answer == "Hello there."
    asked = run.requests[-1]
    assert asked["messages"][0]["role"] == "system"
    assert asked["messages"][-1] == {"role": "user", "content": "Say hello."}
    assert run.events[-1]["usage"]["input_tokens"] == 12


@BOTH_WAYS
def test_the_shell_tool_writes_a_file(codex, websockets):
    run = codex(
        "Write it.",
        answer("I will.", calls=(command("call_1", "printf done > made.txt && echo fine"),)),
        answer("It is written."),
        endpoint={"supports_websockets": websockets},
    )
    assert run.answer == "It is written."
    assert (codex.folder / "made.txt").read_text() == "done"
    (ran,) = run.items("command_execution")
    assert ran["exit_code"] == 0
    assert len(run.requests) == 2
    assert run.chains == (1 if websockets else 2)
    called, output = run.requests[-1]["messages"][-2:]
    assert called["content"] == "I will." and called["tool_calls"][0]["id"] == "call_1"
    assert output["tool_call_id"] == "call_1" and "fine" in output["content"]


def test_an_unlisted_model_works_with_the_shell_alone(codex):
    run = codex("Write it.", answer(calls=(command("c", "echo x > made.txt"),)), answer("Done."), listed=False)
    assert run.answer == "Done."
    assert (codex.folder / "made.txt").exists()


CREATE = ("*** Add File: new/poem.txt", "+roses", "+violets")
EDIT = ("*** Update File: poem.txt", "@@", " roses", "-violets", "+tulips")


@BOTH_WAYS
def test_patches_create_and_edit_files(codex, websockets):
    (codex.folder / "poem.txt").write_text("roses\nviolets\n")
    run = codex(
        "Edit.",
        answer(calls=(patch("p1", *CREATE),)),
        answer(calls=(patch("p2", *EDIT),)),
        answer("Edited."),
        endpoint={"supports_websockets": websockets},
    )
    assert run.answer == "Edited."
    assert (codex.folder / "new" / "poem.txt").read_text() == "roses\nviolets\n"
    assert (codex.folder / "poem.txt").read_text() == "roses\ntulips\n"
    changes = [change["kind"] for item in run.items("file_change") for change in item["changes"]]
    assert changes == ["add", "update"]
    (tool,) = [tool for tool in run.requests[0]["tools"] if tool["function"]["name"] == "apply_patch"]
    assert "*** Begin Patch" in tool["function"]["description"]


def test_a_failed_patch_is_reported_and_mended(codex):
    (codex.folder / "poem.txt").write_text("roses\nviolets\n")
    run = codex(
        "Edit.",
        answer(calls=(patch("p1", "*** Update File: poem.txt", "@@", "-daisies", "+tulips"),)),
        answer(calls=(patch("p2", *EDIT),)),
        answer("Edited."),
    )
    assert run.answer == "Edited."
    assert (codex.folder / "poem.txt").read_text() == "roses\ntulips\n"
    first, second = run.outputs()
    assert "daisies" in first and "poem.txt" in second
    assert json.loads(run.requests[1]["messages"][-2]["tool_calls"][0]["function"]["arguments"])["input"].startswith(
        "*"
    )


def test_a_patch_that_arrives_byte_by_byte_is_whole(codex):
    call_id, name, arguments = patch("p1", "*** Add File: naïve.txt", '+"quoted" \\ back\tslash — 漢字 🙂')
    escaped = json.dumps(json.loads(arguments), ensure_ascii=True)
    pieces = [chunk(tool_calls=[fragment(0, arguments=letter)]) for letter in escaped]
    stream = sse(chunk(tool_calls=[fragment(0, call_id, name)]), *pieces, chunk(finish="tool_calls"), split=7)
    run = codex("Edit.", stream, answer("Edited."))
    assert run.answer == "Edited."
    assert (codex.folder / "naïve.txt").read_text() == '"quoted" \\ back\tslash — 漢字 🙂\n'


def touch(name):
    return json.dumps({"cmd": f"echo {name} > {name}"})


def pieces(name):
    whole = touch(name)
    return whole[:9], whole[9:]


PARALLEL = {
    "one after the other": [
        fragment(0, "a", "exec_command", touch("one")),
        fragment(1, "b", "exec_command", touch("two")),
    ],
    "interleaved": [
        fragment(0, "a", "exec_command"),
        fragment(1, "b", "exec_command"),
        fragment(0, arguments=pieces("one")[0]),
        fragment(1, arguments=pieces("two")[0]),
        fragment(0, arguments=pieces("one")[1]),
        fragment(1, arguments=pieces("two")[1]),
    ],
    "without indexes": [
        fragment(None, "a", "exec_command"),
        fragment(None, arguments=pieces("one")[0]),
        fragment(None, arguments=pieces("one")[1]),
        fragment(None, "b", "exec_command", touch("two")),
    ],
    "all at index 0": [
        fragment(0, "a", "exec_command", touch("one")),
        fragment(0, "b", "exec_command", touch("two")),
    ],
    "with empty ids": [
        fragment(0, "", "exec_command", touch("one")),
        fragment(1, "", "exec_command", touch("two")),
    ],
    "with one id for both": [
        fragment(0, "a", "exec_command", touch("one")),
        fragment(1, "a", "exec_command", touch("two")),
    ],
}  # fmt: skip


@pytest.mark.parametrize("fragments", PARALLEL.values(), ids=PARALLEL)
def test_parallel_calls_all_run(codex, fragments):
    chunks = [chunk(tool_calls=[entry]) for entry in fragments]
    run = codex("Both.", sse(*chunks, chunk(finish="tool_calls")), answer("Both done."))
    assert run.answer == "Both done."
    assert (codex.folder / "one").read_text() == "one\n"
    assert (codex.folder / "two").read_text() == "two\n"
    assert len(run.items("command_execution")) == 2
    calls = run.requests[-1]["messages"][-3]["tool_calls"]
    outputs = [message["tool_call_id"] for message in run.requests[-1]["messages"][-2:]]
    assert [call["id"] for call in calls] == outputs and len(set(outputs)) == 2


def test_the_plan_tool_is_called(codex):
    plan = {"plan": [{"step": "Look", "status": "in_progress"}, {"step": "Act", "status": "pending"}]}
    run = codex(
        "Plan.",
        answer(calls=(("u", "update_plan", json.dumps(plan)),)),
        answer("Planned."),
        config={"tools.update_plan.enabled": True},
    )
    assert run.answer == "Planned."
    planned = [event["item"] for event in run.events if event.get("item", {}).get("type") == "todo_list"]
    assert [step["text"] for step in planned[0]["items"]] == ["Look", "Act"]


def test_an_output_schema_reaches_the_model_and_holds(codex):
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": False,
    }
    (codex.home / "schema.json").write_text(json.dumps(schema))
    run = codex("Name?", answer('{"name":"Ann"}'), arguments=("--output-schema", str(codex.home / "schema.json")))
    assert json.loads(run.answer) == {"name": "Ann"}
    assert run.requests[0]["response_format"]["json_schema"]["schema"] == schema


def test_an_output_schema_for_a_model_without_schemas(codex):
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    (codex.home / "schema.json").write_text(json.dumps(schema))
    run = codex(
        "Name?",
        answer('```json\n{"name":"Ann"}\n```', reasoning="hm"),
        provider="deepseek",
        arguments=("--output-schema", str(codex.home / "schema.json")),
    )
    assert json.loads(run.answer) == {"name": "Ann"}
    assert run.requests[0]["response_format"] == {"type": "json_object"}


@BOTH_WAYS
def test_a_resumed_session_continues(codex, websockets):
    endpoint = {"supports_websockets": websockets}
    first = codex(
        "Remember 7.",
        answer(calls=(command("c", "echo seven"),)),
        answer("I remember."),
        endpoint=endpoint,
    )
    second = codex("Which number?", answer("Seven."), arguments=("resume", first.thread), endpoint=endpoint)
    assert second.answer == "Seven."
    before = first.requests[-1]["messages"]
    assert second.requests[0]["messages"][: len(before)] == before  # what prompt caches live on
    assert [message["role"] for message in second.requests[0]["messages"][-2:]] == ["assistant", "user"]


def test_a_picture_is_seen(codex):
    (codex.home / "red.png").write_bytes(png(2, 2))
    run = codex("What is it?", answer("Red."), arguments=("--image", str(codex.home / "red.png"), "--"))
    assert run.answer == "Red."
    content = run.requests[0]["messages"][-1]["content"]
    (image,) = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
    assert base64.b64decode(image.partition(",")[2])[:4] == b"\x89PNG"


def test_a_picture_for_a_model_that_reads_text_only(codex):
    (codex.home / "red.png").write_bytes(png(2, 2))
    run = codex(
        "What is it?",
        answer("Cannot see."),
        provider="deepseek",
        entry={"input_modalities": ["text", "image"]},
        arguments=("--image", str(codex.home / "red.png"), "--"),
    )
    assert run.answer == "Cannot see."
    assert "image_url" not in json.dumps(run.requests[0]["messages"])


def test_view_image_shows_a_picture_to_the_model(codex):
    (codex.folder / "red.png").write_bytes(png(2, 2))
    run = codex(
        "Look.",
        answer(calls=(("v", "view_image", json.dumps({"path": "red.png"})),)),
        answer("Red."),
    )
    assert run.answer == "Red."
    roles = [message["role"] for message in run.requests[-1]["messages"][-3:]]
    assert roles == ["assistant", "tool", "user"]
    assert any(part["type"] == "image_url" for part in run.requests[-1]["messages"][-1]["content"])


def test_bodies_of_8_megabytes_go_through(codex):
    arguments = []
    for number in range(2):
        path = codex.home / f"noise{number}.png"
        path.write_bytes(png(1000, 1000, noise=True))
        arguments += ["--image", str(path)]
    run = codex(
        "Compare.",
        answer(calls=(command("c", "echo x"),)),
        answer("Alike."),
        arguments=(*arguments, "--"),
    )
    assert run.answer == "Alike."
    assert all(len(json.dumps(body)) > 7_500_000 for body in run.requests)


@pytest.mark.parametrize("mode", ["live", "cached", "disabled"])
def test_an_offered_web_search_is_left_out(codex, mode):
    run = codex("Search.", answer("I cannot search."), config={"web_search": mode})
    assert run.answer == "I cannot search."
    assert {tool["type"] for tool in run.requests[0]["tools"]} == {"function"}
    assert "web_search" not in json.dumps(run.requests[0]["tools"])
