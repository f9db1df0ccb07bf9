"""`truncation: auto`: a conversation that is too long for the model is shortened, and the model asked again."""

from __future__ import annotations

from bridge.request.estimate import estimate_tokens
from bridge.request.messages import strict_turns
from bridge.request.truncate import truncated

from ..context import ResponsesContext

# How much of the first estimate is left at each further try; at the last one all goes that may go.
SHARES = (0.7, 0.45, 0.2, 0.0)
FILLED = 0.9  # of the window, where it is known: the count is an estimate


def fit_window(context: ResponsesContext) -> None:
    """Shorten the conversation before the upstream is asked, where the model's window is known to be too small."""
    window = context.plan.caps.context_window
    if window is None or not _allowed(context):
        return
    estimate = estimate_tokens(context.chat)
    if estimate > window:
        asked = context.chat.get(context.plan.caps.token_limit_field) or 0
        _drop(context, estimate - FILLED * (window - min(asked, window / 2)))


def shorten(context: ResponsesContext) -> bool:
    """Drop more after a refusal for length. False when that is not allowed, or nothing more may go."""
    if not _allowed(context):
        return False
    estimate = estimate_tokens(context.chat)
    context.full_length = context.full_length or estimate
    while context.shortened < len(SHARES):
        share = SHARES[context.shortened]
        context.shortened += 1
        if _drop(context, estimate - share * context.full_length):
            return True
    return False


def _allowed(context: ResponsesContext) -> bool:
    return context.request.get("truncation") == "auto"


def _drop(context: ResponsesContext, excess: float) -> bool:
    messages = context.chat["messages"]
    kept = truncated(messages, excess)
    if len(kept) == len(messages):
        return False
    reason = f"too long for this model: {len(messages) - len(kept)} messages in the middle are left out"
    if context.plan.caps.strict_turns:  # a summary stays without the turn that followed it
        kept = strict_turns(kept)
    context.chat = {**context.chat, "messages": kept}
    context.notes.degraded("truncation", reason, "info")
    return True
