"""Upstreams that exist only here, so that these tests say nothing about the real ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from app.config.loader import load_config
from app.config.model import Config
from bridge.spec import Capabilities, ProviderSpec


def _spec(name: str, **facts: object) -> ProviderSpec:
    return ProviderSpec(
        name=name,
        read_deltas=lambda chunk: (),
        read_response=lambda body: (),
        read_error=lambda body: None,
        **{"base_url": f"https://{name}.example", **facts},  # type: ignore[arg-type]
    )


SPECS = {
    "alpha": _spec(
        "alpha",
        api_key_env="ALPHA_API_KEY",
        default_model="alpha-1",
        capabilities=Capabilities(context_window=1000),
        models=(("alpha-*", {"context_window": 2000}),),
    ),
    "beta": _spec("beta", api_key_env="BETA_API_KEY", default_model="beta-1", auth_header="api-key"),
    "plain": _spec("plain", base_url="", needs_key=False),
}


@pytest.fixture
def load() -> Callable[..., Config]:
    """load_config with the specs above and an empty environment; both can be given."""
    return partial(load_config, specs=SPECS, environ={})
