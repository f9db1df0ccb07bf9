"""Repairs a conversation so that strict upstreams take it: a thread with one bad item must not fail for ever.

Each repair is a diagnostic. The result depends on the items alone, so that a continued thread has the earlier
request as its byte prefix.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import orjson

from bridge.plan.diagnostics import Diagnostics
from bridge.request.content import joined_text
from bridge.request.entries import Answered, Called, Entry, Output, Said, Thought
from bridge.spec import ToolIdFormat
from bridge.tools.restore import parse_object

NO_OUTPUT = "[No output was recorded for this call: it was interrupted or is still running.]"
_ALNUM9 = re.compile(r"[A-Za-z0-9]{9}")


@dataclass(slots=True)
class Assistant:
    """One assistant message to be: what adjacent assistant items say together."""

    thoughts: list[Thought] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    calls: list[Called] = field(default_factory=list)


Block = Said | Assistant


def arrange(entries: Iterable[Entry], notes: Diagnostics) -> list[Block]:
    """Group adjacent assistant entries and give each call its output, wherever the client put it.

    An output ends the group of its call. Calls without an output get a stand-in; outputs without a call become a
    note of the user.
    """
    blocks: list[Block] = []
    group: Assistant | None = None
    # Call id → the latest message that holds open calls of this id, and these calls: ids may repeat from turn to turn.
    pending: dict[str, tuple[Assistant, deque[Called]]] = {}
    # Outputs before a call of their id → place of their note. A message ends the wait: what an earlier request sent
    # must not change in a later one.
    early: dict[str, tuple[int, Output]] = {}
    orphans: dict[int, Output] = {}  # place of the note → an output whose call has not come
    for entry in entries:
        if isinstance(entry, Said):
            group = None
            early.clear()
            blocks.append(entry)
            continue
        if isinstance(entry, Output):
            group = None
            _, waiting = pending.get(entry.call_id, (None, None))
            if waiting:
                waiting.popleft().output = entry
            else:
                early[entry.call_id] = (len(blocks), entry)
                orphans[len(blocks)] = entry
                blocks.append(Said("user", [{"type": "text", "text": _orphan_note(entry)}]))
            continue
        if group is None:
            group = Assistant()
            blocks.append(group)
        if isinstance(entry, Thought):
            group.thoughts.append(entry)
        elif isinstance(entry, Answered):
            group.texts.append(entry.text)
        else:
            group.calls.append(entry)
            if entry.call_id in early:
                place, entry.output = early.pop(entry.call_id)
                blocks[place] = Said("user", [])
                del orphans[place]
                notes.repaired(entry.path, "its output stood before the call and was moved behind it")
            elif entry.call_id in pending and pending[entry.call_id][0] is group:
                pending[entry.call_id][1].append(entry)
            else:
                pending[entry.call_id] = (group, deque([entry]))
    for output in orphans.values():
        notes.repaired(output.path, f"no call before it has the id {output.call_id!r}: sent as a note of the user")
    return [block for block in blocks if not (isinstance(block, Said) and not block.parts)]


def _orphan_note(output: Output) -> str:
    return f"[Output of tool call {output.call_id or 'without id'}, whose call is not in this conversation]\n" + (
        joined_text(output.parts)
    )


def fill_in_reasoning(blocks: Iterable[Block], recalled: Mapping[str, Thought], notes: Diagnostics) -> None:
    """Give calls that came back without their reasoning what is remembered of it.

    recalled: by call_id. The calls of one message came with one piece of reasoning.
    """
    for block in blocks:
        if not isinstance(block, Assistant) or block.thoughts:
            continue
        known = next((call for call in block.calls if call.call_id in recalled), None)
        if known is not None:
            block.thoughts.append(recalled[known.call_id])
            notes.repaired(known.path, "the call came back without its reasoning, which was still known")


def heal_calls(blocks: Iterable[Block], id_format: ToolIdFormat, notes: Diagnostics) -> None:
    """Make every call legal in place: an id of the upstream's format and used once, arguments that are a JSON object,
    an output."""
    ids = _CallIds(id_format)
    for block in blocks:
        if not isinstance(block, Assistant):
            continue
        for call in block.calls:
            if call.output is None:
                call.output = Output(call.call_id, [{"type": "text", "text": NO_OUTPUT}], call.path)
                notes.repaired(call.path, "the call has no output: a stand-in is sent")
            call.arguments = _object_text(call, notes)
            call.call_id = ids.legal(call, notes)


def _object_text(call: Called, notes: Diagnostics) -> str:
    parsed = parse_object(call.arguments)
    if parsed is None:
        notes.repaired(f"{call.path}.arguments", "not a JSON object: wrapped into one")
        return orjson.dumps({"arguments": call.arguments}).decode()
    return call.arguments if parsed or call.arguments.strip() else "{}"


class _CallIds:
    """Ids for the calls of one conversation, each used once, the same on every turn."""

    def __init__(self, id_format: ToolIdFormat) -> None:
        self._format = id_format
        self._used: set[str] = set()
        self._repeats: defaultdict[str, int] = defaultdict(int)  # how often an id was asked for before
        self._calls = 0

    def legal(self, call: Called, notes: Diagnostics) -> str:
        if self._format == "function_index":  # the calls of the history are counted
            chosen = f"functions.{call.name}:{self._calls}"
        elif self._format == "alnum9":
            chosen = self._nine_characters(call.call_id)
        else:
            chosen = self._distinct(call, notes)
        self._used.add(chosen)
        self._calls += 1
        return chosen

    def _distinct(self, call: Called, notes: Diagnostics) -> str:
        if call.call_id and call.call_id not in self._used:
            return call.call_id
        notes.repaired(f"{call.path}.call_id", "missing or used by an earlier call: renumbered")
        wanted = call.call_id or "call"
        return self._first_free(wanted, lambda number: f"{wanted}_{number}")

    def _nine_characters(self, call_id: str) -> str:
        if _ALNUM9.fullmatch(call_id) and call_id not in self._used:
            return call_id
        return self._first_free(call_id, lambda number: _nine_hex(f"{call_id}/{number}"))

    def _first_free(self, wanted: str, numbered: Callable[[int], str]) -> str:
        """Numbers that were given out are not tried again, so that a thread of equal ids stays cheap."""
        while True:
            self._repeats[wanted] += 1
            candidate = numbered(self._repeats[wanted] + 1)
            if candidate not in self._used:
                return candidate


def _nine_hex(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:9]
