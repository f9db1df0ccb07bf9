"""One answer being built: which item is open, which ones wait, and the events that say so.

One item is open at a time (LangChain cannot put interleaved items together). A message or a reasoning item ends when
something else starts. A call ends when something else starts and its arguments are one whole JSON value; until then
the others wait, in order of first appearance. Nothing in here reads a clock or makes up an id: both are handed in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bridge.errors import INCOMPLETE_TOOL_CALL, BridgeError
from bridge.plan.diagnostics import Diagnostics
from bridge.response.assemble import Response
from bridge.response.failure import failure
from bridge.response.finish import Outcome, outcome
from bridge.response.usage import added, response_usage
from bridge.spec import Usage
from bridge.stream.blocks import CallBlock, Item, MessageBlock, ReasoningBlock
from bridge.stream.calls import Call, CallTracker
from bridge.stream.deltas import (
    AnnotationDelta,
    ReasoningDelta,
    ReasoningDetailsDelta,
    RefusalDelta,
    SearchDelta,
    TextDelta,
    ToolCallDelta,
)
from bridge.stream.numbering import Event, Numbering
from bridge.tools.plan import ToolPlan

LONGEST_CALL_ID = 64  # contract section 2; what an upstream sends beyond that is no id that a client may send back
Spoken = TextDelta | RefusalDelta
Thought = ReasoningDelta | ReasoningDetailsDelta
Block = MessageBlock | ReasoningBlock | CallBlock


class Turn:
    """response     the Response object as it begins (assemble.new_response)
    new_id       prefix → a fresh id
    now          → Unix seconds
    seal         turns a reasoning payload into `encrypted_content`; None when the client did not ask for it
    raw          reasoning is shown as reasoning_text instead of a summary
    spent        tokens of earlier rounds for the same answer (output repair)
    """

    def __init__(
        self,
        response: Response,
        tools: ToolPlan,
        notes: Diagnostics,
        *,
        new_id: Callable[[str], str],
        now: Callable[[], int],
        seal: Callable[[Item], str] | None = None,
        raw: bool = False,
        spent: Usage | None = None,
    ) -> None:
        self.response = response
        self.usage: Usage | None = None
        self.finish_reason: str | None = None
        self.ended = False  # the upstream said that it was done
        self.output: list[Item] = []
        self._numbers = Numbering()
        self._tools = tools
        self._notes = notes
        self._new_id = new_id
        self._now = now
        self._seal = seal
        self._raw = raw
        self._spent = spent
        self._tracker = CallTracker()
        self._call_ids: dict[int, str] = {}  # of announced calls, by number
        self._dropped: set[int] = set()
        self._open: Block | None = None
        self._waiting: dict[str | int, list[Any]] = {}  # "message", "reasoning" or a call's number → its deltas
        self._details: list[dict[str, Any]] = []  # reasoning details that came while another item was open
        self._citations: list[AnnotationDelta] = []  # that came before the message they belong to

    # Life cycle

    def begin(self) -> list[Event]:
        return [self._lifecycle("response.created"), self._lifecycle("response.in_progress")]

    def still_in_progress(self) -> Event:
        """One more in_progress event: a client's idle timer that ignores comments hears it."""
        return self._lifecycle("response.in_progress")

    def end(self) -> list[Event]:
        """Close what is open and give the terminal event. Raises BridgeError or ProviderError for a failed end."""
        cut_call = any(call.scan.read(call.arguments).unfinished for call in self._tracker.calls)
        answered = bool(self.output or self._open or self._waiting or self._tracker.calls)
        result = outcome(self.finish_reason, self.ended, answered, cut_call)
        self._check_names(result)
        events = self._close_all(result)
        self._finish_response(result)
        return [*events, self._lifecycle(f"response.{result.status}")]

    def next_round(self) -> Outcome:
        """Forget how this upstream answer ended, but not what it cost: another one goes on with the same response.

        Gives how it ended. Raises BridgeError or ProviderError for a failed end.
        """
        ended = outcome(self.finish_reason, self.ended, True, False)
        self._spent, self.usage = self.total_usage, None
        self.finish_reason, self.ended = None, False
        return ended

    def fail(self, error: BaseException, instead_of: Event | None = None) -> Event:
        """The terminal event of a failed response; instead_of: one that was not sent, whose number it takes.

        An item that is still open gets no done event: a client would take it for whole; Codex would run half a call.
        """
        self._open = None
        self._waiting.clear()
        self.response = {
            **self.response,
            "status": "failed",
            "completed_at": None,
            "incomplete_details": None,
            "error": failure(error),
            "output": self.output,
            "usage": response_usage(self.total_usage),
        }
        if instead_of is not None:
            return {**instead_of, "type": "response.failed", "response": self.response}
        return self._lifecycle("response.failed")

    @property
    def total_usage(self) -> Usage | None:
        return added(self._spent, self.usage)

    # Deltas

    def speak(self, delta: Spoken) -> list[Event]:
        block = self._open
        if type(block) is MessageBlock and not self._waiting:  # the usual case: nothing to decide
            if type(delta) is TextDelta:
                return block.text(delta.text, delta.logprobs)
            return self._spoken(block, delta)
        return self._give("message", delta)

    def think(self, delta: Thought) -> list[Event]:
        block = self._open
        if type(block) is ReasoningBlock and not self._waiting:
            return self._thought(block, delta)
        if isinstance(delta, ReasoningDetailsDelta) and block is not None:
            self._details.extend(delta.details)  # signatures that trail the text must not tear it apart
            return []
        return self._give("reasoning", delta)

    def cite(self, delta: AnnotationDelta) -> list[Event]:
        if isinstance(self._open, MessageBlock):
            return self._open.annotate(delta.annotation)
        self._citations.append(delta)
        return []

    def search(self, delta: SearchDelta) -> list[Event]:
        """A search is over when it is told: its item is whole at once. One told in mid-text follows the text."""
        self._waiting.setdefault(f"search:{len(self._waiting)}", []).append(delta)
        return [] if isinstance(self._open, MessageBlock) else self._promote()

    def call(self, delta: ToolCallDelta) -> list[Event]:
        call = self._tracker.assign(delta)
        if call.number in self._dropped:
            return []
        block = self._open
        if isinstance(block, CallBlock) and block.call is call:
            events = block.advance()
            return events + self._promote() if self._waiting and call.complete else events
        if call.number in self._waiting:
            return []
        if call.number in self._call_ids:
            if delta.arguments.strip():
                self._notes.repaired("output", f"the upstream went on with a call that was already whole: {call.name}")
            return []
        if not call.name or not (call.upstream_id or call.arguments):
            return []  # what identifies the item is not known yet
        if not self._admitted(call):
            return []
        return self._give(call.number, None)

    def give(self, prefix: str, fields: Item) -> list[Event]:
        """An item that the gateway made, whole at once."""
        item = {"id": self._new_id(prefix), **fields}
        self.output.append(item)
        place = self._numbers.next_output_index()
        return [
            self._numbers.event("response.output_item.added", output_index=place, item=item),
            self._numbers.event("response.output_item.done", output_index=place, item=item),
        ]

    # Order of items

    def _give(self, key: str | int, delta: Any) -> list[Event]:
        """Hand a delta to the item it belongs to: now, if that one is or can be open, else later."""
        self._waiting.setdefault(key, []).append(delta)
        return self._promote()

    def _promote(self) -> list[Event]:
        """Open the waiting items as long as the open one is done."""
        events: list[Event] = []
        while self._waiting and self._can_close():
            if self._open is not None:
                events += self._close("completed")
            key = next(iter(self._waiting))
            events += self._start(key, self._waiting.pop(key))
        return events

    def _can_close(self) -> bool:
        return not isinstance(self._open, CallBlock) or self._open.call.complete

    def _start(self, key: str | int, deltas: list[Any]) -> list[Event]:
        if key == "message":
            message = MessageBlock(self._numbers, self._new_id("msg"))
            self._open = message
            events = message.open() + [event for delta in deltas for event in self._spoken(message, delta)]
            events += [event for citation in self._citations for event in message.annotate(citation.annotation)]
            self._citations = []
            return events
        if key == "reasoning":
            reasoning = ReasoningBlock(self._numbers, self._new_id("rs"), self._raw, self._seal)
            self._open = reasoning
            return reasoning.open() + [event for delta in deltas for event in self._thought(reasoning, delta)]
        if isinstance(key, str):
            return self._searched(deltas[0])
        call = self._tracker.calls[key]
        identity = self._tools.identities.restored(call.name)
        block = CallBlock(self._numbers, call, identity, self._call_ids[call.number], self._new_id)
        self._open = block
        return block.open() + block.advance()

    def _close(self, status: str) -> list[Event]:
        assert self._open is not None
        events, item = self._open.close(status)
        self.output.append(item)
        self._open = None
        return events

    def _close_all(self, result: Outcome) -> list[Event]:
        """The rest of the items, the last one incomplete if the answer is; so is a call that broke off before it."""
        events: list[Event] = []
        if self._details:
            self._waiting["reasoning"] = [
                ReasoningDetailsDelta(tuple(self._details)),
                *self._waiting.pop("reasoning", []),
            ]
        while self._open is not None or self._waiting:
            if self._open is not None:
                broken = isinstance(self._open, CallBlock) and self._open.call.scan.unfinished
                last = result.status == "incomplete" and not self._waiting
                events += self._close("incomplete" if broken or last else "completed")
            if self._waiting:
                key = next(iter(self._waiting))
                events += self._start(key, self._waiting.pop(key))
        return events

    # Calls

    def _admitted(self, call: Call) -> bool:
        """Whether the client may see this call; gives it its call_id. allowed_tools and one-call limits hold here,
        whatever the upstream made of them."""
        allowed = self._tools.allowed
        refusal = None
        if allowed is not None and call.name not in allowed:
            refusal = f"the model called {call.name}, which tool_choice does not allow: the call is dropped"
        elif self._tools.single_call and self._call_ids:
            refusal = f"parallel_tool_calls is false: the further call of {call.name} is dropped"
        if refusal:
            self._dropped.add(call.number)
            self._notes.repaired("output", refusal)
            return False
        call_id = call.upstream_id
        if not 0 < len(call_id) <= LONGEST_CALL_ID or call_id in self._call_ids.values():
            call_id = self._new_id("call")
        self._call_ids[call.number] = call_id
        return True

    def _check_names(self, result: Outcome) -> None:
        """Calls that were never announced: without arguments so far, or without a name."""
        for call in self._tracker.calls:
            if call.number in self._call_ids or call.number in self._dropped:
                continue
            if call.name:
                if self._admitted(call):
                    self._waiting[call.number] = [None]
            elif result.status == "completed":
                raise BridgeError(INCOMPLETE_TOOL_CALL, "the upstream streamed a tool call without a name")

    def called(self) -> bool:
        """Whether the answer holds a call, as a forced tool_choice demands."""
        return bool(self._call_ids)

    # Events

    def _spoken(self, block: MessageBlock, delta: Spoken) -> list[Event]:
        if isinstance(delta, TextDelta):
            return block.text(delta.text, delta.logprobs)
        return block.refusal(delta.text)

    def _thought(self, block: ReasoningBlock, delta: Thought) -> list[Event]:
        return block.think(delta.text) if isinstance(delta, ReasoningDelta) else block.keep(delta.details)

    def _searched(self, delta: SearchDelta) -> list[Event]:
        item = {
            "id": self._new_id("ws"),
            "type": "web_search_call",
            "status": "completed",
            "action": {
                "type": "search",
                "query": delta.query,
                "sources": [{"type": "url", "url": url} for url in delta.urls],
            },
        }
        self.output.append(item)
        place = self._numbers.next_output_index()
        steps = ("in_progress", "searching", "completed")
        added = self._numbers.event(
            "response.output_item.added", output_index=place, item={**item, "status": "in_progress"}
        )
        told = [
            self._numbers.event(f"response.web_search_call.{step}", output_index=place, item_id=item["id"])
            for step in steps
        ]
        return [added, *told, self._numbers.event("response.output_item.done", output_index=place, item=item)]

    def _finish_response(self, result: Outcome) -> None:
        completed = result.status == "completed"
        self.response = {
            **self.response,
            "status": result.status,
            "completed_at": self._now() if completed else None,
            "incomplete_details": None if completed else {"reason": result.incomplete_reason},
            "output": self.output,
            "usage": response_usage(self.total_usage),
        }

    def _lifecycle(self, kind: str) -> Event:
        return self._numbers.event(kind, response=self.response)
