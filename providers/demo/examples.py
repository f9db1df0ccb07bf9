"""Instances of a JSON Schema, with values out of the user's words where a property's name suggests some."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jsonschema_rs

Schema = Mapping[str, Any]

DEEPEST = 6  # from here on optional properties and items are left out, so that recursive schemas end
BOTTOM = 60  # a schema that cannot end gets null here
MOST_VALUES = 2000  # after so many everything counts as deep: branches of a recursive schema multiply
FORMATS = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "PT1H",
    "email": "user@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com",
    "uri-reference": "/example",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
# For `pattern`: the first that fits. A pattern that none of them fits is beyond this model.
CANDIDATES = (
    "example", "Example", "EXAMPLE", "a", "A", "1", "12", "123", "1234", "12345", "A1", "ABC-123", "AB", "ABC", "abc1",
    *FORMATS.values(), "1.0", "1.0.0", "v1.0.0", "#aabbcc", "+15550100", "12:00", "en", "en-US", "snake_case", "",
)  # fmt: skip


class Examples:
    """Fills one schema. Deterministic: equal schemas and words give equal instances."""

    def __init__(self, root: Schema, words: str) -> None:
        self._root = root
        self._words = words
        self._numbers = re.findall(r"-?\d+(?:\.\d+)?", words)
        self._values = 0

    def instance(self) -> Any:
        return self._fill(self._root, "", 0)

    def _fill(self, schema: Any, name: str, depth: int) -> Any:
        self._values += 1
        if self._values > MOST_VALUES:
            depth = max(depth, DEEPEST)
        if depth > BOTTOM:
            return None
        schema = self._resolved(schema, depth)
        if "const" in schema:
            return schema["const"]
        if isinstance(options := schema.get("enum"), list) and options:
            said = self._words.lower()
            return next((value for value in options if isinstance(value, str) and value.lower() in said), options[0])
        kind = _kind(schema)
        if kind in ("boolean", "null"):
            return True if kind == "boolean" else None
        fills: dict[str, Callable[[Schema, str, int], Any]] = {
            "object": self._object,
            "array": self._array,
            "integer": self._number,
            "number": self._number,
        }
        return fills.get(kind, self._string)(schema, name, depth)

    def _resolved(self, schema: Any, depth: int) -> dict[str, Any]:
        """The schema itself: references followed, `allOf` merged, one branch of `anyOf` and `oneOf` chosen."""
        if not isinstance(schema, Mapping):
            return {}
        flat = dict(schema)
        for _ in range(20):  # references to references; a circle of nothing but references describes nothing
            if isinstance(flat.get("$ref"), str):
                flat = {**self._target(flat.pop("$ref")), **flat}
            elif isinstance(flat.get("allOf"), list):
                for part in flat.pop("allOf"):
                    flat = _merged(flat, self._resolved(part, depth))
            elif branches := flat.pop("anyOf", None) or flat.pop("oneOf", None):
                flat = _merged(flat, self._branch(branches, depth))
            else:
                break
        return flat

    def _branch(self, branches: Any, depth: int) -> dict[str, Any]:
        plain = [self._resolved(branch, depth) for branch in branches if isinstance(branch, Mapping)] or [{}]
        if depth >= DEEPEST:
            return min(plain, key=lambda branch: _kind(branch) in ("object", "array"))
        return next((branch for branch in plain if _kind(branch) != "null"), plain[0])

    def _target(self, reference: str) -> Schema:
        node: Any = self._root
        for step in reference.lstrip("#").split("/"):
            if step:
                node = node.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(node, Mapping) else None
        return node if isinstance(node, Mapping) else {}

    def _object(self, schema: Schema, name: str, depth: int) -> dict[str, Any]:
        known = schema.get("properties")
        properties: dict[str, Any] = dict(known) if isinstance(known, Mapping) else {}
        required = [key for key in schema.get("required") or () if isinstance(key, str)]
        wanted = list(properties) if depth < DEEPEST else [key for key in properties if key in required]
        wanted += [key for key in required if key not in properties]
        filled = {key: self._fill(properties.get(key, {}), key, depth + 1) for key in wanted}
        extra = schema.get("additionalProperties")
        while len(filled) < int(schema.get("minProperties") or 0):
            filled[f"key{len(filled) + 1}"] = self._fill(extra if isinstance(extra, Mapping) else {}, "", depth + 1)
        return filled

    def _array(self, schema: Schema, name: str, depth: int) -> list[Any]:
        least, most = int(schema.get("minItems") or 0), schema.get("maxItems")
        heads = schema.get("prefixItems") or ()
        count = max(least, 1 if depth < DEEPEST else 0, len(heads))
        if isinstance(most, int):
            count = min(count, most)
        each = self._resolved(schema.get("items"), depth)
        items = [self._fill(heads[place] if place < len(heads) else each, name, depth + 1) for place in range(count)]
        return _made_distinct(items, each.get("enum") or ()) if schema.get("uniqueItems") else items

    def _number(self, schema: Schema, name: str, depth: int) -> int | float:
        whole = _kind(schema) == "integer"
        value = float(self._numbers.pop(0)) if self._numbers else 1.0
        value = int(value) if whole or value == int(value) else value
        step = schema.get("multipleOf")
        low, high = schema.get("minimum"), schema.get("maximum")
        nudge = step or (1 if whole else 0.5)
        if isinstance(above := schema.get("exclusiveMinimum"), int | float) and not isinstance(above, bool):
            low = max(above + nudge, low) if low is not None else above + nudge
        if isinstance(below := schema.get("exclusiveMaximum"), int | float) and not isinstance(below, bool):
            high = min(below - nudge, high) if high is not None else below - nudge
        if low is not None and value < low:
            value = low
        if high is not None and value > high:
            value = high
        if step:
            value = (-(-low // step) if low is not None and value == low else value // step) * step
        return int(value) if whole else value

    def _string(self, schema: Schema, name: str, depth: int) -> str:
        given = schema.get("default", (schema.get("examples") or [None])[0])
        text = given if isinstance(given, str) else self._text(schema, name.lower())
        least, most = int(schema.get("minLength") or 0), schema.get("maxLength")
        text = text.ljust(least, "x")
        text = text[:most] if isinstance(most, int) else text
        return text if _fits(text, schema) else next((word for word in CANDIDATES if _fits(word, schema)), text)

    def _text(self, schema: Schema, name: str) -> str:
        if schema.get("format") in FORMATS:
            found = re.search(r"https?://\S+", self._words) if schema["format"] == "uri" else None
            return found.group(0) if found else FORMATS[schema["format"]]
        for pattern, source, otherwise in _SOURCES:
            if re.search(pattern, name):
                found = re.search(source, self._words, re.DOTALL)
                return next((group for group in found.groups() if group), otherwise).strip() if found else otherwise
        quoted = re.search(r"[\"“`'](.+?)[\"”`']", self._words)
        return quoted.group(1) if quoted else self._words.strip() or name or "example"


# (property name, where its value stands in the user's words, value without such words)
_SOURCES = (
    (r"city|location|place|town|country|region", r"\b(?:in|at|for|to|from|of) ([A-Z][\w'-]*(?: [A-Z]\w*)*)", "Paris"),
    (r"command|cmd|script", r"\b(?:run|execute)\s+`?(.+?)`?[.?!]?\s*$|`(.+?)`", "ls"),
    (r"url|link|href", r"(https?://\S+)", "https://example.com"),
    (r"e?mail", r"([\w.+-]+@[\w-]+\.[\w.]+)", "user@example.com"),
    (r"workdir|cwd", r"\b(?:in|from) ((?:[\w.-]*/)+[\w.-]*)", "."),
    (r"path|file|dir", r"((?:[\w.-]*/)+[\w.-]+|\b[\w-]+\.[a-z]{1,5}\b)", "README.md"),
    (r"date|day", r"(\d{4}-\d\d-\d\d)", "2026-01-01"),
    (r"name|title", r"\b(?:named|called|name is) ([A-Z]?[\w'-]+)", "Ada"),
)  # fmt: skip


def _kind(schema: Schema) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    if isinstance(kind, str):
        return kind
    if "properties" in schema or "required" in schema:
        return "object"
    return "array" if "items" in schema or "prefixItems" in schema else "string"


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Two schemas that both hold."""
    both = {**below, **above}
    for key in ("properties", "$defs"):
        if isinstance(below.get(key), Mapping) and isinstance(above.get(key), Mapping):
            both[key] = {**below[key], **above[key]}
    if below.get("required") and above.get("required"):
        both["required"] = [*below["required"], *(key for key in above["required"] if key not in below["required"])]
    return both


def _made_distinct(items: list[Any], options: Sequence[Any]) -> list[Any]:
    distinct: list[Any] = []
    for place, item in enumerate(items):
        if item in distinct:
            item = next((option for option in options if option not in distinct), _shifted(item, place))
        distinct.append(item)
    return distinct


def _shifted(item: Any, by: int) -> Any:
    if isinstance(item, bool):
        return not item
    return item + by if isinstance(item, int | float) else f"{item}{by}"


def _fits(text: str, schema: Schema) -> bool:
    """jsonschema-rs, not `re`: its patterns do not backtrack, and this one is a stranger's."""
    rules = {key: schema[key] for key in ("pattern", "minLength", "maxLength") if key in schema}
    if not rules:
        return True
    try:
        return bool(jsonschema_rs.is_valid(rules, text))
    except ValueError:  # not a schema: then nothing can be right or wrong
        return True
