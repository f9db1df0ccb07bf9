"""Which tools go up, and what tool_choice becomes."""

from __future__ import annotations

import pytest

from bridge.errors import BridgeError
from bridge.plan.diagnostics import Diagnostics
from bridge.spec import Capabilities
from bridge.tools.plan import plan_tools

RUN = {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}
LOOK = {"type": "function", "name": "look"}
EXEC = {"type": "custom", "name": "exec", "format": {"type": "grammar", "syntax": "lark", "definition": "start: /x/"}}
PLAIN = Capabilities()
AUTO_ONLY = Capabilities(tool_choice=frozenset({"auto"}))


def plan(tools, choice=None, caps=PLAIN, items=(), thinking=False, **request):
    body = {"tools": tools, **request} | ({} if choice is None else {"tool_choice": choice})
    return plan_tools(body, items, caps, thinking, Diagnostics())


def names(planned):
    return [tool["function"]["name"] for tool in planned.declarations if tool["type"] == "function"]


CHOICES = [
    ("nothing asked", None, PLAIN, ["run", "look", "exec"], None),
    ("auto", "auto", PLAIN, ["run", "look", "exec"], "auto"),
    ("none keeps the tools for the cache", "none", PLAIN, ["run", "look", "exec"], "none"),
    ("none where it is unknown withholds them", "none", AUTO_ONLY, [], None),
    ("required", "required", PLAIN, ["run", "look", "exec"], "required"),
    ("required by another word", "required", Capabilities(required_word="any"), ["run", "look", "exec"], "any"),
    ("a function", {"type": "function", "name": "look"}, PLAIN, ["look"], {"type": "function", "function": {"name": "look"}}),
    ("a custom tool", {"type": "custom", "name": "exec"}, PLAIN, ["exec"], {"type": "function", "function": {"name": "exec"}}),
    ("a function where only required is known", {"type": "function", "name": "look"},
     Capabilities(tool_choice=frozenset({"auto", "required"})), ["look"], "required"),
    ("allowed tools", {"type": "allowed_tools", "tools": [{"type": "function", "name": "run"}]}, PLAIN, ["run"], None),
    ("allowed tools, required", {"type": "allowed_tools", "mode": "required", "tools": [{"type": "custom", "name": "exec"}]},
     PLAIN, ["exec"], "required"),
]  # fmt: skip


@pytest.mark.parametrize(("choice", "caps", "declared", "sent"), [r[1:] for r in CHOICES], ids=[r[0] for r in CHOICES])
def test_tool_choice(choice, caps, declared, sent):
    planned = plan([RUN, LOOK, EXEC], choice, caps)
    assert names(planned) == declared
    assert planned.tool_choice == sent


@pytest.mark.parametrize("choice", ["required", {"type": "function", "name": "run"}])
def test_a_choice_that_cannot_be_enforced_is_asked_for_and_checked(choice):
    planned = plan([RUN, LOOK], choice, AUTO_ONLY)
    assert planned.must_call and planned.instruction
    assert planned.tool_choice is None


def test_a_choice_that_thinking_forbids_is_emulated_only_while_thinking():
    caps = Capabilities(tool_choice_while_thinking=frozenset({"auto", "none"}))
    assert plan([RUN], "required", caps, thinking=True).must_call
    assert plan([RUN], "required", caps).tool_choice == "required"


def test_a_choice_of_what_the_provider_runs_itself_is_told_as_a_wish():
    search, notes = {"type": "web_search"}, Diagnostics()
    caps = Capabilities(tools=frozenset({"function", "web_search"}))
    planned = plan_tools({"tools": [RUN, search], "tool_choice": search}, (), caps, False, notes)
    assert planned.tool_choice is None and search in planned.declarations
    assert [(note.action, note.subject) for note in notes.entries] == [("degraded", "tool_choice")]


REFUSED = [
    ("a tool that is not declared", [RUN], {"type": "function", "name": "other"}),
    ("a hosted tool nobody runs", [{"type": "file_search"}], {"type": "file_search"}),
    ("required without tools", [], "required"),
]


