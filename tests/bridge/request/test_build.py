"""From items to messages: what goes up for a given input."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.errors import BridgeError
from bridge.plan.diagnostics import Diagnostics
from bridge.request.build import build_chat_request, plan_request
from bridge.request.content import TEXT_PARTS
from bridge.request.items import READERS, Reading, read_items
from bridge.spec import Capabilities
from bridge.tools.identity import IdentityMap
from tests.support.legality import check_chat_request

FUNCTION = {
    "type": "function",
    "name": "run",
    "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
}


def build(items: list[dict[str, Any]], caps: Capabilities = Capabilities(), **request: Any) -> dict[str, Any]:
    body = {"model": "m", "input": items, **request}
    plan = plan_request(body, items, caps, Diagnostics())
    chat = build_chat_request(body, items, plan, model="up", first_input=0, unseal=opened)
    check_chat_request(chat)
    return chat


def opened(envelope: str) -> dict[str, Any] | None:
    return {"text": "sealed thought", "details": [], "summary": "so far"} if envelope == "ours" else None


def user(text: str = "go") -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def call(call_id: str = "c1", arguments: Any = '{"q":"1"}', **fields: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "run", "arguments": arguments, **fields}


def output(call_id: str = "c1", value: Any = "done") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": value}


def said(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def thought(text: str = "hm") -> dict[str, Any]:
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}


def roles(chat: dict[str, Any]) -> list[str]:
    return [message["role"] for message in chat["messages"]]


ORDERS = [
    ("parallel calls are one message", [user(), call("a"), call("b"), output("a"), output("b")], "uatt"),
    ("the text before a call is in its message", [user(), said("I run it"), call(), output()], "uat"),
    ("text between call and output does not part them", [user(), call("a"), said("x"), call("b"), output("b"), output("a")], "uatt"),
    ("reasoning does not split a group", [user(), call("a"), thought(), call("b"), output("a"), output("b")], "uatt"),
    ("an output ends its group", [user(), call("a"), output("a"), call("b"), output("b")], "uatat"),
    ("a user between call and output follows", [user(), call("a"), user("wait"), output("a")], "uatu"),
    ("a call without an output gets a stand-in", [user(), call("a"), user("stop")], "uatu"),
    ("an output without a call becomes a note", [user(), output("x"), user()], "uuu"),
    ("an output before its call moves behind it", [user(), output("a"), call("a"), user()], "uatu"),
    ("reasoning alone is no message", [user(), thought(), user()], "uu"),
    ("an empty assistant message is dropped", [user(), said(""), user()], "uu"),
    ("repeated ids pair turn by turn", [user(), call("a"), output("a", "1"), call("a"), output("a", "2")], "uatat"),
    ("an interrupted call with a reused id stays apart", [user(), call("a"), user(), call("a"), output("a", "2")], "uatuat"),
]  # fmt: skip


@pytest.mark.parametrize(("items", "expected"), [row[1:] for row in ORDERS], ids=[row[0] for row in ORDERS])
def test_order(items, expected):
    assert "".join(role[0] for role in roles(build(items))) == expected


def test_outputs_of_reused_ids_are_not_swapped():
    chat = build([user(), call("a"), output("a", "one"), call("a"), output("a", "two")])
    assert [message["content"] for message in chat["messages"] if message["role"] == "tool"] == ["one", "two"]


def test_the_stand_in_does_not_steal_a_later_output():
    chat = build([user(), call("a"), user(), call("a"), output("a", "two")])
    tools = [message["content"] for message in chat["messages"] if message["role"] == "tool"]
    assert tools[1] == "two" and "No output" in tools[0]


ARGUMENTS = [
    ("a string stays as it is", '{ "q": 1 }', '{ "q": 1 }'),
    ("an object is dumped", {"q": 1}, '{"q":1}'),
    ("nothing is an empty object", "", "{}"),
    ("null is an empty object", None, "{}"),
    ("broken JSON is wrapped", '{"q":', '{"arguments":"{\\"q\\":"}'),
    ("a list is wrapped", "[1]", '{"arguments":"[1]"}'),
]


@pytest.mark.parametrize(("given_arguments", "sent"), [row[1:] for row in ARGUMENTS], ids=[row[0] for row in ARGUMENTS])
def test_arguments_are_always_a_json_object(given_arguments, sent):
    chat = build([user(), call(arguments=given_arguments), output()])
    assert chat["messages"][1]["tool_calls"][0]["function"]["arguments"] == sent


def test_text_parts_become_one_string():
    parts = [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]
    chat = build([{"type": "message", "role": "user", "content": parts}])
    assert chat["messages"][0]["content"] == "a\nb"


def test_easy_messages_refusals_and_roles():
    refusal = {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}
    chat = build([{"role": "developer", "content": "rules"}, {"role": "user", "content": "a"}, refusal, user("c")])
    assert [(m["role"], m["content"]) for m in chat["messages"]] == [
        ("system", "rules"),
        ("user", "a"),
        ("assistant", "no"),
        ("user", "c"),
    ]


IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "high"}


def test_images_go_up_as_parts():
    chat = build([{"role": "user", "content": [{"type": "input_text", "text": "see"}, IMAGE]}])
    url = {"url": IMAGE["image_url"], "detail": "high"}
    assert chat["messages"][0]["content"] == [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": url}]


def test_images_for_a_text_only_model_leave_a_note():
    chat = build([{"role": "user", "content": [IMAGE]}], Capabilities(input_images=False))
    assert "image" in chat["messages"][0]["content"]


@pytest.mark.parametrize(("where", "expected"), [("tool_message", "ut"), ("user_message", "utu"), ("none", "ut")])
def test_pictures_in_tool_results(where, expected):
    items = [user(), call(), output(value=[{"type": "input_text", "text": "shot"}, IMAGE])]
    chat = build(items, Capabilities(tool_result_images=where))
    assert "".join(role[0] for role in roles(chat)).replace("a", "") == expected
    assert "shot" in str(chat["messages"][2]["content"])


FILES = [
    ({"type": "input_file", "file_id": "file_1"}, "input[0].content[0]"),
    ({"type": "input_image", "file_id": "file_1"}, "input[0].content[0]"),
    ({"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjQKJf8A"}, "input[0].content[0]"),
]  # fmt: skip


@pytest.mark.parametrize(("part", "param"), FILES, ids=["file by id", "image by id", "a pdf"])
def test_what_nobody_can_read_is_refused_by_name(part, param):
    with pytest.raises(BridgeError) as refused:
        build([{"role": "user", "content": [part]}])
    assert refused.value.param == param


def test_a_text_file_is_sent_as_text():
    part = {"type": "input_file", "filename": "a.txt", "file_data": "data:text/plain;base64,aGVsbG8="}
    assert "hello" in build([{"role": "user", "content": [part]}])["messages"][0]["content"]


REPLAYS = [
    ("never", "never", True, None),
    ("always", "always", False, "hm"),
    ("with tools, and there are some", "with_tools", True, "hm"),
    ("with tools, and there are none", "with_tools", False, None),
]


@pytest.mark.parametrize(("rule", "tools", "sent"), [row[1:] for row in REPLAYS], ids=[row[0] for row in REPLAYS])
def test_replay_of_reasoning(rule, tools, sent):
    caps = Capabilities(reasoning_replay=rule)
    request = {"tools": [FUNCTION]} if tools else {}
    chat = build([user(), thought(), said("x"), user()], caps, **request)
    assert chat["messages"][1].get("reasoning_content") == sent


SEALED = [
    ("ours", "sealed thought"),
    ("foreign", "summary"),
]


@pytest.mark.parametrize(("envelope", "sent"), SEALED)
def test_sealed_reasoning_is_opened_and_foreign_reasoning_falls_back_to_the_summary(envelope, sent):
    item = {**thought("summary"), "encrypted_content": envelope}
    chat = build([user(), item, said("x"), user()], Capabilities(reasoning_replay="always"))
    assert chat["messages"][1]["reasoning_content"] == sent
    assert "foreign" not in orjson.dumps(chat).decode()


def test_lost_reasoning_is_an_empty_field_where_the_upstream_wants_one():
    caps = Capabilities(reasoning_replay="with_tools", reasoning_lost="empty")
    chat = build([user(), call(), output()], caps, tools=[FUNCTION])
    assert chat["messages"][1]["reasoning_content"] == ""


def test_instructions_are_merged_to_the_front_where_they_must_be():
    items = [user("a"), {"role": "developer", "content": "late"}, {"role": "system", "content": "more"}, user("b")]
    chat = build(items, Capabilities(system_rule="merge_first"))
    assert [(m["role"], m["content"]) for m in chat["messages"]] == [
        ("system", "late\n\nmore"),
        ("user", "a"),
        ("user", "b"),
    ]


def test_strict_turns_join_users_and_answer_tools():
    items = [user("a"), user("b"), call(), output(), user("c")]
    chat = build(items, Capabilities(strict_turns=True))
    assert roles(chat) == ["user", "assistant", "tool", "assistant", "user"]
    assert chat["messages"][0]["content"] == "a\n\nb"


def test_ids_in_a_demanded_format_are_the_same_in_call_and_output():
    items = [user(), call("call_abc"), output("call_abc"), call("call_abc"), output("call_abc")]
    nine = build(items, Capabilities(tool_id_format="alnum9"))
    ids = [c["id"] for m in nine["messages"] for c in m.get("tool_calls", ())]
    assert all(len(i) == 9 and i.isalnum() for i in ids) and len(set(ids)) == 2
    kimi = build(items, Capabilities(tool_id_format="function_index"))
    assert [c["id"] for m in kimi["messages"] for c in m.get("tool_calls", ())] == [
        "functions.run:0",
        "functions.run:1",
    ]


ENTRUSTED = [
    ("Look at a.py", "[Message from agent /root to /root/reviewer]\nTask:\nLook at a.py"),
    ("gAAAAABotherserver", "[Message from agent /root to /root/reviewer]\nTask:\n"),
    (None, "[Message from agent /root to /root/reviewer]\nTask:\n"),
]


@pytest.mark.parametrize(("entrusted", "told"), ENTRUSTED, ids=["plain", "another server's", "nothing"])
def test_what_an_agent_entrusts_to_another_is_told_unless_another_server_encrypted_it(entrusted, told):
    content = [{"type": "input_text", "text": "Task:"}, {"type": "encrypted_content", "encrypted_content": entrusted}]
    message = {"type": "agent_message", "author": "/root", "recipient": "/root/reviewer", "content": content}
    assert build([message])["messages"][0]["content"] == told


def test_a_compaction_of_ours_opens_and_another_is_refused():
    chat = build([{"type": "compaction", "encrypted_content": "ours"}, user()])
    assert "so far" in chat["messages"][0]["content"]
    with pytest.raises(BridgeError) as refused:
        build([{"type": "compaction", "encrypted_content": "foreign"}, user()])
    assert refused.value.client_code == "invalid_encrypted_content"


@pytest.mark.parametrize(("policy", "contains"), [("text", True), ("drop", False)])
def test_unknown_items_follow_the_policy(policy, contains):
    items = [user(), {"type": "brand_new", "data": "precious"}]
    body = {"model": "m", "input": items}
    plan = plan_request(body, items, Capabilities(), Diagnostics())
    chat = build_chat_request(body, items, plan, model="up", first_input=0, unseal=opened, unknown_items=policy)
    assert ("precious" in orjson.dumps(chat).decode()) is contains
    assert [note.subject for note in plan.notes.entries] == ["input[1]"]


def test_unknown_items_can_be_rejected_by_name():
    items = [{"type": "brand_new"}]
    plan = plan_request({"model": "m"}, items, Capabilities(), Diagnostics())
    with pytest.raises(BridgeError) as refused:
        build_chat_request({}, items, plan, model="up", first_input=0, unseal=opened, unknown_items="reject")
    assert refused.value.param == "input[0].type"


# Any item list that the API allows

TEXT = st.text(max_size=8)
CALL_IDS = st.sampled_from(["a", "b", "c", ""])
CONTENT = st.one_of(TEXT, st.lists(st.builds(lambda t: {"type": "input_text", "text": t}, TEXT), max_size=2))
OUTPUTS = st.one_of(TEXT, st.just([{"type": "input_text", "text": "t"}, IMAGE]))
ITEMS = st.one_of(
    st.builds(lambda role, content: {"role": role, "content": content}, st.sampled_from(["user", "system", "developer"]), CONTENT),
    st.builds(said, TEXT),
    st.builds(thought, TEXT),
    st.builds(call, CALL_IDS, st.sampled_from(['{"q":1}', "", "{", "[1]", "text", None])),
    st.builds(output, CALL_IDS, OUTPUTS),
    st.builds(lambda i: {"type": "custom_tool_call", "call_id": i, "name": "exec", "input": "x\ny"}, CALL_IDS),
    st.builds(lambda i, o: {"type": "custom_tool_call_output", "call_id": i, "output": o}, CALL_IDS, OUTPUTS),
    st.builds(lambda i: {"type": "shell_call", "call_id": i, "action": {"commands": ["ls"], "timeout_ms": None}}, CALL_IDS),
    st.builds(lambda i: {"type": "shell_call_output", "call_id": i, "output": [{"stdout": "x", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]}, CALL_IDS),
    st.builds(lambda i: {"type": "apply_patch_call", "call_id": i, "operation": {"type": "delete_file", "path": "a"}}, CALL_IDS),
    st.builds(lambda i: {"type": "apply_patch_call_output", "call_id": i, "status": "completed"}, CALL_IDS),
    st.builds(lambda i: {"type": "local_shell_call", "call_id": i, "action": {"type": "exec", "command": ["ls"], "env": {}}}, CALL_IDS),
    st.builds(lambda i: {"type": "local_shell_call_output", "call_id": i, "output": "x"}, CALL_IDS),
    st.builds(lambda i: {"type": "tool_search_call", "call_id": i, "execution": "client", "arguments": {"query": "q"}}, CALL_IDS),
    st.builds(lambda i: {"type": "tool_search_output", "call_id": i, "execution": "client", "tools": [FUNCTION]}, CALL_IDS),
    st.just({"type": "mcp_call", "id": "mcp_1", "server_label": "s", "name": "n", "arguments": "{}", "output": "x"}),
    st.just({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}}),
    st.just({"type": "additional_tools", "role": "developer", "tools": [FUNCTION]}),
    st.just({"type": "agent_message", "author": "a", "recipient": "b", "content": [{"type": "input_text", "text": "x"}]}),
    st.just({"type": "future_item", "x": 1}),
)  # fmt: skip
CAPABILITIES = st.builds(
    Capabilities,
    system_rule=st.sampled_from(["any", "merge_first"]),
    strict_turns=st.booleans(),
    tool_id_format=st.sampled_from(["any", "alnum9", "function_index"]),
    tool_result_images=st.sampled_from(["tool_message", "user_message", "none"]),
    input_images=st.booleans(),
    reasoning_replay=st.sampled_from(["always", "with_tools", "never"]),
)


@settings(max_examples=500, deadline=None)
@given(st.lists(ITEMS, max_size=10), CAPABILITIES)
def test_any_item_list_gives_a_legal_request(items, caps):
    body = {"model": "m", "input": items, "tools": [FUNCTION, {"type": "custom", "name": "exec"}, {"type": "shell"}]}
    plan = plan_request(body, items, caps, Diagnostics())
    chat = build_chat_request(body, items, plan, model="up", first_input=0, unseal=opened)
    if chat["messages"]:
        check_chat_request(chat)


@settings(max_examples=200, deadline=None)
@given(st.lists(ITEMS, max_size=8), st.lists(ITEMS, max_size=3))
def test_a_continued_thread_has_the_earlier_request_as_its_prefix(items, more):
    """Prompt caches compare bytes. The earlier request ended with the user's turn, every call answered."""
    earlier = [*items, user("now")]
    before = build(earlier)["messages"]
    after = build([*earlier, said("fine"), *more, user("next")])["messages"]
    owed = {item.get("call_id") for item in earlier if str(item.get("type")).endswith("_call")}
    if owed & {item.get("call_id") for item in more}:
        return  # an answer that comes late belongs to its call: it must change what stood there
    assert orjson.dumps(after).startswith(orjson.dumps(before)[:-1])


