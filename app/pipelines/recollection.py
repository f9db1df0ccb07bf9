"""Remembers what a model thought when it made its calls, for clients that send the calls back without it.

Kept sealed for `reasoning.memory` seconds in the session store, so that every worker and replica finds it. Nothing in
here fails a request: without a memory the model is asked as the client asked.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bridge.errors import SessionError
from bridge.request.entries import Thought
from bridge.request.recollection import call_name, calls_without_reasoning, reasoning_by_call
from bridge.spec import Capabilities

from ..context import ResponsesContext
from ..logs import fields
from ..sessions.session import Item

if TYPE_CHECKING:
    from ..gateway import Gateway

log = logging.getLogger("godex")


def remember_reasoning(context: ResponsesContext, output: Iterable[Item]) -> None:
    gateway, owner = context.gateway, context.caller.owner
    if not _in_use(gateway, context.plan.caps):
        return
    try:
        found = reasoning_by_call(output, lambda envelope: gateway.sealer.unseal(envelope, owner))
        if found is not None:
            thought, calls = found
            sealed = gateway.sealer.seal({"text": thought.text, "details": thought.details}, owner).encode()
            names = {_name(owner, call): sealed for call in calls}
            gateway.store.remember(names, gateway.config.reasoning.memory)
    except SessionError as error:
        log.warning("reasoning not remembered", extra=fields(error.to_log_entry(), context.log_fields()))


def recall_reasoning(gateway: Gateway, items: Iterable[Item], caps: Capabilities, owner: str) -> dict[str, Thought]:
    """call_id → reasoning of calls in `items` that came back without. The store is asked only if there are any."""
    if not _in_use(gateway, caps):
        return {}
    try:
        calls = calls_without_reasoning(items, lambda envelope: gateway.sealer.unseal(envelope, owner))
        names = {_name(owner, call): call["call_id"] for call in calls if call.get("call_id")}
        found = gateway.store.recall(names) if names else {}
        payloads = {names[name]: gateway.sealer.unseal(sealed.decode(), owner) for name, sealed in found.items()}
    except SessionError as error:
        log.warning("reasoning not recalled", extra=fields(error.to_log_entry()))
        return {}
    return {call_id: Thought(payload["text"], payload["details"]) for call_id, payload in payloads.items() if payload}


def _in_use(gateway: Gateway, caps: Capabilities) -> bool:
    return caps.reasoning_replay != "never" and gateway.config.reasoning.memory > 0


def _name(owner: str, call: Mapping[str, Any]) -> str:
    return hashlib.sha256(owner.encode() + b"\0" + call_name(call)).hexdigest()
