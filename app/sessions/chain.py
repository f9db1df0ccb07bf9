"""Chain resolution: from a previous_response_id to the conversation's turns, oldest first, and their items.

Nothing is ever left out in silence: a chain that is not whole is an error, never half a history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bridge.errors import (
    CHAIN_CYCLE_DETECTED,
    CHAIN_DEPTH_EXCEEDED,
    CHAIN_NOT_FOUND,
    CHAIN_UNAVAILABLE,
    SessionError,
)

from .session import Item, RequestSnapshot, StoredResponseSession
from .settings import InstructionsRule

DEFAULT_MAX_DEPTH = 64  # turns


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseSessionSnapshot:
    """A resolved chain: its turns, oldest first, and the items they add up to."""

    previous_response_id: str
    turns: list[StoredResponseSession]

    @property
    def input_items(self) -> list[Item]:
        """Each turn's instructions, input and output, with nothing left out; see `flatten_turns` for other rules."""
        return [item for turn in self.turns for item in (*request_history_items(turn.request), *_output(turn))]


def resolve_response_session_chain(
    previous_response_id: str,
    get: Callable[[str], StoredResponseSession | None],
    max_depth: int = DEFAULT_MAX_DEPTH,
    include_incomplete: bool = False,
) -> ResponseSessionSnapshot:
    """Walk from the newest turn to the oldest, or to one that compacted what was before it, and check each link.

    get                 one stored turn by its id, None when there is none (or none that this caller may see)
    max_depth           turns at most
    include_incomplete  let the chain hold incomplete turns; failed and unfinished ones can never be continued

    Raises SessionError, at each turn in this order: CHAIN_DEPTH_EXCEEDED, CHAIN_CYCLE_DETECTED, CHAIN_NOT_FOUND,
    CHAIN_UNAVAILABLE. Its context has the id where the walk stopped and the one that was asked for.
    """
    turns: list[StoredResponseSession] = []
    visited: set[str] = set()

    def broken(code: str, problem: str) -> SessionError:
        return SessionError(
            code,
            f"Previous response with id '{_shown(previous_response_id)}' {problem}.",
            param="previous_response_id",
            responseId=response_id,
            previousResponseId=previous_response_id,
        )

    response_id: str | None = previous_response_id
    while response_id is not None:
        if len(turns) >= max_depth:
            raise broken(CHAIN_DEPTH_EXCEEDED, f"cannot be continued: it has {max_depth} turns, the most allowed")
        if response_id in visited:
            raise broken(CHAIN_CYCLE_DETECTED, "cannot be continued: its history leads back to itself")
        visited.add(response_id)
        turn = get(response_id)
        if turn is None:
            if response_id == previous_response_id:
                raise broken(CHAIN_NOT_FOUND, "not found")
            raise broken(CHAIN_NOT_FOUND, f"cannot be continued: its history lacks '{_shown(response_id)}'")
        if turn.status != "completed" and not (include_incomplete and turn.status == "incomplete"):
            raise broken(CHAIN_UNAVAILABLE, f"cannot be continued: '{_shown(response_id)}' is {_shown(turn.status)}")
        turns.append(turn)
        if compaction_of(turn) is not None:
            break  # its output begins with all that the turns before it said
        response_id = turn.previous_response_id

    turns.reverse()
    return ResponseSessionSnapshot(previous_response_id=previous_response_id, turns=turns)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The items of a chain under one rule for instructions, and the instructions in effect after the last turn.

    A present request whose own instructions equal `instructions` need not say them again.
    """

    items: list[Item]
    instructions: str | None


def flatten_turns(turns: Iterable[StoredResponseSession], rule: InstructionsRule) -> History:
    """All items of `turns`, oldest first: each turn's instructions (by rule), its input, its output.

    replay   instructions stand at the head of their turn, unless the same are in effect already: repeating them would
             only lengthen the prompt, and leaving them out keeps its prefix the same from turn to turn
    current  stored instructions are left out; those of the present request are the caller's to add
    """
    items: list[Item] = []
    in_effect: str | None = None
    for turn in turns:
        compaction = compaction_of(turn)
        instructions = turn.request.get("instructions")
        if compaction is not None:  # its summary stands for everything before it, the turn's own input included
            items, in_effect = [], None
            instructions = instructions or turn.request.get("standing_instructions")
        if rule == "replay" and instructions and instructions != in_effect:
            items += instruction_items(instructions)
            in_effect = instructions
        if compaction is None:
            items += input_items(turn.request)
        items += _output(turn)[compaction or 0 :]
    return History(items=items, instructions=in_effect)


def compaction_of(turn: StoredResponseSession) -> int | None:
    """The place of the last compaction in a turn's output: what a conversation goes on from."""
    places = [place for place, item in enumerate(_output(turn)) if item.get("type") == "compaction"]
    return places[-1] if places else None


def request_history_items(request: RequestSnapshot) -> list[Item]:
    """What a request contributes to the history: instructions, then input."""
    return [*instruction_items(request.get("instructions")), *input_items(request)]


def instruction_items(instructions: str | None) -> list[Item]:
    """Instructions as a system message item; nothing for none or empty ones."""
    return [_message("system", instructions)] if instructions else []


def input_items(request: RequestSnapshot) -> list[Item]:
    """The input as items: a string is a user message, a list stands as it is, none is nothing."""
    given = request.get("input")
    if isinstance(given, str):
        return [_message("user", given)]
    return given or []


def _output(turn: StoredResponseSession) -> list[Item]:
    return turn.response["output"]


def _message(role: str, text: str) -> Item:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


def _shown(value: str) -> str:
    """A client's string, fit to stand in a message: short, and without what cannot be encoded."""
    return ascii(value)[1:-1][:80]
