"""What an upstream's refusal means: HTTP status, error object and headers → ProviderError with a domain code.

The one place that knows the wordings of all providers. Words (an error's code or type) are trusted before sentences,
and both before the status: overlong contexts come as 400, 413, 422 and 500, used-up quotas as 400, 402, 403 and 429.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from bridge import errors as codes
from bridge.errors import ProviderError
from bridge.spec import UpstreamFault
from providers.fault_words import READ_AT, SENTENCES, VAGUE, WORDS
from providers.json_text import parse_json
from providers.masking import mask
from providers.retry_after import seconds_to_wait

LONGEST_MESSAGE: Final = 2000  # characters of an upstream's words that reach a client
NO_HEADERS: Final[Mapping[str, str]] = {}

_BY_STATUS: Final[dict[int, str]] = {
    401: codes.UPSTREAM_AUTHENTICATION,
    402: codes.UPSTREAM_QUOTA,
    403: codes.UPSTREAM_PERMISSION,
    408: codes.UPSTREAM_TIMEOUT,
    409: codes.UPSTREAM_ERROR,
    425: codes.UPSTREAM_ERROR,
    429: codes.UPSTREAM_RATE_LIMIT,
    503: codes.UPSTREAM_OVERLOADED,
    504: codes.UPSTREAM_TIMEOUT,
    524: codes.UPSTREAM_TIMEOUT,
    529: codes.UPSTREAM_OVERLOADED,
}
# The words that OpenAI's clients know, where the upstream's own word may be another.
_CLIENT_CODES: Final[dict[str, str]] = {
    codes.UPSTREAM_CONTEXT_LENGTH: "context_length_exceeded",
    codes.UPSTREAM_QUOTA: "insufficient_quota",
    codes.UPSTREAM_AUTHENTICATION: "provider_authentication",
    codes.UPSTREAM_PERMISSION: "provider_authentication",
    codes.UPSTREAM_MODEL_NOT_FOUND: "model_not_found",
    codes.UPSTREAM_RATE_LIMIT: "rate_limit_exceeded",
    codes.UPSTREAM_CONTENT_FILTER: "content_filter",
}
_OPENINGS: Final[dict[str, str]] = {
    codes.UPSTREAM_AUTHENTICATION: "{provider} refused the API key; check the credentials of this provider",
    codes.UPSTREAM_PERMISSION: "{provider} does not allow this with its API key",
    codes.UPSTREAM_QUOTA: "the balance or quota at {provider} is used up",
    codes.UPSTREAM_RATE_LIMIT: "{provider} limits the rate of requests",
    codes.UPSTREAM_OVERLOADED: "{provider} is overloaded",
    codes.UPSTREAM_TIMEOUT: "{provider} gave up after a time-out of its own",
    codes.UPSTREAM_SERVER_ERROR: "{provider} failed",
    codes.UPSTREAM_ERROR: "{provider} answered with an error",
}


def status_error(
    provider: str,
    status: int,
    body: bytes,
    headers: Mapping[str, str],
    read_error: Callable[[Any], UpstreamFault | None],
    secrets: Iterable[str] = (),
) -> ProviderError:
    """The error behind an answer that is not 2xx. secrets: keys that must not be echoed, whatever they look like."""
    fault = read_error(parse_json(body)) or UpstreamFault(message=_plain_words(body))
    return fault_error(provider, fault, status=status, headers=headers, secrets=secrets)


def fault_error(
    provider: str,
    fault: UpstreamFault,
    *,
    status: int | None = None,
    headers: Mapping[str, str] = NO_HEADERS,
    secrets: Iterable[str] = (),
) -> ProviderError:
    """A fault as a ProviderError. status: of the answer, None for a fault inside a 200 body or a stream.

    Its context holds provider, status, upstream_code, upstream_type and, where the headers name a time, wait (seconds).
    """
    code = _code(fault, status if status is not None else _status_in(fault))
    said = mask(fault.message, secrets).strip()[:LONGEST_MESSAGE]
    wait = seconds_to_wait(headers)
    facts: dict[str, Any] = {"provider": provider, "upstream_code": fault.code, "upstream_type": fault.type}
    if status is not None:
        facts["status"] = status
    if wait is not None:
        facts["wait"] = wait
    return ProviderError(
        code,
        _message(provider, code, status, said),
        param=fault.param if code in (codes.UPSTREAM_BAD_REQUEST, codes.UPSTREAM_CONTEXT_LENGTH) else None,
        retry_after=_retry_after(code, wait),
        client_code=_client_code(code, fault),
        **facts,
    )


def _code(fault: UpstreamFault, status: int) -> str:
    """status: 0 where there is none."""
    if fault.code == "tool_use_failed":
        # Groq's 400 for a call that the model wrote and its server could not parse: another try may well succeed.
        return codes.UPSTREAM_SERVER_ERROR
    spoken = [word for name in (fault.code, fault.type) if (word := WORDS.get(_squashed(name)))]
    clear = next((word for word in spoken if word not in VAGUE), None)
    if clear is not None and not (clear == codes.UPSTREAM_RATE_LIMIT and _says(codes.UPSTREAM_QUOTA, fault, status)):
        return clear
    for code in SENTENCES:
        if _says(code, fault, status):
            return code
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if spoken and status == 0:
        return spoken[0]
    if status >= 500:
        return codes.UPSTREAM_SERVER_ERROR
    if status in (0, 404, 405) or status < 400:  # a 404 that is not about the model: the address is wrong
        return codes.UPSTREAM_ERROR
    return codes.UPSTREAM_BAD_REQUEST


def _says(code: str, fault: UpstreamFault, status: int) -> bool:
    return status in READ_AT[code] and SENTENCES[code].search(fault.message[:LONGEST_MESSAGE]) is not None


def _status_in(fault: UpstreamFault) -> int:
    """The HTTP status that an error object names in place of the answer's own (OpenRouter, vLLM); 0 for none."""
    return int(fault.code) if re.fullmatch(r"[45]\d\d", fault.code) else 0


def _message(provider: str, code: str, status: int | None, said: str) -> str:
    """A refused request keeps the upstream's words: they are about what the client wrote. Others name the provider."""
    opening = _OPENINGS.get(code)
    if opening is None:
        return said or f"{provider} refused the request without saying why"
    told = opening.format(provider=provider) + (f" (HTTP {status})" if status is not None else "")
    if code == codes.UPSTREAM_ERROR and status in (404, 405):
        told += ": nothing answers at this address; check endpoint.base_url and endpoint.path"
    return f"{told}: {said}" if said else told


def _client_code(code: str, fault: UpstreamFault) -> str | None:
    if code == codes.UPSTREAM_BAD_REQUEST and not _status_in(fault):  # vLLM repeats the status there: no word
        return fault.code or None
    return _CLIENT_CODES.get(code)


def _retry_after(code: str, wait: float | None) -> int | None:
    """Whole seconds, at least one. Clients give up on a rate limit or an overload that names no time."""
    if code not in (codes.UPSTREAM_RATE_LIMIT, codes.UPSTREAM_OVERLOADED):
        return None
    return max(1, -int(-wait // 1)) if wait is not None else 1


def _plain_words(body: bytes) -> str:
    """A body that is no JSON: HTML shrinks to its title, text stays (GBK is what Chinese proxies send beside UTF-8)."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        text = body.decode("gb18030", "replace")
    if text.lstrip().startswith("<"):
        title = re.search(r"<title>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
        text = title.group(1) if title else re.sub(r"<[^>]*>", " ", text)
    return " ".join(text.split())


def _squashed(word: str) -> str:
    return re.sub(r"[^a-z0-9]", "", word.lower())
