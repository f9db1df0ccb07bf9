"""What an upstream's end means: its finish reason, and whether it said that it was done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bridge.errors import MISSING_TERMINAL, UPSTREAM_CUT, UPSTREAM_SERVER_ERROR, BridgeError, ProviderError

Status = Literal["completed", "incomplete"]

_COMPLETED = "stop tool_calls tool_call function_call tool_use eos eos_token end_turn stop_sequence complete completed"
_LENGTH = "length max_tokens max_output_tokens max_completion_tokens model_length model_context_window_exceeded"
_FILTERED = "content_filter content-filter sensitive safety refusal prohibited_content recitation"

OUTCOMES: dict[str, tuple[Status, str | None]] = {
    **dict.fromkeys(_COMPLETED.split(), ("completed", None)),
    **dict.fromkeys(_LENGTH.split(), ("incomplete", "max_output_tokens")),
    **dict.fromkeys(_FILTERED.split(), ("incomplete", "content_filter")),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """incomplete_reason as in `incomplete_details.reason`, None when the status is completed."""

    status: Status
    incomplete_reason: str | None


def outcome(finish_reason: str | None, ended: bool, answered: bool, cut_call: bool) -> Outcome:
    """ended: the upstream said that it was done. answered: it gave at least one item. cut_call: the last call's
    arguments break off in the middle.

    Raises ProviderError for an end that is a failure: cut, without an answer, or with a reason such as network_error.
    """
    if finish_reason is None:
        if not ended or cut_call:
            raise ProviderError(UPSTREAM_CUT, "the upstream's answer broke off before it was complete")
        if not answered:
            raise BridgeError(MISSING_TERMINAL, "the upstream ended its stream without an answer")
        return Outcome("completed", None)  # seen: [DONE] without a finish reason after a whole answer
    known = OUTCOMES.get(finish_reason.lower())
    if known is None:
        raise ProviderError(UPSTREAM_SERVER_ERROR, f"the upstream stopped with reason {finish_reason!r}")
    if known[0] == "completed" and cut_call:
        return Outcome("incomplete", "max_output_tokens")  # seen: `tool_calls` hides that the length ran out
    return Outcome(*known)
