from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from typing import get_type_hints

import pytest

from bridge.errors import ProviderError
from bridge.spec import Capabilities, ProviderSpec
from providers.demo.client import DemoClient
from providers.registry import BUILT_IN, builtin_specs, connect
from providers.settings import ClientSettings
from providers.transport import ChatClient

SPECS = builtin_specs()


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_spec_is_registered_under_its_own_name(name: str) -> None:
    assert SPECS[name].name == name


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_the_rows_of_a_spec_name_capabilities_that_exist(spec: ProviderSpec) -> None:
    known = {field.name for field in fields(Capabilities)}

    assert all(set(row) <= known for _, row in spec.models)
    for pattern, _ in spec.models:
        assert isinstance(spec.capabilities_for(pattern), Capabilities)


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_the_values_of_a_spec_have_the_declared_kinds(spec: ProviderSpec) -> None:
    hints = get_type_hints(Capabilities)
    rows = [
        *spec.models,
        ("default", {field.name: getattr(spec.capabilities, field.name) for field in fields(Capabilities)}),
    ]

    for _, row in rows:
        for name, value in row.items():
            if getattr(hints[name], "__origin__", None) in (frozenset, tuple):
                assert isinstance(value, hints[name].__origin__), name


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_levels_lead_to_levels_that_the_model_knows(spec: ProviderSpec) -> None:
    for pattern in ["any", *(pattern for pattern, _ in spec.models)]:
        caps = spec.capabilities_for(pattern)
        if caps.effort == "native":
            assert set(caps.effort_map.values()) <= set(caps.efforts)


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_a_patch_leaves_the_request_that_it_was_given_alone(spec: ProviderSpec) -> None:
    request = {"model": spec.default_model or "m", "messages": [], "reasoning_effort": "high", "stream": True}
    before = repr(request)
    spec.patch_request(request)

    assert repr(request) == before


def test_reading_the_specs_loads_no_network_library() -> None:
    code = "import sys; from providers.registry import builtin_specs; builtin_specs(); print('requests' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)

    assert run.stdout.strip() == "False", run.stderr


def test_a_provider_is_connected_under_its_own_name() -> None:
    provider = connect("main", SPECS["deepseek"], ClientSettings(api_keys=("k",)))

    assert provider.name == provider.client.name == "main"
    assert isinstance(provider.client, ChatClient)
    provider.client.close()


def test_the_demo_has_a_client_of_its_own() -> None:
    provider = connect("try", SPECS["demo"], ClientSettings())

    assert isinstance(provider.client, DemoClient)
    assert provider.client.name == "try"


def test_an_impossible_address_stops_the_start() -> None:
    with pytest.raises(ProviderError):
        connect("main", SPECS["openai_compatible"], ClientSettings(base_url="nowhere"))
