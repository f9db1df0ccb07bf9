"""Which call a fragment belongs to. Upstreams leave out, repeat or reuse indexes, ids and names."""

from __future__ import annotations

from bridge.stream.deltas import ToolCallDelta
from bridge.stream.json_scan import JsonScan


class Call:
    """One call as the upstream streams it. `number` is its order of appearance."""

    __slots__ = ("number", "index", "upstream_id", "name", "arguments", "scan")

    def __init__(self, number: int, index: int | None) -> None:
        self.number = number
        self.index = index
        self.upstream_id = ""
        self.name = ""
        self.arguments: list[str] = []
        self.scan = JsonScan()

    @property
    def complete(self) -> bool:
        """The arguments are one whole JSON value."""
        return self.scan.read(self.arguments).complete


class CallTracker:
    """Assigns fragments to calls.

    1. A non-empty id that is known continues that call; one that is new opens a call, also under a used index
       (some servers label every call 0), except where the call under that index has no id yet: then it is a late id.
    2. A name under a used index opens a call when the one there has a whole JSON value already and the fragment
       brings no known id (servers without ids); else it is a repetition (some servers repeat names).
    3. Neither: the index decides; without an index the newest call goes on.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._by_id: dict[str, Call] = {}
        self._by_index: dict[int, Call] = {}

    def assign(self, delta: ToolCallDelta) -> Call:
        """The call of this fragment, its id, name and arguments added (first non-empty id and name are kept)."""
        call = self._find(delta)
        if call is None:
            call = Call(len(self.calls), delta.index)
            self.calls.append(call)
        if delta.index is not None:
            self._by_index[delta.index] = call
        if delta.id and not call.upstream_id:
            call.upstream_id = delta.id
            self._by_id[delta.id] = call
        if delta.name and not call.name:
            call.name = delta.name
        if delta.arguments:
            call.arguments.append(delta.arguments)
        return call

    def _find(self, delta: ToolCallDelta) -> Call | None:
        here = self._by_index.get(delta.index) if delta.index is not None else None
        newest = here or (self.calls[-1] if self.calls and delta.index is None else None)
        if delta.id:
            known = self._by_id.get(delta.id)
            if known is not None:
                return known if not self._repeats_id(known, delta) else None
            late = newest is not None and not newest.upstream_id and not (newest.complete and delta.name)
            return newest if late else None
        if newest is not None and delta.name and newest.name and newest.complete:
            return None
        return newest

    @staticmethod
    def _repeats_id(known: Call, delta: ToolCallDelta) -> bool:
        """Two whole calls that share an id (seen with ids made from the name): the second is a call of its own."""
        return bool(
            delta.name and delta.arguments and known.complete and (delta.index is None or delta.index != known.index)
        )
