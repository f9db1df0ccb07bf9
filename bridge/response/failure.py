"""The `error` object of a failed response."""

from __future__ import annotations

from bridge import errors
from bridge.errors import GodeXError

# The SDK's list of codes has no word for most failures; the two words outside it are those on which Codex decides
# not to repeat the request (contract section 6, Codex wire notes).
CODES = {
    errors.UPSTREAM_RATE_LIMIT: "rate_limit_exceeded",
    errors.UPSTREAM_CONTEXT_LENGTH: "context_length_exceeded",
    errors.UPSTREAM_QUOTA: "insufficient_quota",
    errors.UPSTREAM_BAD_REQUEST: "invalid_prompt",
    errors.UPSTREAM_CONTENT_FILTER: "invalid_prompt",
}


def failure(error: BaseException) -> dict[str, str]:
    """{code, message} for `response.error`. An unexpected exception shows nothing of itself to the client."""
    if not isinstance(error, GodeXError):
        return {"code": "server_error", "message": "The gateway met an unexpected error; its log has the details."}
    message = error.message
    if error.code == errors.UPSTREAM_RATE_LIMIT and error.retry_after:
        message += f" Please try again in {error.retry_after}s."  # Codex reads the wait out of these words
    return {"code": CODES.get(error.code, "server_error"), "message": message}
