"""Names → specs, and specs → providers that can be called.

Nothing here imports requests before connect(): gunicorn's master reads the specs to check the configuration, and
what it imports is there before a gevent worker patches the sockets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Final

from bridge.spec import ProviderSpec
from providers.client import Client
from providers.settings import ClientSettings
from providers.shared import SharedState

# Each name is a package beside this module whose spec.py holds the value, under the name in capitals. In this order
# they are looked for in the environment when there is no configuration.
BUILT_IN: Final = (
    "deepseek",
    "zhipu",
    "minimax",
    "xiaomi",
    "moonshot",
    "qwen",
    "mistral",
    "groq",
    "together",
    "openrouter",
    "openai",
    "azure",
    "vllm",
    "sglang",
    "llamacpp",
    "ollama",
    "lmstudio",
    "openai_compatible",
    "demo",
)
# Packages whose client.py connects in a way of its own.
OWN_CLIENT: Final = frozenset({"demo"})


@dataclass(frozen=True, slots=True)
class Provider:
    """An upstream that can be called: its name in godex.yaml, how it differs, and the way to it."""

    name: str
    spec: ProviderSpec
    client: Client


def builtin_specs() -> dict[str, ProviderSpec]:
    """Every spec that `spec: name` can name."""
    return {name: getattr(import_module(f"providers.{name}.spec"), name.upper()) for name in BUILT_IN}


def connect(
    name: str,
    spec: ProviderSpec,
    settings: ClientSettings,
    shared: SharedState | None = None,
    on_retry: Callable[[str], None] | None = None,
) -> Provider:
    """A provider under its own name. `spec` is a built-in one, what the configuration changes laid over it. shared:
    where workers tell each other about exhausted keys and upstreams that are down. on_retry: told the domain code of
    what failed, before a call is repeated.

    Opens no connection. Raises ProviderError (UPSTREAM_ERROR) for an address or a key that no request can be made of.
    """
    if spec.name in OWN_CLIENT:
        client: Client = import_module(f"providers.{spec.name}.client").connect(name, spec, settings)
    else:
        from providers.transport import ChatClient  # not at the top, see above

        client = ChatClient(spec, settings, name, shared, on_retry)
    return Provider(name, spec, client)
