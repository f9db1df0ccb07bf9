"""What is kept of one response: snapshots of the request and of the Response object in the API's own shape.

Never chat messages: how items become messages is the kernel's business and may change under a stored conversation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict, cast

from . import json_lines

Item = dict[str, Any]


class RequestSnapshot(TypedDict, total=False):
    """The fields of a create call that a later turn, or a reader, may ask about. Null is the same as absent.

    standing_instructions: those in effect from earlier turns, of a turn that compacted these turns away
    """

    input: str | list[Item]
    instructions: str
    standing_instructions: str
    model: str
    tools: list[dict[str, Any]]
    tool_choice: str | dict[str, Any]
    parallel_tool_calls: bool
    reasoning: dict[str, Any]
    text: dict[str, Any]
    truncation: str


class ResponseSnapshot(TypedDict):
    output: list[Item]
    usage: dict[str, Any] | None
    error: dict[str, Any] | None
    incomplete_details: dict[str, Any] | None


@dataclass(slots=True, kw_only=True)  # not frozen: 64 of them are made for one deep chain, 4 µs less each
class StoredResponseSession:
    """One turn of a conversation.

    previous_response_id  the turn before it, None for the first
    created_at            Unix seconds, as in the Response object; completed_at likewise, None unless completed
    status                of the Response object
    request               `input`, `model` and instructions only: all that a chain needs (see `request_snapshot`)
    owner                 hash of the API key that made it; "" where the gateway is open
    rest                  JSON, not yet parsed: the Response object and the request as far as they are not above (see
                          `response_object`). A chain of 64 turns need not parse 64 lists of tools
    """

    id: str
    previous_response_id: str | None
    conversation_id: str | None
    created_at: int
    completed_at: int | None
    status: str
    request: RequestSnapshot
    response: ResponseSnapshot
    metadata: dict[str, Any]
    owner: str
    rest: bytes

    @property
    def output_text(self) -> str:
        """All output text in one string; derived, since the output is kept already."""
        return "".join(
            part["text"]
            for item in self.response["output"]
            if item.get("type") == "message"
            for part in item.get("content") or ()
            if part.get("type") == "output_text"
        )


_CHAIN_FIELDS = ("input", "instructions", "model")
_SETTING_FIELDS = ("tools", "tool_choice", "parallel_tool_calls", "reasoning", "text", "truncation")


def make_session(
    request: Mapping[str, Any], response: Mapping[str, Any], owner: str, standing_instructions: str | None = None
) -> StoredResponseSession:
    """The session of a create call that ended: its body and its terminal Response object.

    standing_instructions: as in RequestSnapshot.

    Nothing big is kept twice. What the Response object only repeats of the request (tools, a schema) stays in the
    Response object; output and instructions are taken out of it.
    """
    sent = {name: request[name] for name in (*_CHAIN_FIELDS, *_SETTING_FIELDS) if request.get(name) is not None}
    repeated = [name for name in _SETTING_FIELDS if name in sent and _repeats(sent[name], response.get(name))]
    held = {
        "output": response["output"],
        "usage": response.get("usage"),
        "error": response.get("error"),
        "incomplete_details": response.get("incomplete_details"),
        "metadata": response.get("metadata") or {},
        "instructions": sent.get("instructions"),
    }
    taken = [name for name in held if name in response and response[name] == held[name]]
    rest = {
        "response": {name: None if name in taken else value for name, value in response.items()},
        "taken": taken,
        "request": {name: sent[name] for name in _SETTING_FIELDS if name in sent and name not in repeated},
        "repeated": repeated,
    }
    chain_fields = {name: sent[name] for name in _CHAIN_FIELDS if name in sent}
    if standing_instructions:
        chain_fields["standing_instructions"] = standing_instructions
    conversation = response.get("conversation") or request.get("conversation")
    return StoredResponseSession(
        id=response["id"],
        previous_response_id=response.get("previous_response_id") or None,
        conversation_id=conversation.get("id") if isinstance(conversation, dict) else conversation,
        created_at=response["created_at"],
        completed_at=response.get("completed_at"),
        status=response["status"],
        request=cast(RequestSnapshot, chain_fields),
        response={
            "output": held["output"],
            "usage": held["usage"],
            "error": held["error"],
            "incomplete_details": held["incomplete_details"],
        },
        metadata=held["metadata"],
        owner=owner,
        rest=json_lines.dumps(rest),
    )


def response_object(session: StoredResponseSession) -> dict[str, Any]:
    """The Response object as the create call, or the terminal event, gave it: same fields, same order."""
    rest = json_lines.loads(session.rest)
    response: dict[str, Any] = rest["response"]
    held = {
        **session.response,
        "metadata": session.metadata,
        "instructions": session.request.get("instructions"),
    }
    for name in rest["taken"]:
        response[name] = held[name]
    return response


def request_snapshot(session: StoredResponseSession) -> RequestSnapshot:
    """The whole snapshot of the request. Where the Response object adds the API's defaults to a field, so does this."""
    rest = json_lines.loads(session.rest)
    repeated = {name: rest["response"][name] for name in rest["repeated"]}
    return cast(RequestSnapshot, {**session.request, **rest["request"], **repeated})


def _repeats(sent: Any, shown: Any) -> bool:
    """Whether `shown` says all that `sent` said; what it says beyond that are the API's own defaults."""
    if isinstance(sent, dict) and isinstance(shown, dict):
        return sent == shown or all(name in shown and _repeats(value, shown[name]) for name, value in sent.items())
    if isinstance(sent, list) and isinstance(shown, list):
        return sent == shown or (len(sent) == len(shown) and all(map(_repeats, sent, shown)))
    return type(sent) is type(shown) and bool(sent == shown)
