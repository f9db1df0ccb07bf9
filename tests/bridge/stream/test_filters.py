"""Think tags and code fences, taken out of a text that is cut anywhere."""

from __future__ import annotations

import pytest

from bridge.spec import Usage
from bridge.stream.deltas import EndDelta, FinishDelta, ReasoningDelta, TextDelta, UsageDelta
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
