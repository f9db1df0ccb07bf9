"""What holds for every Response object and every stream, whatever was asked: used by each test that sees events.

Schemas are those of Open Responses (openresponses.json beside this file) and of the openai package; the order rules are
the contract's own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, get_args

import jsonschema_rs
from openai.types.responses import Response as SdkResponse
from openai.types.responses import ResponseStreamEvent as SdkEvent
from pydantic import TypeAdapter

Event = dict[str, Any]

TERMINALS = {"response.completed": "completed", "response.incomplete": "incomplete", "response.failed": "failed"}
OPEN_ITEMS = {"message", "function_call", "function_call_output", "reasoning", "compaction"}  # known to Open Responses
# Words on which Codex decides not to repeat a request; the SDK's list lacks them although OpenAI sends them.
CODES_BESIDE_THE_SDK = {"context_length_exceeded", "insufficient_quota"}
EFFORTS_OF_THE_SDK = {"minimal", "max"}  # which Open Responses does not list
EVENT_SCHEMAS = {
    "response.created": "ResponseCreatedStreamingEvent",
    "response.in_progress": "ResponseInProgressStreamingEvent",
    "response.completed": "ResponseCompletedStreamingEvent",
    "response.incomplete": "ResponseIncompleteStreamingEvent",
    "response.failed": "ResponseFailedStreamingEvent",
    "response.output_item.added": "ResponseOutputItemAddedStreamingEvent",
    "response.output_item.done": "ResponseOutputItemDoneStreamingEvent",
    "response.content_part.added": "ResponseContentPartAddedStreamingEvent",
    "response.content_part.done": "ResponseContentPartDoneStreamingEvent",
    "response.output_text.delta": "ResponseOutputTextDeltaStreamingEvent",
    "response.output_text.done": "ResponseOutputTextDoneStreamingEvent",
    "response.output_text.annotation.added": "ResponseOutputTextAnnotationAddedStreamingEvent",
    "response.refusal.delta": "ResponseRefusalDeltaStreamingEvent",
    "response.refusal.done": "ResponseRefusalDoneStreamingEvent",
    "response.function_call_arguments.delta": "ResponseFunctionCallArgumentsDeltaStreamingEvent",
    "response.function_call_arguments.done": "ResponseFunctionCallArgumentsDoneStreamingEvent",
    "response.reasoning_summary_part.added": "ResponseReasoningSummaryPartAddedStreamingEvent",
    "response.reasoning_summary_part.done": "ResponseReasoningSummaryPartDoneStreamingEvent",
    "response.reasoning_summary_text.delta": "ResponseReasoningSummaryDeltaStreamingEvent",
    "response.reasoning_summary_text.done": "ResponseReasoningSummaryDoneStreamingEvent",
}  # fmt: skip
# delta event → (done event, field of the done event that holds the whole)
SUMS = {
    "response.output_text.delta": ("response.output_text.done", "text"),
    "response.refusal.delta": ("response.refusal.done", "refusal"),
    "response.reasoning_summary_text.delta": ("response.reasoning_summary_text.done", "text"),
    "response.reasoning_text.delta": ("response.reasoning_text.done", "text"),
    "response.function_call_arguments.delta": ("response.function_call_arguments.done", "arguments"),
    "response.custom_tool_call_input.delta": ("response.custom_tool_call_input.done", "input"),
}
IDENTITY = ("id", "type", "call_id", "name", "namespace", "role")

# By type, so that a failure names one model's field and not those of 59.
_SDK_EVENTS = {get_args(model.model_fields["type"].annotation)[0]: model for model in get_args(get_args(SdkEvent)[0])}
_SDK_RESPONSE: TypeAdapter[Any] = TypeAdapter(SdkResponse)


@cache
def _schema(name: str) -> jsonschema_rs.Validator:
    components = json.loads((Path(__file__).parent / "openresponses.json").read_text())["components"]
    return jsonschema_rs.validator_for({"$ref": f"#/components/schemas/{name}", "components": components})


def check_response(response: dict[str, Any]) -> None:
    """A Response object: all fields, both authorities' types, statuses that fit together."""
    check_against("ResponseResource", _open_part(response))
    _SDK_RESPONSE.validate_python(_for_the_sdk(response), strict=False)
    status = response["status"]
    assert (response["error"] is not None) == (status == "failed"), response["error"]
    assert (response["incomplete_details"] is not None) == (status == "incomplete")
    assert (response["completed_at"] is not None) == (status == "completed")
    usage = response["usage"]
    if usage is not None:
        assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    ids = [item["id"] for item in response["output"]]
    assert len(ids) == len(set(ids)), f"an item id is used twice: {ids}"
    call_ids = [item["call_id"] for item in response["output"] if "call_id" in item]
    assert len(call_ids) == len(set(call_ids)) and all(call_ids), f"call ids: {call_ids}"
    assert not set(ids) & set(call_ids)
    if status == "completed":
        assert all(item.get("status", "completed") == "completed" for item in response["output"])


def check_stream(events: Sequence[Event]) -> dict[str, Any]:
    """A whole stream, in the order of contract section 4. Gives the terminal Response object."""
    for event in events:
        _check_event(event)
    kinds = [event["type"] for event in events]
    assert kinds[:2] == ["response.created", "response.in_progress"], kinds[:2]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [kind for kind in kinds if kind in TERMINALS] == [kinds[-1]], "exactly one terminal event, last"
    terminal = events[-1]["response"]
    assert terminal["status"] == TERMINALS[kinds[-1]]
    assert len({event["response"]["id"] for event in events if "response" in event}) == 1
    for event in events:
        if event["type"] in ("response.created", "response.in_progress"):
            assert event["response"]["output"] == [] and event["response"]["status"] == "in_progress"
    done = _check_items(events, failed=kinds[-1] == "response.failed")
    assert terminal["output"] == done
    check_response(terminal)
    return terminal


