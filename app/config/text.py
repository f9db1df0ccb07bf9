"""The text of godex.yaml → plain data, and ${NAME} in it → the environment's values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml

from .hints import Problem, joined

_REFERENCE: Final = re.compile(r"\$\{[^}\n]*\}")
_NAME: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}\n]*))?\}")
_WITHOUT_BRACES: Final = re.compile(r"\$[A-Z_][A-Z0-9_]*")
_REFERENCE_OR_ESCAPE: Final = re.compile(r"\$\$\{|\$\{[^}\n]*\}?")


class _UniqueKeys(yaml.SafeLoader):
    """YAML lets a second key of one name win in silence; here it is a mistake."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            if isinstance(key_node, yaml.ScalarNode):
                if key_node.value in seen:
                    raise yaml.constructor.ConstructorError(
                        problem=f"the key '{_unmasked(key_node.value, ())}' stands here a second time",
                        problem_mark=key_node.start_mark,
                    )
                seen.add(key_node.value)
        return super().construct_mapping(node, deep)


def parse_yaml(text: str) -> Any:
    """Plain data with its ${NAME} still in place. Raises ValueError("line 3: …"), which never quotes the file's text.

    `keys: [${GODEX_API_KEY}]` is no YAML (a brace opens a mapping there), but it is what people write: references are
    hidden behind private-use characters while the text is parsed, so they need no quotes anywhere.
    """
    references: list[str] = []

    def hide(match: re.Match[str]) -> str:
        references.append(match[0])
        return f"\ue000{len(references) - 1}\ue001"

    try:
        data = yaml.load(_REFERENCE.sub(hide, text), _UniqueKeys)  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ValueError(f"line {line}: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise ValueError(f"is not YAML: {getattr(error, 'reason', 'unreadable')}") from None
    return _restored(data, references)


def _restored(data: Any, references: list[str]) -> Any:
    if isinstance(data, str):
        return _unmasked(data, references)
    if isinstance(data, dict):
        return {_restored(key, references): _restored(value, references) for key, value in data.items()}
    if isinstance(data, list):
        return [_restored(item, references) for item in data]
    return data


def _unmasked(text: str, references: list[str] | tuple[()]) -> str:
    return re.sub("\ue000(\\d+)\ue001", lambda match: references[int(match[1])] if references else "${…}", text)


def expand(data: Any, environ: Mapping[str, str]) -> tuple[Any, list[Problem]]:
    """`data` with every ${NAME} and ${NAME:-default} replaced, in keys and values, and what could not be.

    As in a shell, the default also stands in for an empty variable. $${NAME} is the text ${NAME}. Values of variables
    are not expanded again.
    """
    problems: list[Problem] = []
    return _expanded(data, "", environ, problems), problems


def _expanded(data: Any, path: str, environ: Mapping[str, str], problems: list[Problem]) -> Any:
    if isinstance(data, str):
        if _WITHOUT_BRACES.fullmatch(data):  # taken literally it would be a key that anybody can guess
            problems.append(Problem(path, f"write ${{{data[1:]}}}, with braces, for the variable of the environment"))
        return "".join(_pieces(data, path, environ, problems))
    if isinstance(data, Mapping):
        return {
            _expanded(key, path, environ, problems): _expanded(value, joined(path, key), environ, problems)
            for key, value in data.items()
        }
    if isinstance(data, list | tuple):
        return [_expanded(item, f"{path}[{place}]", environ, problems) for place, item in enumerate(data)]
    return data


def _pieces(written: str, path: str, environ: Mapping[str, str], problems: list[Problem]) -> Iterator[str]:
    start = 0
    for match in _REFERENCE_OR_ESCAPE.finditer(written):
        yield written[start : match.start()]
        start = match.end()
        if match[0] == "$${":
            yield "${"
            continue
        named = _NAME.fullmatch(match[0])
        if named is None:
            problems.append(Problem(path, "holds a ${…} that is neither ${NAME} nor ${NAME:-default}"))
            continue
        name, default = named[1], named[2]
        value = environ.get(name)
        if value is None and default is None:
            text = f"the environment variable {name} is not set (${{{name}:-…}} gives a default)"
            problems.append(Problem(path, text))
        yield value or default or ""
    yield written[start:]
