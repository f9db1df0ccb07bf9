"""Think tags and code fences, taken out of a text that is cut anywhere."""

from __future__ import annotations

import pytest

from bridge.spec import Usage
from bridge.stream.call_markup import without_call_markup
from bridge.stream.deltas import EndDelta, FinishDelta, ReasoningDelta, TextDelta, ToolCallDelta, UsageDelta
from bridge.stream.fences import without_fences
from bridge.stream.think_tags import without_think_tags

TAGS = (("<think>", ("</think>", "</mm:think>")), ("[THINK]", ("[/THINK]",)))


def cut(text, size):
    return [TextDelta(text[i : i + size]) for i in range(0, len(text), size)]


def joined(deltas, kind):
    return "".join(delta.text for delta in deltas if isinstance(delta, kind))


THINKING = [
    ("a block and a text", "<think>why</think>\n\nanswer", False, "why", "answer"),
    ("no block", "answer < b", False, "", "answer < b"),
    ("a tag in the text", "use <think> like this</think>", False, "", "use <think> like this</think>"),
    ("blank lines before the block", "\n<think>why</think>answer", False, "why", "answer"),
    ("nested", "<think>a<think>b</think>c</think>d", False, "a<think>b</think>c", "d"),
    ("unclosed", "<think>why", False, "why", ""),
    ("another closing", "<think>a</mm:think>B", False, "a", "B"),
    ("other tags", "[THINK]a[/THINK]B", False, "a", "B"),
    ("prefilled", "why\n</think>\nHello", True, "why", "Hello"),
    ("two blocks", "<think>a</think><think>b</think>c", False, "ab", "c"),
    ("blanks of the answer itself stay", "  indented", False, "", "  indented"),
]  # fmt: skip


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
@pytest.mark.parametrize(
    ("text", "prefilled", "thinking", "answer"), [row[1:] for row in THINKING], ids=[row[0] for row in THINKING]
)
def test_think_tags(text, prefilled, thinking, answer, size):
    deltas = list(without_think_tags([*cut(text, size), FinishDelta("stop")], TAGS, prefilled))
    assert joined(deltas, ReasoningDelta) == thinking
    assert joined(deltas, TextDelta) == answer
    assert deltas[-1] == FinishDelta("stop")


FENCED = [
    ("a fenced object", '```json\n{"a":1}\n```', '{"a":1}'),
    ("a fence without a language", '```\n{"a":1}\n```\n', '{"a":1}'),
    ("words around the fence", 'Here it is:\n```json\n{"a":1}\n```\nEnjoy!', '{"a":1}'),
    ("a fence on the line of the JSON", '```json {"a":1}```', '{"a":1}'),
    ("a closing fence behind the last brace", '```json\n{"a":1}``` \n', '{"a":1}'),
    ("a fence that is never closed", '```\n{"a":\n1}', '{"a":\n1}'),
    ("ticks and blanks inside", '```\n{"a":"`` \n `"}\n```', '{"a":"`` \n `"}'),
    ("words before the object", 'Sure: {"a":1}', '{"a":1}'),
    ("bare", '{"a":"```"}', '{"a":"```"}'),
    ("a fence inside a string", '```json\n{"a":"x ``` y"}\n```', '{"a":"x ``` y"}'),
    ("a list", "[1]", "[1]"),
    ("a number", "42", "42"),
    ("no JSON at all", "I cannot do that.", "I cannot do that."),
]


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
@pytest.mark.parametrize(("text", "expected"), [row[1:] for row in FENCED], ids=[row[0] for row in FENCED])
def test_fences(text, expected, size):
    usage = UsageDelta(Usage(input_tokens=1, output_tokens=1))  # some upstreams report it with every chunk
    deltas = [delta for piece in cut(text, size) for delta in (piece, usage)]
    assert joined(without_fences([*deltas, FinishDelta("stop"), EndDelta()]), TextDelta).strip() == expected


CALL = ToolCallDelta(0, "call_1", "run", "{}")


@pytest.mark.parametrize(
    ("told", "left"),
    [("Let me look.\n\n", "Let me look."), ("a <tool", "a <tool"), ("\n", "")],
    ids=["blanks", "what may be markup", "nothing"],
)
def test_text_before_a_call_is_told_before_it(told, left):
    kept = list(without_call_markup([TextDelta(told), CALL, FinishDelta("tool_calls")]))
    assert kept[-2:] == [CALL, FinishDelta("tool_calls")]
    assert joined(kept[:-2], TextDelta) == left


