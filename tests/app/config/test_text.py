"""${NAME} in every place where people write it."""

from __future__ import annotations

from typing import Any

import pytest

from app.config.text import expand, parse_yaml

ENVIRON = {"KEY": "k1", "PORT": "80", "EMPTY": "", "NESTED": "${KEY}", "NASTY": 'a: "b"\n- {c'}

EXPANDED = {
    "plain": ("a: ${KEY}", {"a": "k1"}),
    "in a flow list, unquoted": ("a: [${KEY}, ${PORT}]", {"a": ["k1", "80"]}),
    "in a flow mapping, unquoted": ("a: {b: ${KEY}}", {"a": {"b": "k1"}}),
    "in double quotes": ('a: "${KEY}"', {"a": "k1"}),
    "in single quotes": ("a: '${KEY}'", {"a": "k1"}),
    "inside a text": ("a: redis://:${KEY}@h:${PORT}/0", {"a": "redis://:k1@h:80/0"}),
    "in a key": ("${KEY}: 1", {"k1": 1}),
    "default not needed": ("a: ${KEY:-x}", {"a": "k1"}),
    "default needed": ("a: ${NONE:-x}", {"a": "x"}),
    "default for an empty variable": ("a: ${EMPTY:-x}", {"a": "x"}),
    "default with YAML in it": ("a: [${NONE:-x, y: [z}]", {"a": ["x, y: [z"]}),
    "empty default": ("a: ${NONE:-}", {"a": ""}),
    "empty variable": ("a: x${EMPTY}", {"a": "x"}),
    "escaped": ("a: $${KEY}", {"a": "${KEY}"}),
    "dollar without a brace": ("a: $KEY costs 5$", {"a": "$KEY costs 5$"}),
    "values are not expanded again": ("a: ${NESTED}", {"a": "${KEY}"}),
    "values are no YAML": ("a: ${NASTY}", {"a": 'a: "b"\n- {c'}),
    "in a comment": ("a: 1 # ${NONE}", {"a": 1}),
    "in a block text": ("a: |\n  x ${KEY}\n  y\n", {"a": "x k1\ny\n"}),
}


@pytest.mark.parametrize(("text", "data"), EXPANDED.values(), ids=EXPANDED)
def test_a_reference_becomes_its_value(text: str, data: Any) -> None:
    assert expand(parse_yaml(text), ENVIRON) == (data, [])


@pytest.mark.parametrize(
    ("data", "path", "named"),
    [
        ({"a": {"b": ["x", "${NONE}"]}}, "a.b[1]", "the environment variable NONE is not set"),
        ({"a": "${not-a-name}"}, "a", "neither ${NAME} nor ${NAME:-default}"),
        ({"auth": {"keys": ["$GODEX_API_KEY"]}}, "auth.keys[0]", "write ${GODEX_API_KEY}, with braces"),
        ({"a": "${open"}, "a", "neither ${NAME} nor ${NAME:-default}"),
        ({"a": "${}"}, "a", "neither ${NAME} nor ${NAME:-default}"),
    ],
    ids=["missing", "not a name", "no braces", "not closed", "nothing"],
)
def test_a_reference_that_leads_nowhere_is_a_problem_with_a_path(data: Any, path: str, named: str) -> None:
    _, problems = expand(data, ENVIRON)
    assert [problem.path for problem in problems] == [path]
    assert named in problems[0].text


def test_a_yaml_error_never_quotes_the_line() -> None:
    with pytest.raises(ValueError, match=r"^line 2: ") as caught:
        parse_yaml("a: 1\nb: {api_key: sk-very-secret, c: ]\n")
    assert "sk-very-secret" not in str(caught.value)