def _check_event(event: Event) -> None:
    if event["type"] not in EVENT_SCHEMAS or _is_foreign(event.get("item")):
        _SDK_EVENTS[event["type"]].model_validate(event)  # events and items that only OpenAI has
        return
    if "response" in event:
        check_against(EVENT_SCHEMAS[event["type"]], {**event, "response": _open_part(event["response"])})
        _SDK_EVENTS[event["type"]].model_validate({**event, "response": _for_the_sdk(event["response"])})
    else:
        check_against(EVENT_SCHEMAS[event["type"]], event)
        _SDK_EVENTS[event["type"]].model_validate(event)


def _check_items(events: Sequence[Event], failed: bool) -> list[dict[str, Any]]:
    """One item open at a time, indexes in order, the same identity and text everywhere. Gives the done items."""
    done: list[dict[str, Any]] = []
    added: dict[str, Any] | None = None
    texts: dict[tuple[str, int], list[str]] = {}
    open_part: tuple[str, int] | None = None
    for event in events:
        kind = event["type"]
        if kind == "response.output_item.added":
            assert added is None, "two items are open"
            added = event["item"]
            assert event["output_index"] == len(done)
            assert added.get("status", "in_progress") == "in_progress"
            texts.clear()
        elif kind == "response.output_item.done":
            assert added is not None, "an item is done that was never added"
            assert open_part is None, "a part is still open"
            item = event["item"]
            assert event["output_index"] == len(done)
            assert {key: added.get(key) for key in IDENTITY} == {key: item.get(key) for key in IDENTITY}
            _check_sums(item, texts)
            done.append(item)
            added = None
        elif "item_id" in event:
            assert added is not None and event["item_id"] == added["id"], f"{kind} for an item that is not open"
            assert event["output_index"] == len(done)
            index = event.get("content_index", event.get("summary_index", 0))
            if kind.endswith("part.added"):
                assert open_part is None
                open_part = (kind, index)
            elif kind.endswith("part.done"):
                assert open_part is not None and open_part[1] == index
                open_part = None
            elif kind in SUMS:
                assert open_part is not None or "content_index" not in event and "summary_index" not in event
                texts.setdefault((SUMS[kind][0], index), []).append(event["delta"])
                assert event["delta"] != ""
            elif (kind, index) in texts or kind in {done_kind for done_kind, _ in SUMS.values()}:
                field = next(field for done_kind, field in SUMS.values() if done_kind == kind)
                assert event[field] == "".join(texts.get((kind, index), [])), f"{kind} is not the sum of its deltas"
    assert added is None or failed, "an item was left open"
    return done


def _check_sums(item: dict[str, Any], texts: dict[tuple[str, int], list[str]]) -> None:
    for index, part in enumerate(item.get("content") or ()):
        if part["type"] == "output_text":
            assert part["text"] == "".join(texts.get(("response.output_text.done", index), []))
        elif part["type"] == "refusal":
            assert part["refusal"] == "".join(texts.get(("response.refusal.done", index), []))
    for index, part in enumerate(item.get("summary") or ()):
        assert part["text"] == "".join(texts.get(("response.reasoning_summary_text.done", index), []))
    for field, kind in (("arguments", "function_call_arguments"), ("input", "custom_tool_call_input")):
        if item["type"] in ("function_call", "custom_tool_call") and field in item:
            assert item[field] == "".join(texts.get((f"response.{kind}.done", 0), []))


def _is_foreign(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") not in OPEN_ITEMS


def _open_part(response: dict[str, Any]) -> dict[str, Any]:
    """Without what Open Responses has no schema for: tools and items of other kinds, choices that name them."""
    choice = response["tool_choice"]
    foreign_choice = isinstance(choice, dict) and choice.get("type") not in ("function", "allowed_tools")
    if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        choice = {**choice, "tools": [tool for tool in choice["tools"] if tool.get("type") == "function"]}
    reasoning = response["reasoning"]
    if reasoning and reasoning["effort"] in EFFORTS_OF_THE_SDK:
        reasoning = {**reasoning, "effort": None}
    return {
        **response,
        "reasoning": reasoning,
        "tools": [tool for tool in response["tools"] if tool.get("type") == "function"],
        "output": [item for item in response["output"] if not _is_foreign(item)],
        "tool_choice": "auto" if foreign_choice else choice,
    }


def _for_the_sdk(response: dict[str, Any]) -> dict[str, Any]:
    """With an error code that the SDK lists; see CODES_BESIDE_THE_SDK. Unknown efforts are echoed as they were sent."""
    error = response["error"]
    if error is not None and error["code"] in CODES_BESIDE_THE_SDK:
        return {**response, "error": {**error, "code": "server_error"}}
    return response


def check_against(schema: str, value: Any) -> None:
    """schema: the name of one of Open Responses' components."""
    problems = [f"{list(error.instance_path)}: {error.message}" for error in _schema(schema).iter_errors(value)]
    assert not problems, f"not a valid {schema}: {problems[:3]}"
