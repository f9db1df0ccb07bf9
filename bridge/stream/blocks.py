"""Output items while they are built. Each block gives the events of its own item, in the order of contract section 4.

Text is kept in a list and joined once, when the item is done: the work per delta does not grow with the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bridge.stream.calls import Call
from bridge.stream.custom_input import CustomInput
from bridge.stream.numbering import Event, Numbering
from bridge.tools.identity import ToolIdentity
from bridge.tools.restore import restore_call

Item = dict[str, Any]


class MessageBlock:
    """An assistant message: text parts and refusal parts in the order in which the model gave them."""

    def __init__(self, numbers: Numbering, item_id: str) -> None:
        self._numbers = numbers
        self._id = item_id
        self._output_index = numbers.next_output_index()
        self._parts: list[dict[str, Any]] = []
        self._kind = ""  # of the open part: output_text, refusal, or "" for none
        self._texts: list[str] = []
        self._logprobs: list[dict[str, Any]] = []
        self._annotations: list[dict[str, Any]] = []

    def open(self) -> list[Event]:
        return [self._numbers.event("response.output_item.added", output_index=self._output_index, item=self._item([]))]

    def text(self, text: str, logprobs: tuple[dict[str, Any], ...] = ()) -> list[Event]:
        events = self._switch("output_text") if self._kind != "output_text" else []
        self._texts.append(text)
        if logprobs:
            self._logprobs.extend(logprobs)
        events.append(
            {
                "type": "response.output_text.delta",
                "sequence_number": self._numbers.next_sequence(),
                "item_id": self._id,
                "output_index": self._output_index,
                "content_index": len(self._parts),
                "delta": text,
                "logprobs": list(logprobs),
            }
        )
        return events

    def refusal(self, text: str) -> list[Event]:
        events = self._switch("refusal") if self._kind != "refusal" else []
        self._texts.append(text)
        events.append(self._part_event("response.refusal.delta", delta=text))
        return events

    def annotate(self, annotation: dict[str, Any]) -> list[Event]:
        events = self._switch("output_text") if self._kind != "output_text" else []
        index = len(self._annotations)
        self._annotations.append(annotation)
        event = self._part_event("response.output_text.annotation.added", annotation_index=index, annotation=annotation)
        return [*events, event]

    def close(self, status: str) -> tuple[list[Event], Item]:
        events = self._close_part() if self._kind else []
        item = self._item(self._parts, status)
        done = self._numbers.event("response.output_item.done", output_index=self._output_index, item=item)
        return [*events, done], item

    def _item(self, content: list[dict[str, Any]], status: str = "in_progress") -> Item:
        return {"id": self._id, "type": "message", "status": status, "role": "assistant", "content": content}

    def _part_event(self, kind: str, **fields: Any) -> Event:
        return self._numbers.event(
            kind, item_id=self._id, output_index=self._output_index, content_index=len(self._parts), **fields
        )

    def _switch(self, kind: str) -> list[Event]:
        events = self._close_part() if self._kind else []
        self._kind = kind
        empty: dict[str, Any] = {"type": "refusal", "refusal": ""}
        if kind == "output_text":
            empty = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        return [*events, self._part_event("response.content_part.added", part=empty)]

    def _close_part(self) -> list[Event]:
        text = "".join(self._texts)
        if self._kind == "output_text":
            part = {"type": "output_text", "text": text, "annotations": self._annotations, "logprobs": self._logprobs}
            done = self._part_event("response.output_text.done", text=text, logprobs=self._logprobs)
        else:
            part = {"type": "refusal", "refusal": text}
            done = self._part_event("response.refusal.done", refusal=text)
        events = [done, self._part_event("response.content_part.done", part=part)]
        self._parts.append(part)
        self._kind, self._texts, self._logprobs, self._annotations = "", [], [], []
        return events


class ReasoningBlock:
    """A reasoning item, shown as one summary part, or as raw reasoning text where that is asked for.

    The summary is the default because its events are in both authorities' lists (contract section 5).
    """

    def __init__(self, numbers: Numbering, item_id: str, raw: bool, seal: Callable[[Item], str] | None) -> None:
        self._numbers = numbers
        self._id = item_id
        self._output_index = numbers.next_output_index()
        self._raw = raw
        self._seal = seal
        self._texts: list[str] = []
        self._details: list[dict[str, Any]] = []
        self._index = "content_index" if raw else "summary_index"
        self._name = "reasoning" if raw else "reasoning_summary"

    def open(self) -> list[Event]:
        item = {"id": self._id, "type": "reasoning", "status": "in_progress", "summary": []}
        return [self._numbers.event("response.output_item.added", output_index=self._output_index, item=item)]

    def think(self, text: str) -> list[Event]:
        events = [] if self._texts else [self._part_event("added", self._part(""))]
        self._texts.append(text)
        events.append(self._event(f"response.{self._name}_text.delta", delta=text))
        return events

    def keep(self, details: tuple[dict[str, Any], ...]) -> list[Event]:
        self._details.extend(details)
        return []

    def close(self, status: str) -> tuple[list[Event], Item]:
        events: list[Event] = []
        item: Item = {"id": self._id, "type": "reasoning", "status": status, "summary": []}
        text = "".join(self._texts)
        if self._texts:
            part = self._part(text)
            events = [self._event(f"response.{self._name}_text.done", text=text), self._part_event("done", part)]
            item["content" if self._raw else "summary"] = [part]
        if self._seal is not None:
            item["encrypted_content"] = self._seal({"text": text, "details": self._details})
        elif self._details:
            item["reasoning_details"] = self._details
        done = self._numbers.event("response.output_item.done", output_index=self._output_index, item=item)
        return [*events, done], item

    def _part(self, text: str) -> dict[str, Any]:
        return {"type": "reasoning_text" if self._raw else "summary_text", "text": text}

    def _part_event(self, what: str, part: dict[str, Any]) -> Event:
        kind = "content_part" if self._raw else "reasoning_summary_part"
        return self._event(f"response.{kind}.{what}", part=part)

    def _event(self, kind: str, **fields: Any) -> Event:
        place = {"item_id": self._id, "output_index": self._output_index, self._index: 0}
        return self._numbers.event(kind, **place, **fields)


class CallBlock:
    """A call of the model. Its item's type, ids and name are final when it is announced (contract 4.2 and 4.7).

    function  arguments are passed on as they come
    custom    the input is decoded out of the arguments as they come
    others    nothing is said before the arguments are whole: only then is the item's type certain
    """

    def __init__(
        self, numbers: Numbering, call: Call, identity: ToolIdentity | None, call_id: str, new_id: Callable[[str], str]
    ) -> None:
        self.call = call
        self._numbers = numbers
        self._identity = identity
        self._call_id = call_id
        self._new_id = new_id
        self._kind = identity.type if identity else "function"
        self._read = 0  # fragments of the call's arguments that were looked at
        self._input = CustomInput()
        self._pieces: list[str] = []
        self._streams = self._kind in ("function", "custom")
        self._item: Item = {}
        self._output_index = -1

    def open(self) -> list[Event]:
        if not self._streams:
            return []
        if self._kind == "custom":
            return self._announce({"type": "custom_tool_call", **self._names(), "input": ""}, "ctc")
        return self._announce({"type": "function_call", **self._names(), "arguments": ""}, "fc")

    def advance(self) -> list[Event]:
        """The deltas of the arguments that arrived since the last time."""
        fresh = self.call.arguments[self._read :]
        self._read = len(self.call.arguments)
        if not self._streams:
            return []
        if self._kind == "function":
            return [self._delta(piece) for piece in fresh]
        return [self._delta(piece) for piece in map(self._input.feed, fresh) if piece]

    def close(self, status: str) -> tuple[list[Event], Item]:
        if not self._streams:
            return self._close_restored(status)
        events = self.advance()
        if self._kind == "custom":
            rest = self._input.close()
            events += [self._delta(rest)] if rest else []
            text, field, event = "".join(self._pieces), "input", "response.custom_tool_call_input.done"
        else:
            if status == "completed" and not "".join(self.call.arguments).strip():
                events.append(self._delta("{}"))  # clients parse the arguments: no argument is an empty object
            text, field, event = "".join(self._pieces), "arguments", "response.function_call_arguments.done"
        item = {**self._item, field: text, "status": status}
        place = {"item_id": item["id"], "output_index": self._output_index}
        events.append(self._numbers.event(event, **place, **{field: text}))
        events.append(self._numbers.event("response.output_item.done", output_index=self._output_index, item=item))
        return events, item

    def _close_restored(self, status: str) -> tuple[list[Event], Item]:
        assert self._identity is not None  # only declared tools are held back
        arguments = "".join(self.call.arguments)
        fields = restore_call(self._identity, arguments) if status == "completed" else None
        if fields is None:  # cut, or not understood: a plain function call tells the client all there is
            self._kind, self._streams, self._read = "function", True, 0
            events = self.open()
            rest, item = self.close(status)
            return events + rest, item
        events = self._announce({**fields, "call_id": self._call_id}, PREFIXES[fields["type"]])
        item = {**self._item, "status": status}
        done = self._numbers.event("response.output_item.done", output_index=self._output_index, item=item)
        return [*events, done], item

    def _names(self) -> dict[str, str]:
        if self._identity is None:
            return {"call_id": self._call_id, "name": self.call.name}
        names = {"call_id": self._call_id, "name": self._identity.name}
        if self._identity.namespace is not None:
            names["namespace"] = self._identity.namespace
        return names

    def _announce(self, fields: Item, prefix: str) -> list[Event]:
        self._item = {"id": self._new_id(prefix), **fields, "status": "in_progress"}
        self._output_index = self._numbers.next_output_index()
        added = self._numbers.event("response.output_item.added", output_index=self._output_index, item=self._item)
        return [added]

    def _delta(self, piece: str) -> Event:
        self._pieces.append(piece)
        kind = "custom_tool_call_input" if self._kind == "custom" else "function_call_arguments"
        return {
            "type": f"response.{kind}.delta",
            "sequence_number": self._numbers.next_sequence(),
            "item_id": self._item["id"],
            "output_index": self._output_index,
            "delta": piece,
        }


PREFIXES = {"shell_call": "sh", "local_shell_call": "lsh", "apply_patch_call": "apc", "tool_search_call": "tsc"}
