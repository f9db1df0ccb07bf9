"""Everything about a request that is decided before the upstream is asked: model, conversation, plan, chat request."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bridge.errors import INVALID_PARAMETER, ServerError
from bridge.plan.compatibility import compaction_threshold
from bridge.plan.diagnostics import Diagnostics
from bridge.protocol.chat import ChatRequest
from bridge.request.build import Plan, build_chat_request, plan_request
from bridge.request.continuation import check_outputs
from bridge.request.items import superseded_by_compaction
from bridge.stream.compaction import asks_for_compaction, summary_items

from ..context import Caller, ResponsesContext
from ..resolver import Target
from ..sessions.ids import new_response_id
from ..sessions.session import Item, StoredResponseSession
from .compaction import is_due
from .history import History, read_history
from .recollection import recall_reasoning

if TYPE_CHECKING:
    from ..gateway import Gateway


ANSWER_FIELDS = frozenset({"tools", "tool_choice", "parallel_tool_calls", "text", "max_output_tokens", "top_logprobs"})


def prepare(
    gateway: Gateway,
    request: dict[str, Any],
    caller: Caller,
    *,
    request_id: str,
    strict: bool = False,
    wants_report: bool = False,
    known: Mapping[str, StoredResponseSession] | None = None,
    target: Target | None = None,
) -> ResponsesContext:
    """request: a validated body. strict: what would be degraded is refused. known: responses that the caller's
    connection remembers, stored or not. target: who answers; None = whom the request's model resolves to.

    Raises ServerError, BridgeError or SessionError for a request that cannot be answered; the upstream was not asked.
    """
    started = time.monotonic()
    target = target or gateway.resolver.resolve(request["model"])
    provider = gateway.provider(target.provider)
    caps = provider.spec.capabilities_for(target.model)
    history = read_history(gateway, request, caller, known)
    items, first_input = history.items, history.first_input
    if request.get("previous_response_id") is not None:
        check_outputs(items, first_input)
    notes = Diagnostics(strict=strict or gateway.config.compat.strict)
    if history.conversation_id is not None and request.get("store") is False:
        notes.ignored("conversation", "store is false: the turn is not added to the conversation", "info")
    management = request.get("context_management") or ()
    compacts = asks_for_compaction(items[first_input:])
    recalled = recall_reasoning(gateway, items, caps, caller.owner)

    def chat_request(asked: dict[str, Any], items: list[Item], plan: Plan) -> ChatRequest:
        chat = build_chat_request(
            asked,
            items,
            plan,
            model=target.model,
            first_input=first_input,
            unseal=lambda envelope: gateway.sealer.unseal(envelope, caller.owner),
            unknown_items=gateway.config.input.unknown_items,
            recalled=recalled,
            superseded=superseded_by_compaction(items) if management else 0,
        )
        return provider.spec.patch_request(chat)

    # Where the model is asked for a summary, it is asked for nothing that the answer to the client would have needed.
    for_summary = {name: value for name, value in request.items() if name not in ANSWER_FIELDS}
    if compacts:
        plan = plan_request(for_summary, [], caps, notes)
        chat = chat_request(for_summary, summary_items(items), plan)
    else:
        plan = plan_request(request, items, caps, notes)
        chat = chat_request(request, items, plan)
    if not chat["messages"]:
        raise ServerError(INVALID_PARAMETER, "input holds nothing to answer", param="input")
    summary_chat = None
    if not compacts and is_due(chat, compaction_threshold(management, caps)):
        summary_plan = plan_request(for_summary, [], caps, Diagnostics())
        summary_chat = chat_request(for_summary, summary_items(items), summary_plan)
    return ResponsesContext(
        gateway=gateway,
        caller=caller,
        request=_as_stored(request, history),
        request_id=request_id,
        response_id=new_response_id(request.get("previous_response_id")),
        target=target,
        provider=provider,
        plan=plan,
        chat=summary_chat or chat,
        full_chat=chat if summary_chat else None,
        stored=request.get("store") is not False,
        wants_report=wants_report or gateway.config.diagnostics,
        compacts=compacts,
        conversation_id=history.conversation_id,
        standing_instructions=history.standing,
        created_at=int(time.time()),
        started=started,
    )


def _as_stored(request: dict[str, Any], history: History) -> dict[str, Any]:
    """The body as later turns will need it: with the items themselves where the client only referred to them."""
    return {**request, "input": history.own} if isinstance(request.get("input"), list) else request