def test_words_without_json_are_told_before_the_call_that_follows_them():
    kept = list(without_fences([TextDelta("I have to look first."), CALL, FinishDelta("tool_calls")]))
    assert kept == [TextDelta("I have to look first."), CALL, FinishDelta("tool_calls")]


def with_logprobs(tokens):
    return [TextDelta(token, ({"token": token, "logprob": -0.5},)) for token in tokens]


def tokens_told(deltas):
    return [logprob["token"] for delta in deltas if isinstance(delta, TextDelta) for logprob in delta.logprobs]


# Tokens, and which of them still have their logprobs behind each filter: those of unchanged text, also where it was held.
LOGPROBS = [
    ("plain text", without_call_markup, ["Let", " me", " <", "b> "], ["Let", " me", " <", "b> "]),
    ("held within a token", without_call_markup, ["a\n", "\n b", " \n"], ["a\n", "\n b", " \n"]),
    ("a call", without_call_markup, ["ok", " <tool_call>", '{"name":"a"}', "</tool_call>", "\n", "b", " c"], ["ok", "b", " c"]),
    ("a call and text in one", without_call_markup, ['x <tool_call>{"name":"a"}</tool_call> y', " z"], [" z"]),
    ("unreadable markup", without_call_markup, ["<tool_call>", "no", "</tool_call>x"], ["<tool_call>", "no", "</tool_call>x"]),
    ("bare JSON", without_fences, ["{", '"a"', ":\n", "1}"], ["{", '"a"', ":\n", "1}"]),
    ("a number", without_fences, ["\n", "4", "2"], ["\n", "4", "2"]),
    ("no JSON at all", without_fences, ["I", " can", "not."], ["I", " can", "not."]),
    ("fenced", without_fences, ["```", "json", "\n", "{", "\n", '"a":1', "}", "\n", "```"], ["{", "\n", '"a":1', "}"]),
    ("words in the token of the JSON", without_fences, ["Sure", ": {", '"a"', ":1}"], ['"a"', ":1}"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("filtered", "tokens", "told"),
    [row[1:] for row in LOGPROBS],
    ids=[f"{row[1].__name__}: {row[0]}" for row in LOGPROBS],
)
def test_text_that_stays_keeps_its_logprobs(filtered, tokens, told):
    assert tokens_told(filtered([*with_logprobs(tokens), FinishDelta("stop"), EndDelta()])) == told
    assert tokens_told(filtered(with_logprobs(tokens))) == told  # a stream that was cut


def test_held_text_has_its_logprobs_also_before_a_call():
    deltas = [*with_logprobs(["a", " <tool"]), CALL, FinishDelta("tool_calls")]
    assert tokens_told(without_call_markup(deltas)) == ["a", " <tool"]
    assert tokens_told(without_fences(deltas)) == ["a", " <tool"]


def marked(calls):
    return [(delta.name, delta.arguments) for delta in calls if isinstance(delta, ToolCallDelta)]


DSML = (
    'ok <｜DSML｜tool_calls>\n<｜DSML｜invoke name="run">\n<｜DSML｜parameter name="q" string="true">1</｜DSML｜parameter>\n'
    '<｜DSML｜parameter name="n" string="false">2</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>'
)
MARKUP = [
    ("DSML", DSML, "ok", [("run", '{"q":"1","n":2}')]),
    ("JSON", 'a\n<tool_call>\n{"name": "run", "arguments": {"q": 1}}\n</tool_call>\nb', "ab", [("run", '{"q":1}')]),
    (
        "two calls",
        '<tool_call>{"name":"a"}</tool_call>\n<tool_call>{"name":"b","arguments":"{}"}</tool_call>',
        "",
        [("a", "{}"), ("b", "{}")],
    ),
    (
        "invoke",
        '<function_calls><invoke name="run"><parameter name="q">x y</parameter></invoke></function_calls>',
        "",
        [("run", '{"q":"x y"}')],
    ),
    ("no markup", "1 < 2 and <b>bold</b> \n", "1 < 2 and <b>bold</b> \n", []),
    ("unreadable", "<tool_call>no json</tool_call> x", "<tool_call>no json</tool_call> x", []),
    ("unclosed", 'a <tool_call>{"name"', 'a <tool_call>{"name"', []),
]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize(("text", "left", "calls"), [row[1:] for row in MARKUP], ids=[row[0] for row in MARKUP])
def test_call_markup(text, left, calls, size):
    deltas = list(without_call_markup([*cut(text, size), FinishDelta("stop")]))
    assert joined(deltas, TextDelta) == left
    assert marked(deltas) == calls
    assert deltas[-1] == FinishDelta("stop")
