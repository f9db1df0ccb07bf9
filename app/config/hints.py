"""What is wrong in a configuration, in words and with the path of the key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from marshmallow import Schema, fields

# marshmallow's own words, for people who never heard of it
_PLAINER = {
    "Invalid input type.": "must be a mapping",
    "Not a valid mapping type.": "must be a mapping",
    "Not a valid list.": "must be a list",
    "Not a valid string.": "must be text (put it in quotes)",
    "Field may not be null.": "must not be empty",
}


class Problem(NamedTuple):
    """One mistake: `providers.main.timeouts.conect` and what is wrong there. An empty path is the whole file."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


def joined(path: str, key: object) -> str:
    """The path of a key in a mapping; list places are written by the caller as path[0]."""
    return f"{path}.{key}" if path else str(key)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'connect'?`, or nothing when no known word is close."""
    close = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'?" if close else ""


def unknown_key(key: str, known: Iterable[str]) -> str:
    known = tuple(known)
    return "unknown key" + (did_you_mean(key, known) or f"; known here: {', '.join(known)}")


def problems_of(schema: Schema, errors: Mapping[str, Any]) -> Iterator[Problem]:
    """marshmallow's nested messages as problems, with a hint at each unknown key."""
    yield from _in_section(schema, errors, "", schema)


def _in_section(schema: Schema, errors: Mapping[str, Any], path: str, root: Schema) -> Iterator[Problem]:
    for key, found in errors.items():
        if key == "_schema":
            yield from _in_value(None, found, path, root)
        elif key not in schema.fields:
            yield Problem(joined(path, key), _unknown(str(key), schema, root))
        else:
            yield from _in_value(schema.fields[key], found, joined(path, key), root)


def _in_value(field: fields.Field[Any] | None, errors: Any, path: str, root: Schema) -> Iterator[Problem]:
    if isinstance(errors, list):
        for text in errors:
            yield Problem(path, str(_PLAINER.get(text, text)))
    elif isinstance(field, fields.Nested):
        yield from _in_section(field.schema, errors, path, root)
    elif isinstance(field, fields.List):
        for place, found in errors.items():
            yield from _in_value(field.inner, found, f"{path}[{place}]", root)
    elif isinstance(field, fields.Dict):
        for key, sides in errors.items():
            yield from _in_value(field.value_field, sides.get("value", []), joined(path, key), root)
            yield from _in_value(field.key_field, sides.get("key", []), joined(path, key), root)
    else:  # a field that names its own keys
        for key, found in errors.items():
            yield from _in_value(None, found, joined(path, key), root)


def _unknown(key: str, section: Schema, root: Schema) -> str:
    """A misspelt key, or one that is right below this section or in another one (`port` at the top: server.port)."""
    if not did_you_mean(key, section.fields):
        for path in (*_paths(section), *_paths(root)):
            if path.rpartition(".")[2] == key:
                return f"unknown key; did you mean '{path}'?"
    return unknown_key(key, section.fields)


def _paths(schema: Schema, path: str = "") -> Iterator[str]:
    for name, field in schema.fields.items():
        yield joined(path, name)
        if isinstance(field, fields.Nested):
            yield from _paths(field.schema, joined(path, name))
