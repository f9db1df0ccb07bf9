"""Every expected failure, by domain.

    GodeXError
      ├── ServerError      the edge: bodies, keys, limits, configuration
      ├── BridgeError      the kernel: what cannot be planned, built or restored
      ├── ProviderError    the upstream: what it refused, broke or never said
      └── SessionError     stored responses: chains and stores

The raiser names what is wrong with a code, "<domain>.<subject>.<what>"; only `app/http/errors.py` knows which HTTP
status that is. Anything else that is raised is a bug and stays unexpected.
"""

from __future__ import annotations

from typing import Any, Final

# server: what arrived at the edge
INVALID_JSON: Final = "server.request.invalid_json"
MISSING_MODEL: Final = "server.request.missing_model"
INVALID_PARAMETER: Final = "server.request.invalid_parameter"
BODY_TOO_LARGE: Final = "server.request.too_large"
REQUEST_TIMEOUT: Final = "server.request.timeout"
UNSUPPORTED_ENCODING: Final = "server.request.unsupported_encoding"
INVALID_API_KEY: Final = "server.auth.invalid_api_key"
RATE_LIMITED: Final = "server.limit.exceeded"
ROUTE_NOT_FOUND: Final = "server.route.not_found"
METHOD_NOT_ALLOWED: Final = "server.route.method_not_allowed"
UPGRADE_REQUIRED: Final = "server.route.upgrade_required"
CONNECTION_LIMIT: Final = "server.websocket.connection_limit"
RESPONSE_NOT_FOUND: Final = "server.response.not_found"
CONVERSATION_NOT_FOUND: Final = "server.conversation.not_found"
CONVERSATION_ITEM_NOT_FOUND: Final = "server.conversation.item_not_found"
MODEL_NOT_FOUND: Final = "server.model.not_found"
PROVIDER_NOT_REGISTERED: Final = "server.provider.not_registered"
CONFIG_INVALID: Final = "server.config.invalid"
CLIENT_GONE: Final = "server.client.gone"
DRAINING: Final = "server.process.draining"
INTERNAL: Final = "server.internal.error"

# bridge: what the kernel refuses or finds broken
UNSUPPORTED_PARAMETER: Final = "bridge.request.unsupported_parameter"
UNSUPPORTED_INPUT: Final = "bridge.request.unsupported_input"
UNSUPPORTED_TOOL: Final = "bridge.request.unsupported_tool"
INVALID_REQUEST: Final = "bridge.request.invalid"
INVALID_TRANSITION: Final = "bridge.stream.invalid_transition"
DELTA_AFTER_TERMINAL: Final = "bridge.stream.delta_after_terminal"
INCOMPLETE_TOOL_CALL: Final = "bridge.stream.incomplete_tool_call"
MISSING_TERMINAL: Final = "bridge.stream.missing_terminal"
OUTPUT_INVALID_JSON: Final = "bridge.output.invalid_json"
OUTPUT_SCHEMA_MISMATCH: Final = "bridge.output.schema_mismatch"
TOOL_NOT_ALLOWED: Final = "bridge.output.tool_not_allowed"

# provider: what the upstream did
UPSTREAM_TIMEOUT: Final = "provider.upstream.timeout"
UPSTREAM_RATE_LIMIT: Final = "provider.upstream.rate_limit"
UPSTREAM_OVERLOADED: Final = "provider.upstream.overloaded"
UPSTREAM_SERVER_ERROR: Final = "provider.upstream.server_error"
UPSTREAM_UNREACHABLE: Final = "provider.upstream.unreachable"
UPSTREAM_CUT: Final = "provider.upstream.cut"
UPSTREAM_INVALID_RESPONSE: Final = "provider.upstream.invalid_response"
UPSTREAM_BAD_REQUEST: Final = "provider.upstream.bad_request"
UPSTREAM_CONTEXT_LENGTH: Final = "provider.upstream.context_length"
UPSTREAM_AUTHENTICATION: Final = "provider.upstream.authentication"
UPSTREAM_PERMISSION: Final = "provider.upstream.permission"
UPSTREAM_QUOTA: Final = "provider.upstream.insufficient_quota"
UPSTREAM_MODEL_NOT_FOUND: Final = "provider.upstream.model_not_found"
UPSTREAM_CONTENT_FILTER: Final = "provider.upstream.content_filter"
UPSTREAM_ERROR: Final = "provider.upstream.error"

# session: chains and stores
CHAIN_NOT_FOUND: Final = "session.chain.not_found"
CHAIN_CYCLE_DETECTED: Final = "session.chain.cycle_detected"
CHAIN_DEPTH_EXCEEDED: Final = "session.chain.depth_exceeded"
CHAIN_UNAVAILABLE: Final = "session.chain.unavailable"
STORE_CONFLICT: Final = "session.store.conflict"
STORE_UNAVAILABLE: Final = "session.store.unavailable"


class GodeXError(Exception):
    """An expected failure.

    code         one of the constants above
    message      for the client: says what is wrong and, where possible, what to do; never a secret
    param        the request field at fault, as the client wrote its path ("input[2].role"), or None
    retry_after  whole seconds after which a repetition makes sense, or None
    client_code  the word OpenAI's clients know, where the raiser knows better than the table (an upstream's own code)
    context      facts for the log, never sent to the client
    """

    domain = "server"

    def __init__(
        self,
        code: str,
        message: str,
        *,
        param: str | None = None,
        retry_after: int | None = None,
        client_code: str | None = None,
        **context: Any,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.param = param
        self.retry_after = retry_after
        self.client_code = client_code
        self.context = context

    def to_log_entry(self) -> dict[str, Any]:
        """One flat record for a structured log: the error's own fields, then its context."""
        return {
            "error_type": type(self).__name__,
            "domain": self.domain,
            "code": self.code,
            "message": self.message,
            "param": self.param,
            **self.context,
        }


class ServerError(GodeXError):
    domain = "server"


class BridgeError(GodeXError):
    domain = "bridge"


class ProviderError(GodeXError):
    """Context that the transport gives: provider, and, where there was an answer, status (HTTP)."""

    domain = "provider"


class SessionError(GodeXError):
    """Context that chains and stores give: responseId and previousResponseId (the seeds' spelling)."""

    domain = "session"
