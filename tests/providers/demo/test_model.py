"""The demo model: what it remembers, when it calls a tool, and that its JSON fits the schema asked for."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest

from providers.demo.model import answer, pieces


def talk(*said: str, **fields: Any) -> dict[str, Any]:
    """A conversation in which the user said all of these."""
    messages: list[dict[str, Any]] = []
    for text in said:
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": "Ok."}]
    return {"model": "demo-1", "messages": messages[:-1], **fields}


ANSWERS = {
    "a greeting": (("Hi!",), "Hello! How can I help you today?"),
    "the name": (("My name is Ada.", "What is my name?"), "Your name is Ada."),
    "the newest name": (("My name is Ada.", "Call me Bo", "Who am I?"), "Your name is Bo."),
    "the name in Chinese": (("我叫小明", "我叫什么？"), "Your name is 小明."),
    "no name yet": (("What's my name?",), "You have not told me your name yet."),
    "an introduction": (
        ("Hello, my name is Ada.",),
        "Nice to meet you, Ada. I will remember your name in this conversation.",
    ),
    "the first words": (("one", "two", "What did I say first?"), "The first thing you said was: “one”"),
    "the words before": (("one", "two", "What did I just say?"), "Before that you said: “two”"),
    "nothing before": (("What did I say before?",), "You said nothing before that."),
    "a fact": (
        ("My favourite colour is deep blue.", "What is my favourite colour?"),
        "You told me: your favourite colour is deep blue.",
    ),
    "an unknown fact": (("What is my shoe size?",), "You have not told me what your shoe size is."),
    "a sum": (("What is 17 * 23?",), "17 * 23 = 391"),
    "a division": (("7 / 2",), "7 / 2 = 3.5"),
    "by zero": (("1/0",), "A number cannot be divided by zero."),
    "counting": (("Count to 4",), "1, 2, 3, 4"),
    "repeating": (('Say "good morning"',), "good morning"),
    "thanks": (("thank you",), "You are welcome."),
    "nobody": ((), "There is no message of a user in this request."),
}


@pytest.mark.parametrize(("said", "text"), ANSWERS.values(), ids=ANSWERS)
def test_rules_answer(said: tuple[str, ...], text: str) -> None:
    made = answer(talk(*said) if said else {"messages": []})

    assert made.text == text
    assert made.finish == "stop"


def test_anything_else_is_quoted() -> None:
    assert answer(talk("Xyzzy?")).text.startswith("You said: “Xyzzy?”")


def test_parts_of_a_message_are_read_and_pictures_admitted() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:,"}}
    request = {"messages": [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, picture]}]}

    assert "an image" in answer(request).text


def test_equal_requests_get_equal_answers() -> None:
    assert answer(talk("Hi")) == answer(talk("Hi"))


def test_reasoning_is_shown_to_those_who_ask_for_effort() -> None:
    assert "a greeting" in answer(talk("Hi", reasoning_effort="low")).reasoning
    assert answer(talk("Hi", reasoning_effort="none")).reasoning == ""
    assert answer(talk("Hi")).reasoning == ""


def test_the_limit_cuts_the_answer_and_says_so() -> None:
    made = answer(talk("Count to 50", max_tokens=6))

    assert (made.text, made.finish) == ("1, 2, 3,", "length")
    assert made.usage["completion_tokens"] == 6


def test_the_limit_counts_reasoning_first() -> None:
    made = answer(talk("Hi", max_completion_tokens=3, reasoning_effort="high"))

    assert (made.reasoning, made.text, made.finish) == ("This is message", "", "length")
    assert made.usage["completion_tokens_details"]["reasoning_tokens"] == 3


def test_pieces_are_the_text_again() -> None:
    text = "  Two words, then 中文字。\n\nEnd "

    assert "".join(pieces(text)) == text
    assert len(pieces(text)) > 5


def function(name: str, description: str, **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TOOLS = [
    function(
        "get_weather", "Current weather of a city", city={"type": "string"}, unit={"enum": ["celsius", "fahrenheit"]}
    ),
    function("send_mail", "Sends an e-mail", to={"type": "string", "format": "email"}, subject={"type": "string"}),
    function("shell", "Runs commands", commands={"type": "array", "items": {"type": "string"}}),
]

CALLS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "a city": ("What's the weather in New York?", "get_weather", {"city": "New York", "unit": "celsius"}),
    "a value of an enum": ("weather in Rome in Fahrenheit", "get_weather", {"city": "Rome", "unit": "fahrenheit"}),
    "a command": ("Run `git status`", "shell", {"commands": ["git status"]}),
    "files": ("List the files here", "shell", {"commands": ["ls"]}),
}


@pytest.mark.parametrize(("said", "name", "arguments"), CALLS.values(), ids=CALLS)
def test_a_tool_is_called_when_the_words_fit(said: str, name: str, arguments: dict[str, Any]) -> None:
    made = answer(talk(said, tools=TOOLS))

    assert made.call is not None
    assert (made.call[1], json.loads(made.call[2])) == (name, arguments)
    assert made.finish == "tool_calls"


def test_no_tool_is_called_for_other_words_or_against_the_choice() -> None:
    assert answer(talk("Tell me a story", tools=TOOLS)).call is None
    assert answer(talk("What's the weather in Rome?", tools=TOOLS, tool_choice="none")).call is None


def test_a_forced_choice_is_obeyed() -> None:
    named = {"type": "function", "function": {"name": "send_mail"}}

    assert answer(talk("Hi", tools=TOOLS, tool_choice="required")).call is not None
    made = answer(talk("Hi", tools=TOOLS, tool_choice=named))
    assert made.call is not None
    assert made.call[1] == "send_mail"


def test_the_output_of_a_tool_is_told() -> None:
    request = talk("What's the weather in Rome?", tools=TOOLS)
    call = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    request["messages"] += [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "sunny, 25 °C"},
    ]

    assert answer(request).text == "The tool get_weather says: sunny, 25 °C"


SCHEMAS: dict[str, Any] = {
    "plain": {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
    "closed": {
        "type": "object",
        "properties": {"a": {"type": "boolean"}},
        "required": ["a"],
        "additionalProperties": False,
    },
    "nested": {
        "type": "object",
        "properties": {"p": {"type": "object", "properties": {"q": {"type": "null"}}, "required": ["q"]}},
        "required": ["p"],
    },
    "required without properties": {"type": "object", "required": ["a"]},
    "enum and const": {
        "type": "object",
        "properties": {"e": {"enum": [3, "x"]}, "c": {"const": {"k": 1}}},
        "required": ["e", "c"],
    },
    "an array": {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 4},
    "an array of distinct values": {
        "type": "array",
        "items": {"enum": ["x", "y", "z"]},
        "minItems": 3,
        "uniqueItems": True,
    },
    "distinct words": {"type": "array", "items": {"type": "string"}, "minItems": 2, "uniqueItems": True},
    "a tuple": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
    "an empty array": {"type": "array", "items": {"type": "string"}, "maxItems": 0},
    "bounds": {"type": "integer", "minimum": 10, "maximum": 12},
    "exclusive bounds": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "multiples": {"type": "integer", "minimum": 10, "multipleOf": 7},
    "a multiple below": {"type": "integer", "maximum": -10, "multipleOf": 7},
    "lengths": {"type": "string", "minLength": 300, "maxLength": 310},
    "a short string": {"type": "string", "maxLength": 2},
    "a pattern": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{3}$"},
    "formats": {
        "type": "object",
        "properties": {
            f: {"type": "string", "format": f} for f in ("date", "date-time", "email", "uuid", "ipv4", "uri")
        },
    },
    "a reference": {
        "type": "object",
        "properties": {"t": {"$ref": "#/$defs/t"}},
        "required": ["t"],
        "$defs": {"t": {"enum": ["x"]}},
    },
    "an escaped reference": {"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "integer"}}},
    "a tree": {
        "$ref": "#/$defs/n",
        "$defs": {
            "n": {
                "type": "object",
                "properties": {"v": {"type": "integer"}, "c": {"type": "array", "items": {"$ref": "#/$defs/n"}}},
                "required": ["v", "c"],
                "additionalProperties": False,
            }
        },
    },
    "a list with an end": {
        "$ref": "#/$defs/n",
        "$defs": {
            "n": {
                "type": "object",
                "properties": {"next": {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]}},
                "required": ["next"],
            }
        },
    },
    "nullable": {
        "type": "object",
        "properties": {"a": {"type": ["null", "integer"]}, "b": {"anyOf": [{"type": "null"}, {"type": "string"}]}},
        "required": ["a", "b"],
    },
    "allOf": {
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"properties": {"b": {"type": "integer"}}, "required": ["b"]},
        ]
    },
    "oneOf": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
    "minProperties": {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 2},
    "a default": {"type": "string", "default": "d"},
    "anything": {},
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
@pytest.mark.parametrize("said", ["A person called Bob is 42", "-3.5 and 7", ""], ids=repr)
def test_json_fits_its_schema(schema: Any, said: str) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema, "strict": True}}
    made = answer(talk(said, response_format=form))

    jsonschema_rs.validate(schema, json.loads(made.text))


def test_a_schema_that_cannot_end_or_that_multiplies_does_not_hang_the_model() -> None:
    endless = {"$ref": "#/$defs/n", "$defs": {"n": {"properties": {"n": {"$ref": "#/$defs/n"}}, "required": ["n"]}}}
    bush = {"$ref": "#/$defs/n", "$defs": {"n": {"properties": {str(i): {"$ref": "#/$defs/n"} for i in range(40)}}}}

    for schema in (endless, bush):
        form = {"type": "json_schema", "json_schema": {"schema": schema}}
        assert len(answer(talk("Hi", response_format=form)).text) < 1_000_000


def test_values_come_out_of_the_users_words() -> None:
    schema = {
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "integer"},
            "site": {"type": "string", "format": "uri"},
        }
    }
    form = {"type": "json_schema", "json_schema": {"schema": schema}}
    made = answer(talk("Someone called Bob is 42, see https://bob.example/me", response_format=form))

    assert json.loads(made.text) == {"name": "Bob", "age": 42, "site": "https://bob.example/me"}


def test_a_working_directory_is_one() -> None:
    schema = {"properties": {"command": {"type": "string"}, "workdir": {"type": "string"}}}
    form = {"type": "json_schema", "json_schema": {"schema": schema}}

    assert json.loads(answer(talk("Run the command ls", response_format=form)).text)["workdir"] == "."


def test_json_mode_gives_an_object() -> None:
    assert json.loads(answer(talk("Hi", response_format={"type": "json_object"})).text) == {
        "answer": "Hello! How can I help you today?"
    }
