"""Everything about a request that is decided before the upstream is asked: model, conversation, plan, chat request."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bridge.errors import INVALID_PARAMETER, ServerError
from bridge.plan.diagnostics import Diagnostics
from bridge.request.build import build_chat_request, plan_request
from bridge.stream.compaction import asks_for_compaction, summary_items

from ..context import Caller, ResponsesContext
from ..resolver import Target
from ..sessions.chain import flatten_turns, input_items, instruction_items
from ..sessions.ids import new_response_id
from ..sessions.session import StoredResponseSession

if TYPE_CHECKING:
    from ..gateway import Gateway

Item = dict[str, Any]

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
    items, first_input = conversation(gateway, request, caller, known)
    notes = Diagnostics(strict=strict or gateway.config.compat.strict)
    asked, compacts = request, asks_for_compaction(items[first_input:])
    if compacts:  # the model is asked for a summary, and for nothing that the answer to the client would have needed
        asked = {name: value for name, value in request.items() if name not in ANSWER_FIELDS}
        items = summary_items(items)
    plan = plan_request(asked, [] if compacts else items, caps, notes)
    chat = build_chat_request(
        asked,
        items,
        plan,
        model=target.model,
        first_input=first_input,
        unseal=lambda envelope: gateway.sealer.unseal(envelope, caller.owner),
        unknown_items=gateway.config.input.unknown_items,
    )
    if not chat["messages"]:
        raise ServerError(INVALID_PARAMETER, "input holds nothing to answer", param="input")
    return ResponsesContext(
        gateway=gateway,
        caller=caller,
        request=request,
        request_id=request_id,
        response_id=new_response_id(request.get("previous_response_id")),
        target=target,
        provider=provider,
        plan=plan,
        chat=provider.spec.patch_request(chat),
        stored=request.get("store") is not False,
        wants_report=wants_report or gateway.config.diagnostics,
        compacts=compacts,
        created_at=int(time.time()),
        started=started,
    )


def conversation(
    gateway: Gateway,
    request: dict[str, Any],
    caller: Caller,
    known: Mapping[str, StoredResponseSession] | None = None,
) -> tuple[list[Item], int]:
    """(items, index of the first one that is this request's own input): history, instructions, input."""
    rule = gateway.config.session.instructions
    previous = request.get("previous_response_id")
    own = input_items(request)  # type: ignore[arg-type]  # a validated body has the snapshot's fields
    if previous is None:
        if request.get("input") is None:
            raise ServerError(INVALID_PARAMETER, "input is required", param="input")
        items, instructions = [], None
    else:
        chain = gateway.store.resolve_chain(
            previous,
            owner=caller.owner,
            max_depth=gateway.config.session.max_depth,
            include_incomplete=gateway.config.session.include_incomplete,
            known=known,
        )
        history = flatten_turns(chain.turns, rule)
        items, instructions = history.items, history.instructions
    present = instruction_items(request.get("instructions"))
    if rule == "current":
        items = [*present, *items]
    elif request.get("instructions") != instructions:  # those in effect are not said again: the prefix stays the same
        items = [*items, *present]
    return [*items, *own], len(items)
