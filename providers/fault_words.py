"""The vocabulary of upstreams' refusals, of all providers together, sorted by what it means."""

from __future__ import annotations

import re
from typing import Final

from bridge import errors as codes

# Code and type words, squashed to lower-case letters and digits ("insufficient_quota" → "insufficientquota").
WORDS: Final[dict[str, str]] = {
    word: code
    for code, words in {
        codes.UPSTREAM_CONTEXT_LENGTH: "contextlengthexceeded exceedcontextsizeerror contextwindowexceeded "
        "contextsizeexceeded contextoverflow modelcontextwindowexceeded",
        codes.UPSTREAM_QUOTA: "insufficientquota insufficientbalance insufficientcredits insufficientuserquota "
        "quotaexceeded exceededcurrentquota exceededcurrentquotaerror billinghardlimitreached billingnotactive "
        "arrearage paymentrequired creditsexhausted freetieronly allocationquotafreetieronly",
        codes.UPSTREAM_CONTENT_FILTER: "contentfilter contentpolicyviolation datainspectionfailed moderationblocked "
        "responsibleaipolicyviolation contentblocked contentmoderation sensitivecontent",
        codes.UPSTREAM_AUTHENTICATION: "invalidapikey incorrectapikey authenticationerror invalidauthenticationerror "
        "incorrectapikeyerror unauthorized unauthenticated invalidtoken",
        codes.UPSTREAM_PERMISSION: "permissionerror permissiondenied accessdenied accessterminatederror forbidden "
        "unsupportedcountryregionterritory",
        codes.UPSTREAM_MODEL_NOT_FOUND: "modelnotfound modelnotexist deploymentnotfound modelnotfounderror "
        "invalidmodel modelnotsupported",
        codes.UPSTREAM_RATE_LIMIT: "ratelimitexceeded ratelimiterror ratelimitreachederror ratelimit toomanyrequests "
        "throttling throttlingratequota limitrequests",
        codes.UPSTREAM_OVERLOADED: "overloadederror overloaded engineoverloadederror serviceunavailable "
        "serviceunavailableerror modeloverloaded serveroverloaded",
        codes.UPSTREAM_TIMEOUT: "timeout requesttimeout upstreamtimeout gatewaytimeout",
        codes.UPSTREAM_SERVER_ERROR: "servererror internalerror internalservererror apierror",
        codes.UPSTREAM_BAD_REQUEST: "invalidrequesterror badrequest badrequesterror invalidrequest invalidparameter "
        "invalidparametererror invalidparametervalue validationerror unprocessableentityerror",
    }.items()
    for word in words.split()
}
# Words that say little: most servers put them on whatever they answer with a 4xx or 5xx.
VAGUE: Final = frozenset({codes.UPSTREAM_BAD_REQUEST, codes.UPSTREAM_SERVER_ERROR})

SENTENCES: Final[dict[str, re.Pattern[str]]] = {
    codes.UPSTREAM_CONTEXT_LENGTH: re.compile(
        r"maximum (context|prompt|input|sequence|model) (length|size|tokens?)"
        r"|context (length|window|size) (is )?exceed"
        r"|(exceed|longer than|larger than|beyond|overflow|greater than|too (long|large))[^.]{0,80}context"
        r"|context[^.]{0,40}(exceed|overflow|too (long|large|small))|model token limit|input token limit"
        r"|(prompt|input|request|messages?)( is| are|'s)? too long|too many (input |prompt )?tokens"
        r"|reduce the (length|number) of (the |your )?(messages|input|prompt)|range of input length"
        r"|max_(model_len|seq_len|prompt_tokens)|prompt exceeds max length|上下文.{0,12}(超|过长)|超.{0,12}上下文"
        r"|(输入|prompt|请求).{0,12}(超长|过长|长度超)",
        re.IGNORECASE,
    ),
    codes.UPSTREAM_QUOTA: re.compile(
        r"insufficient[ _](account )?(balance|quota|credit|fund)|exceeded your current quota|more credits"
        r"|(out of|not enough|no) (balance|credits?)\b"
        r"|(balance|credits?) (is |are )?(insufficient|exhausted|not enough)"
        r"|credit balance is too low|payment required|in arrears|overdue[- ]payment|余额|欠费|额度(不足|已用)",
        re.IGNORECASE,
    ),
    codes.UPSTREAM_CONTENT_FILTER: re.compile(
        r"content[ _-]?(management |moderation )?(filter|polic)"
        r"|inappropriate content|sensitive (content|information)"
        r"|flagged (by|as|for)|unsafe content|moderation|敏感|违规|不安全内容",
        re.IGNORECASE,
    ),
    codes.UPSTREAM_MODEL_NOT_FOUND: re.compile(
        r"model\b.{0,120}?\b(not found|not exist|doesn't exist|unknown)|(unknown|no such) model"
        r"|not a valid model|模型.{0,12}不存在",
        re.IGNORECASE,
    ),
}
# A sentence is read only where its kind is known to occur, so that a chance word does not turn one error into another.
READ_AT: Final[dict[str, frozenset[int]]] = {
    codes.UPSTREAM_CONTEXT_LENGTH: frozenset({0, 400, 413, 422, 500}),
    codes.UPSTREAM_QUOTA: frozenset({0, 400, 402, 403, 429}),
    codes.UPSTREAM_CONTENT_FILTER: frozenset({0, 400, 403, 422}),
    codes.UPSTREAM_MODEL_NOT_FOUND: frozenset({0, 400, 404, 422}),
}
