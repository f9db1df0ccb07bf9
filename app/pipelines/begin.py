"""From a validated body to an upstream that has accepted it: the first one that can, in the configured order."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from bridge import errors as codes
from bridge.errors import GodeXError, ProviderError

from ..context import Caller, ResponsesContext
from ..drain import current
from ..logs import fields
from ..metrics import metrics
from ..resolver import Target
from .compaction import first_call
from .exchange import Answer
from .prepare import prepare

if TYPE_CHECKING:
    from ..gateway import Gateway

log = logging.getLogger("godex")

# What another provider may do better. A request that is wrong, or too long, is so everywhere it was meant to go.
WORTH_ANOTHER_TRY = frozenset(
    {
        codes.UPSTREAM_TIMEOUT,
        codes.UPSTREAM_RATE_LIMIT,
        codes.UPSTREAM_OVERLOADED,
        codes.UPSTREAM_SERVER_ERROR,
        codes.UPSTREAM_UNREACHABLE,
        codes.UPSTREAM_CUT,
        codes.UPSTREAM_INVALID_RESPONSE,
        codes.UPSTREAM_AUTHENTICATION,
        codes.UPSTREAM_PERMISSION,
        codes.UPSTREAM_QUOTA,
        codes.UPSTREAM_MODEL_NOT_FOUND,
        codes.UPSTREAM_ERROR,
    }
)


def begin(gateway: Gateway, request: dict[str, Any], caller: Caller, **options: Any) -> tuple[ResponsesContext, Answer]:
    """The context of whoever answers, and the answer that has begun. options: those of `prepare`.

    `models.fallbacks` names the others to ask, each planned for anew, as long as nothing of an answer has been seen.
    Raises what `prepare` raises, the first provider's ProviderError when nobody answers, and ServerError RATE_LIMITED.
    """
    admission = gateway.limiter.admit(caller, current().headers)
    try:
        context, answer = _first_to_answer(gateway, request, caller, options)
    except BaseException:
        admission.ended()
        raise
    context.admission = admission
    return context, answer


def _first_to_answer(
    gateway: Gateway, request: dict[str, Any], caller: Caller, options: dict[str, Any]
) -> tuple[ResponsesContext, Answer]:
    context = prepare(gateway, request, caller, **options)
    try:
        return context, first_call(context)
    except ProviderError as first:
        if first.code not in WORTH_ANOTHER_TRY:
            raise
        for name in gateway.config.models.fallbacks.get(str(context.target), ()):
            log.warning("fallback", extra=fields(first.to_log_entry(), context.log_fields(), to=name))
            try:
                other = prepare(gateway, request, caller, **options, target=Target.named(name))
                answer = first_call(other)
                metrics().fell_back(context.target.provider, name)
                return other, answer
            except GodeXError as error:  # also a plan that this provider cannot keep: the next one may
                log.warning("fallback failed", extra=fields(context.log_fields(), error.to_log_entry(), to=name))
        raise