def test_equal_requests_give_equal_bytes():
    items = [user(), call(), output()]
    tools = [FUNCTION, {"type": "custom", "name": "exec"}, {"type": "namespace", "name": "n", "tools": [FUNCTION]}]
    assert orjson.dumps(build(items, tools=tools)) == orjson.dumps(build(items, tools=tools))


@pytest.mark.parametrize(
    ("items", "told"),
    [
        ([user(), output("c1"), call("c1")], ["moved behind it"]),
        ([user(), output("c9"), call("c1"), output("c1")], ["note of the user"]),
        ([user(), output("c1"), output("c9"), call("c1")], ["moved behind it", "note of the user"]),
    ],
    ids=["early", "without a call", "both"],
)
def test_each_output_out_of_place_is_told_by_what_became_of_it(items: list[dict[str, Any]], told: list[str]) -> None:
    notes = Diagnostics()
    plan = plan_request({"model": "m", "input": items}, items, Capabilities(), notes)
    build_chat_request({"model": "m", "input": items}, items, plan, model="up", first_input=0, unseal=opened)
    assert len(notes.entries) == len(told)
    assert all(words in note.reason for words, note in zip(told, notes.entries, strict=True))


CONTENTS: list[Any] = [
    *([{"type": kind, "text": text}] for kind in sorted(TEXT_PARTS) for text in ("a", "", None)),
    [{"type": "refusal", "refusal": "no"}],
    [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}],
    "a",
    "",
    None,
    [],
]


@pytest.mark.parametrize("role", ["user", "assistant", "system", "developer", None])
@pytest.mark.parametrize("content", CONTENTS, ids=str)
def test_the_short_way_for_plain_messages_reads_what_the_long_one_does(role: str | None, content: Any) -> None:
    item = {"type": "message", "content": content} | ({"role": role} if role else {})
    reading = Reading(Capabilities(), IdentityMap(()), Diagnostics(), opened)
    short = list(read_items([item], 0, reading))
    assert short == list(READERS["message"](item, "input[0]", reading))
