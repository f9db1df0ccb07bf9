"""Plans `text.format` and `text.verbosity`: native where possible, else an instruction and a check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jsonschema_rs
import orjson

from bridge.errors import INVALID_REQUEST
from bridge.plan.diagnostics import Diagnostics, rejected
from bridge.spec import Capabilities


@dataclass(frozen=True, slots=True)
class OutputContract:
    """What the answer's text must be, and how the upstream is told.

    response_format  the chat field, or None
    instruction      synthetic system message, or None
    wants_json       the text must parse as JSON (json_object, or a strict json_schema)
    validator        checks the JSON against the schema of a strict request, or None
    strips_fences    code fences around the JSON are removed on the way back
    """

    response_format: dict[str, Any] | None = None
    instruction: str | None = None
    wants_json: bool = False
    validator: jsonschema_rs.Validator | None = None
    strips_fences: bool = False


PATTERNS = jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000)
PLAIN_TEXT = OutputContract()


def plan_output(text: Mapping[str, Any] | None, caps: Capabilities, notes: Diagnostics) -> OutputContract:
    """text: the request's `text` object. The echo of the format is the business of response/assemble.py."""
    form = (text or {}).get("format") or {"type": "text"}
    if form["type"] == "json_object":
        return _json_object(caps, notes)
    if form["type"] == "json_schema":
        return _json_schema(form, caps, notes)
    return PLAIN_TEXT


def plan_verbosity(
    text: Mapping[str, Any] | None, caps: Capabilities, options: dict[str, Any], notes: Diagnostics
) -> None:
    verbosity = (text or {}).get("verbosity")
    if verbosity is None:
        return
    if "verbosity" in caps.parameters:
        options["verbosity"] = verbosity
    else:
        notes.ignored("text.verbosity", "this model has no such setting", "info")


def _json_object(caps: Capabilities, notes: Diagnostics) -> OutputContract:
    instruction = "Answer with one JSON object and nothing else: no code fence, no comment before or after it."
    if "json_object" in caps.response_formats:
        return OutputContract({"type": "json_object"}, instruction if caps.json_word_needed else None, wants_json=True)
    notes.degraded("text.format", "no JSON mode upstream: asked for by instruction, checked here")
    return OutputContract(None, instruction, wants_json=True, strips_fences=True)


def _json_schema(form: Mapping[str, Any], caps: Capabilities, notes: Diagnostics) -> OutputContract:
    schema = form["schema"]
    strict = bool(form.get("strict"))
    validator = _validator(schema) if strict else None
    if "json_schema" in caps.response_formats:
        native = {key: form[key] for key in ("name", "description", "schema", "strict") if form.get(key) is not None}
        return OutputContract({"type": "json_schema", "json_schema": native}, wants_json=strict, validator=validator)
    instruction = _schema_instruction(form)
    if "json_object" in caps.response_formats:
        notes.degraded("text.format", "json_schema → json_object and an instruction with the schema, checked here")
        response_format: dict[str, Any] | None = {"type": "json_object"}
    else:
        notes.degraded("text.format", "json_schema → plain text and an instruction with the schema, checked here")
        response_format = None
    return OutputContract(response_format, instruction, wants_json=strict, validator=validator, strips_fences=True)


def _validator(schema: Mapping[str, Any]) -> jsonschema_rs.Validator:
    """Compiled once per request. The schema is a client's: no reference is fetched, no pattern may run away."""
    try:
        return jsonschema_rs.validator_for(dict(schema), retriever=_no_retrieval, pattern_options=PATTERNS)
    except ValueError as broken:
        reason = str(broken).partition("\n")[0]
        raise rejected("text.format.schema", f"not a usable JSON Schema: {reason}", INVALID_REQUEST) from broken


def _no_retrieval(uri: str) -> Any:
    raise ValueError(f"the remote reference {uri} is not followed")


def _schema_instruction(form: Mapping[str, Any]) -> str:
    # Keys keep the client's order: equal requests must give equal bytes, or the upstream's prompt cache misses.
    schema = orjson.dumps(form["schema"]).decode()
    about = f" It is called {form['name']!r}." if form.get("name") else ""
    purpose = f" Its purpose: {form['description']}." if form.get("description") else ""
    return (
        f"Answer with one JSON value that satisfies the JSON Schema below.{about}{purpose} Give every required "
        "property, add none that the schema does not allow, use the exact names, types and enum values, and write "
        f"nothing but the JSON: no code fence, no comment before or after it.\n\nJSON Schema:\n{schema}"
    )