@pytest.mark.parametrize(("tools", "choice"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_choice_nobody_can_serve_is_refused(tools, choice):
    with pytest.raises(BridgeError) as refused:
        plan(tools, choice)
    assert refused.value.param == "tool_choice"


def test_a_custom_tool_is_a_function_with_one_string_and_its_grammar_in_words():
    declared = plan([EXEC]).declarations[0]["function"]
    assert list(declared["parameters"]["properties"]) == declared["parameters"]["required"] == ["input"]
    assert "start: /x/" in declared["description"]


def test_hosted_and_future_tools_are_left_out_with_a_note():
    notes = Diagnostics()
    planned = plan_tools({"tools": [RUN, {"type": "web_search"}, {"type": "future"}]}, (), PLAIN, False, notes)
    assert names(planned) == ["run"]
    assert [(note.action, note.subject) for note in notes.entries] == [("ignored", "tools[1]"), ("ignored", "tools[2]")]


def test_native_tools_are_passed_on():
    search = {"type": "web_search"}
    assert plan([search], caps=Capabilities(tools=frozenset({"function", "web_search"}))).declarations == [search]


def test_tools_that_items_carry_join_the_declared_ones():
    items = [
        {"type": "additional_tools", "tools": [LOOK]},
        {"type": "additional_tools", "tools": []},
        {"type": "tool_search_output", "tools": [{"type": "namespace", "name": "mail", "tools": [RUN]}]},
    ]
    assert names(plan([RUN], items=items)) == ["run", "look", "mail__run"]


def test_tools_over_the_limit_are_left_out_with_a_note():
    notes = Diagnostics()
    planned = plan_tools({"tools": [RUN, LOOK, EXEC]}, (), Capabilities(max_tools=2), False, notes)
    assert names(planned) == ["run", "look"]
    assert any(note.subject == "tools" for note in notes.entries)


SCHEMAS = [
    ("none", None, {"type": "object", "properties": {}}),
    ("empty", {}, {"type": "object", "properties": {}}),
    ("no properties", {"type": "object"}, {"type": "object", "properties": {}}),
    ("$schema", {"$schema": "x", "type": "object", "properties": {}}, {"type": "object", "properties": {}}),
    ("no type", {"properties": {"a": {}}}, {"type": "object", "properties": {"a": {}}}),
    ("a union at the top", {"anyOf": [{"type": "object"}]}, {"type": "object", "anyOf": [{"type": "object"}]}),
    (
        "no object",
        {"type": "string"},
        {"type": "object", "properties": {"value": {"type": "string"}}, "required": ["value"]},
    ),
]


@pytest.mark.parametrize(("given", "sent"), [row[1:] for row in SCHEMAS], ids=[row[0] for row in SCHEMAS])
def test_schemas_are_made_acceptable(given, sent):
    assert (
        plan([{"type": "function", "name": "f", "parameters": given}]).declarations[0]["function"]["parameters"] == sent
    )


def test_a_good_schema_is_not_touched():
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 0, "x-order": 3}},
        "additionalProperties": False,
    }
    assert plan([{**RUN, "parameters": schema}]).declarations[0]["function"]["parameters"] == schema


@pytest.mark.parametrize(("knows", "sent"), [(True, True), (False, None)])
def test_strict_goes_up_only_where_it_is_known(knows, sent):
    planned = plan([{**RUN, "strict": True}], caps=Capabilities(strict_tools=knows))
    assert planned.declarations[0]["function"].get("strict") is sent


def test_a_native_search_that_may_not_leave_the_cache_is_left_out_with_a_note():
    notes = Diagnostics()
    caps = Capabilities(tools=frozenset({"function", "web_search"}))
    search = {"type": "web_search", "external_web_access": False}
    assert plan_tools({"tools": [search]}, (), caps, False, notes).declarations == []
    assert [note.action for note in notes.entries] == ["ignored"]
