"""Which tool of the client stands behind which name upstream, for one request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from bridge.tools.names import distinct, encode_name

Key = tuple[str, str | None, str]


@dataclass(frozen=True, slots=True)
class ToolIdentity:
    """type is the requested tool's ("function", "custom", "shell" …); tool its declaration, as the client wrote it."""

    type: str
    name: str
    namespace: str | None
    provider_name: str
    tool: dict[str, Any]

    @property
    def key(self) -> Key:
        return self.type, self.namespace, self.name


class IdentityMap:
    """provider name ↔ requested (type, namespace, name)."""

    def __init__(self, wanted: Iterable[tuple[str, str | None, str, dict[str, Any]]]) -> None:
        """wanted: (type, namespace, name, tool) in declaration order; a repeated tool is taken once, the first time."""
        tools: dict[Key, dict[str, Any]] = {}
        for kind, namespace, name, tool in wanted:
            tools.setdefault((kind, namespace, name), tool)
        # Top-level tools whose name is legal keep it, whatever a namespace member would be flattened to.
        names: dict[Key, str] = {}
        taken: set[str] = set()
        for key in sorted(tools, key=lambda key: key[1] is not None or encode_name(key[2]) != key[2]):
            names[key] = distinct(encode_name(key[2], key[1]), taken)
            taken.add(names[key])
        self._by_key = {key: ToolIdentity(key[0], key[2], key[1], names[key], tool) for key, tool in tools.items()}
        self._by_provider_name = {identity.provider_name: identity for identity in self._by_key.values()}

    def __iter__(self) -> Iterator[ToolIdentity]:
        return iter(self._by_key.values())

    def __len__(self) -> int:
        return len(self._by_key)

    def restored(self, provider_name: str) -> ToolIdentity | None:
        """The client's tool behind a name that the model called, or None for a name nobody declared."""
        return self._by_provider_name.get(provider_name)

    def provider_name(self, kind: str, name: str, namespace: str | None = None) -> str:
        """The upstream name of a call in the history, also of a tool that is not declared any more."""
        identity = self._by_key.get((kind, namespace, name))
        return identity.provider_name if identity else encode_name(name, namespace)

    def find(self, kind: str, name: str | None = None, namespace: str | None = None) -> ToolIdentity | None:
        """The declared tool that a tool_choice names: by type and name, or by type alone for tools without a name."""
        for identity in self._by_key.values():
            if identity.type == kind and (name is None or identity.name == name):
                if namespace is None or identity.namespace == namespace:
                    return identity
        return None
