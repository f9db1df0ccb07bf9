"""Checks a finished answer against what was promised for it: JSON, a schema, a call."""

from __future__ import annotations

import orjson

from bridge.errors import OUTPUT_INVALID_JSON, OUTPUT_SCHEMA_MISMATCH, TOOL_NOT_ALLOWED, BridgeError
from bridge.plan.output import OutputContract
from bridge.stream.blocks import Item


def check_answer(output: list[Item], contract: OutputContract, must_call: bool) -> BridgeError | None:
    """The first breach of a completed answer, or None. A refusal and a turn of calls alone owe no JSON."""
    if must_call and not any("call_id" in item for item in output):
        return BridgeError(
            TOOL_NOT_ALLOWED,
            "tool_choice demanded a tool call, but the model answered without one",
            param="tool_choice",
        )
    if not contract.wants_json:
        return None
    text = answer_text(output)
    if text is None:
        return None
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as broken:
        return BridgeError(OUTPUT_INVALID_JSON, f"the answer is not valid JSON: {broken}", param="text.format")
    error = next(iter(contract.validator.iter_errors(value)), None) if contract.validator else None
    if error is None:
        return None
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path)
    return BridgeError(
        OUTPUT_SCHEMA_MISMATCH, f"the answer breaks its schema at ${place}: {error.message}", param="text.format"
    )


def answer_text(output: list[Item]) -> str | None:
    """The text of all messages, or None when there is no text that the contract is about."""
    parts = [part for item in output if item["type"] == "message" for part in item["content"]]
    if any(part["type"] == "refusal" for part in parts):
        return None
    if not parts and any("call_id" in item for item in output):
        return None
    return "".join(part["text"] for part in parts)
