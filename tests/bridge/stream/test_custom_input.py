"""Taking the input of a custom tool out of its JSON wrapper, at every cut."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.stream.custom_input import CustomInput

PATCH = '*** Begin Patch\n*** Update File: "a\\b".py\n@@\n-x\t=\t1\n+x = "é中😀"\n*** End Patch\n'


def taken(pieces):
    custom = CustomInput()
    return "".join([*map(custom.feed, pieces), custom.close()])


@settings(max_examples=300, deadline=None)
@given(st.text(), st.booleans(), st.lists(st.integers(0, 60)), st.sampled_from(["", " ", "\n  "]))
def test_the_input_survives_every_encoding_and_cut(text, ascii_only, cuts, space):
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    wrapped = f'{space}{{{space}"input"{space}:{space}{json.dumps(text, ensure_ascii=ascii_only)}{space}}}{space}'
    places = sorted({0, *(cut for cut in cuts if cut < len(wrapped)), len(wrapped)})
    assert taken(wrapped[a:b] for a, b in zip(places, places[1:], strict=False)) == text


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_a_patch_in_pieces(size):
    for ascii_only in (True, False):
        wrapped = json.dumps({"input": PATCH}, ensure_ascii=ascii_only)
        assert taken(wrapped[i : i + size] for i in range(0, len(wrapped), size)) == PATCH


OTHERS = [
    ("another key", json.dumps({"patch": PATCH}), PATCH),
    ("input behind another key", json.dumps({"why": "x", "input": PATCH}), PATCH),
    ("keys behind the input", json.dumps({"input": PATCH, "why": "x"}), PATCH),
    ("bare text", PATCH, PATCH),
    ("bare text with leading blanks", "\n " + PATCH, "\n " + PATCH),
    ("a JSON string", json.dumps(PATCH), PATCH),
    ("code that begins with a bracket", "{ let x = 1 }", "{ let x = 1 }"),
    ("an object without text", '{"a":1}', '{"a":1}'),
    ("two texts, none of them input", '{"a":"x","b":"y"}', '{"a":"x","b":"y"}'),
    ("raw line breaks in the string", '{"input":"a\nb"}', "a\nb"),
    ("raw line breaks under another key", '{"code":"a\nb"}', "a\nb"),
    ("nothing", "", ""),
    ("an empty object", "{}", ""),
    ("an empty input", '{"input":""}', ""),
    ("an unknown escape stays as text", r'{"input":"a\qb"}', r"a\qb"),
    ("half a surrogate pair", r'{"input":"a\ud83db"}', "a\ufffdb"),
]


@pytest.mark.parametrize(("arguments", "text"), [row[1:] for row in OTHERS], ids=[row[0] for row in OTHERS])
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_other_wrappers_are_understood(arguments, text, size):
    assert taken(arguments[i : i + size] for i in range(0, len(arguments), size)) == text


def test_the_text_is_decoded_while_it_arrives():
    custom = CustomInput()
    assert custom.feed('{"input":"ab') == "ab"
    assert custom.feed("c\\") == "c"
    assert custom.feed("nd") == "\nd"
