from __future__ import annotations

import pytest

from app.resolver import ModelResolver
from bridge.errors import GodeXError

RESOLVER = ModelResolver(
    {"gpt-5.5": "deepseek/v4", "deepseek/old": "zhipu/glm", "*": "zhipu/any"},
    "deepseek",
    {"deepseek", "zhipu"},
    {"legacy"},
)
NAMES = [
    ("gpt-5.5", "deepseek/v4"),
    ("deepseek/old", "zhipu/glm"),
    ("deepseek/new", "deepseek/new"),
    ("zhipu/org/model", "zhipu/org/model"),
    ("unknown/model", "zhipu/any"),
    ("plain", "zhipu/any"),
    ("deepseek/", "zhipu/any"),
]


@pytest.mark.parametrize(("name", "target"), NAMES)
def test_names_resolve(name, target):
    assert str(RESOLVER.resolve(name)) == target


def test_the_default_provider_takes_the_name_as_it_stands():
    assert str(ModelResolver({}, "deepseek", {"deepseek"}).resolve("org/model")) == "deepseek/org/model"


@pytest.mark.parametrize(
    ("resolver", "name", "code"),
    [
        (RESOLVER, "legacy/model", "server.provider.not_registered"),
        (ModelResolver({}, "", {"deepseek"}), "plain", "server.model.not_found"),
    ],
)
def test_what_nobody_serves_is_named(resolver, name, code):
    with pytest.raises(GodeXError) as refused:
        resolver.resolve(name)
    assert (refused.value.code, refused.value.param) == (code, "model")
