"""A session as bytes: two lines of JSON, first what a chain needs, then the rest.

The first line has a schema version, `v`. Readers ignore fields they do not know and take defaults for those that older
writers lacked, so that workers of two releases can share a store.
"""

from __future__ import annotations

from types import NoneType

from . import json_lines
from .session import StoredResponseSession, request_snapshot, response_object

SCHEMA_VERSION = 1

_STRING_OR_NONE = (str, NoneType)
_INPUT = (str, list, NoneType)


class CorruptRecord(ValueError):
    """These bytes are no session: cut, damaged, or something else's."""


def encode(session: StoredResponseSession) -> bytes:
    head = {
        "v": SCHEMA_VERSION,
        "id": session.id,
        "owner": session.owner,
        "previous_response_id": session.previous_response_id,
        "conversation_id": session.conversation_id,
        "created_at": session.created_at,
        "completed_at": session.completed_at,
        "status": session.status,
        "metadata": session.metadata,
        "request": session.request,
        "response": session.response,
    }
    return json_lines.dumps(head) + b"\n" + session.rest


def decode(record: bytes, *, check_rest: bool = False) -> StoredResponseSession:
    """Raises CorruptRecord. With `check_rest` also for damage in the second line, at the price of parsing it."""
    first, _, rest = record.partition(b"\n")
    try:
        head = json_lines.loads(first)
        request, response = head["request"], head["response"]
        session = StoredResponseSession(
            id=head["id"],
            previous_response_id=head["previous_response_id"],
            conversation_id=head.get("conversation_id"),
            created_at=head["created_at"],
            completed_at=head.get("completed_at"),
            status=head["status"],
            request=request,
            response={
                "output": response["output"],
                "usage": response.get("usage"),
                "error": response.get("error"),
                "incomplete_details": response.get("incomplete_details"),
            },
            metadata=head.get("metadata") or {},
            owner=head["owner"],
            rest=rest,
        )
        well_formed = (
            isinstance(session.id, str)
            and isinstance(session.previous_response_id, _STRING_OR_NONE)
            and isinstance(session.status, str)
            and isinstance(session.owner, str)
            and isinstance(request.get("input"), _INPUT)
            and isinstance(response["output"], list)
        )
        if not well_formed:
            raise TypeError("a field has another type than it should have")
        if check_rest:
            response_object(session)
            request_snapshot(session)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorruptRecord(f"{type(error).__name__}: {error}") from error
    return session
