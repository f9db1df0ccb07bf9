"""The plain accessors: every spelling that compatible servers are known to use."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.spec import Usage
from bridge.stream.deltas import (
    AnnotationDelta,
    EndDelta,
    FinishDelta,
    ReasoningDelta,
    ReasoningDetailsDelta,
    RefusalDelta,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from providers.chat import chat_spec, read_deltas, read_response


def chunk(delta: Any, finish: str | None = None, **choice: Any) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish, **choice}]}


def call(**fields: Any) -> dict[str, Any]:
    return {"tool_calls": [fields]}


DETAIL = {"type": "reasoning.text", "index": 0, "text": "why"}
LOGPROB = {"token": "a", "logprob": -0.1, "bytes": [97], "top_logprobs": []}

CHUNKS = {
    "one word of text": (chunk({"content": "a"}), [TextDelta("a")]),
    "text with the role repeated": (chunk({"role": "assistant", "content": "a"}), [TextDelta("a")]),
    "empty text": (chunk({"content": ""}), []),
    "the opening chunk": (chunk({"role": "assistant", "content": ""}), []),
    "delta null": (chunk(None), []),
    "delta missing": ({"choices": [{"index": 0, "finish_reason": None}]}, []),
    "choices empty": ({"choices": []}, []),
    "choices null": ({"choices": None}, []),
    "choices missing": ({"id": "c"}, []),
    "a choice that is no object": ({"choices": ["x"]}, []),
    "a choice without finish_reason": ({"choices": [{"delta": {"content": "a"}}]}, [TextDelta("a")]),
    "text that is a number": (chunk({"content": 5}), []),
    "text and finish reason in one": (chunk({"content": "a"}, "stop"), [TextDelta("a"), FinishDelta("stop")]),
    "an empty finish reason": (chunk({"content": "a"}, ""), [TextDelta("a")]),
    "a finish reason alone": (chunk({}, "length"), [FinishDelta("length")]),
    "usage beside text": (
        {**chunk({"content": "a"}), "usage": {"prompt_tokens": 3, "completion_tokens": 1}},
        [TextDelta("a"), UsageDelta(Usage(input_tokens=3, output_tokens=1))],
    ),
    "usage in choices[0]": (
        chunk({"content": "a"}, usage={"prompt_tokens": 3, "completion_tokens": 1}),
        [TextDelta("a"), UsageDelta(Usage(input_tokens=3, output_tokens=1))],
    ),
    "usage null": ({**chunk({"content": "a"}), "usage": None}, [TextDelta("a")]),
    "logprobs": (chunk({"content": "a"}, logprobs={"content": [LOGPROB]}), [TextDelta("a", (LOGPROB,))]),
    "logprobs null": (chunk({"content": "a"}, logprobs=None), [TextDelta("a")]),
    "content parts": (
        chunk(
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                    {"type": "text", "text": "a"},
                ]
            }
        ),
        [ReasoningDelta("hm"), TextDelta("a")],
    ),
    "a thinking part as a string": (
        chunk({"content": [{"type": "thinking", "thinking": "hm"}]}),
        [ReasoningDelta("hm")],
    ),
    "parts of unknown kinds": (chunk({"content": [{"type": "reference", "reference_ids": [1]}, "x", None]}), []),
    "a refusal part": (chunk({"content": [{"type": "refusal", "refusal": "no"}]}), [RefusalDelta("no")]),
    "reasoning_content": (chunk({"content": None, "reasoning_content": "why"}), [ReasoningDelta("why")]),
    "reasoning": (chunk({"reasoning": "why"}), [ReasoningDelta("why")]),
    "empty reasoning": (chunk({"reasoning_content": "", "content": "a"}), [TextDelta("a")]),
    "reasoning mirrored in three fields": (
        chunk({"reasoning": "why", "reasoning_content": "why", "reasoning_details": [DETAIL]}),
        [ReasoningDelta("why"), ReasoningDetailsDelta((DETAIL,))],
    ),
    "reasoning in details only": (
        chunk({"reasoning_details": [DETAIL]}),
        [ReasoningDelta("why"), ReasoningDetailsDelta((DETAIL,))],
    ),
    "a summary in details": (
        chunk({"reasoning_details": [{"type": "reasoning.summary", "summary": "s"}]}),
        [ReasoningDelta("s"), ReasoningDetailsDelta(({"type": "reasoning.summary", "summary": "s"},))],
    ),
    "encrypted details": (
        chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": "Zz"}]}),
        [ReasoningDetailsDelta(({"type": "reasoning.encrypted", "data": "Zz"},))],
    ),
    "a refusal": (chunk({"refusal": "no"}), [RefusalDelta("no")]),
    "a whole call": (
        chunk(call(index=1, id="call_1", type="function", function={"name": "f", "arguments": '{"a":1}'})),
        [ToolCallDelta(1, "call_1", "f", '{"a":1}')],
    ),
    "a fragment of arguments": (
        chunk(call(index=0, function={"arguments": '{"a'})),
        [ToolCallDelta(0, None, None, '{"a')],
    ),
    "a call without index": (
        chunk(call(id="x", function={"name": "f", "arguments": "{}"})),
        [ToolCallDelta(None, "x", "f", "{}")],
    ),
    "a call with empty id and name": (
        chunk(call(index=0, id="", function={"name": "", "arguments": "1"})),
        [ToolCallDelta(0, None, None, "1")],
    ),
    "null arguments": (
        chunk(call(index=0, id="x", function={"name": "f", "arguments": None})),
        [ToolCallDelta(0, "x", "f", "")],
    ),
    "arguments as an object": (
        chunk(call(index=0, id="x", function={"name": "f", "arguments": {"a": "é"}})),
        [ToolCallDelta(0, "x", "f", '{"a":"é"}')],
    ),
    "an empty object before the fragments": (
        chunk(call(index=0, id="x", function={"name": "f", "arguments": {}})),
        [ToolCallDelta(0, "x", "f", "")],
    ),
    "a call without function": (chunk(call(index=0, id="x")), [ToolCallDelta(0, "x", None, "")]),
    "a call that says nothing": (chunk(call(index=0, function=None)), []),
    "tool_calls null": (chunk({"content": "a", "tool_calls": None}), [TextDelta("a")]),
    "tool_calls as one object": (
        chunk({"tool_calls": {"id": "x", "function": {"name": "f", "arguments": "{}"}}}),
        [ToolCallDelta(None, "x", "f", "{}")],
    ),
    "the API before tools": (
        chunk({"function_call": {"name": "f", "arguments": "{}"}}, "function_call"),
        [ToolCallDelta(0, None, "f", "{}"), FinishDelta("function_call")],
    ),
    "a citation": (
        chunk({"annotations": [{"type": "url_citation", "url_citation": {"url": "https://a.example", "title": "A"}}]}),
        [
            AnnotationDelta(
                {"type": "url_citation", "start_index": 0, "end_index": 0, "url": "https://a.example", "title": "A"}
            )
        ],
    ),
}


@pytest.mark.parametrize(("sent", "said"), CHUNKS.values(), ids=CHUNKS)
def test_a_chunk_gives_its_deltas(sent: Any, said: list[Any]) -> None:
    assert list(read_deltas(sent)) == said


def test_a_whole_answer_gives_the_deltas_of_its_stream_in_the_same_order() -> None:
    body: Any = {
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "reasoning_content": "why",
                    "content": "a",
                    "refusal": "no",
                    "tool_calls": [{"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
                },
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    }

    assert list(read_response(body)) == [
        ReasoningDelta("why"),
        TextDelta("a"),
        RefusalDelta("no"),
        ToolCallDelta(None, "x", "f", "{}"),
        UsageDelta(Usage(input_tokens=3, output_tokens=1)),
        FinishDelta("tool_calls"),
        EndDelta(),
    ]


def test_a_whole_answer_without_choices_only_ends() -> None:
    assert list(read_response({"choices": []})) == [EndDelta()]


def test_a_spec_names_only_what_differs() -> None:
    spec = chat_spec(name="x", base_url="https://x.example", read_deltas=lambda chunk: [TextDelta("mine")])

    assert list(spec.read_deltas({})) == [TextDelta("mine")]
    assert spec.read_response is read_response
