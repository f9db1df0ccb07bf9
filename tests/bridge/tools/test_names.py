"""Names that an upstream takes, and the way back."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from bridge.tools.identity import IdentityMap
from bridge.tools.names import encode_name

LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
KEYS = st.tuples(
    st.sampled_from(["function", "custom"]),
    st.one_of(st.none(), st.text(max_size=70)),
    st.text(min_size=1, max_size=70),
)


@given(st.lists(KEYS, max_size=12))
def test_every_name_is_legal_unique_and_comes_back(keys):
    identities = IdentityMap((kind, namespace or None, name, {}) for kind, namespace, name in keys)
    names = [identity.provider_name for identity in identities]
    assert len(names) == len(set(names))
    for identity in identities:
        assert LEGAL.fullmatch(identity.provider_name)
        assert identities.restored(identity.provider_name) is identity
        assert identities.provider_name(identity.type, identity.name, identity.namespace) == identity.provider_name


def test_a_real_name_is_kept_whatever_a_namespace_is_flattened_to():
    identities = IdentityMap([("function", "a", "b", {}), ("function", None, "a__b", {})])
    top = identities.restored("a__b")
    assert top is not None and top.namespace is None
    assert identities.provider_name("function", "b", "a") == "a__b_2"


def test_long_names_stay_readable_and_are_the_same_on_every_turn():
    name = encode_name("execute_document_command_with_schema" * 2, "mcp__codex_apps")
    assert len(name) == 64 and name.startswith("mcp__codex_apps__execute_document")
    assert name == encode_name("execute_document_command_with_schema" * 2, "mcp__codex_apps")


def test_a_repeated_tool_is_declared_once():
    assert len(IdentityMap([("function", None, "a", {"x": 1}), ("function", None, "a", {"x": 2})])) == 1
