"""Every code has its HTTP answer, and every answer the shape that clients parse."""

from __future__ import annotations

import pytest

from app.http.errors import STATUS, error_body
from bridge import errors as codes
from bridge.errors import BridgeError, GodeXError, ProviderError, ServerError, SessionError
from bridge.response.failure import CODES, failure

CONSTANTS = {name: value for name, value in vars(codes).items() if name.isupper()}
DOMAINS = {"server": ServerError, "bridge": BridgeError, "provider": ProviderError, "session": SessionError}
TYPES = {"invalid_request_error", "authentication_error", "permission_error", "rate_limit_error", "insufficient_quota",
         "server_error", "model_error"}  # fmt: skip


@pytest.mark.parametrize("code", CONSTANTS.values())
def test_every_code_has_an_answer(code):
    status, body, retry_after = error_body(DOMAINS[code.partition(".")[0]](code, "words"))
    assert 400 <= status < 600
    assert set(body["error"]) == {"message", "type", "param", "code", "godex_code"}
    assert body["error"]["type"] in TYPES and body["error"]["godex_code"] == code
    assert (retry_after is not None) == (status in (429, 503))


def test_the_table_knows_no_other_codes():
    assert set(STATUS) == set(CONSTANTS.values())
    assert set(CODES) <= set(STATUS)


def test_codes_read_domain_subject_what():
    assert all(code.split(".")[0] in DOMAINS and len(code.split(".")) == 3 for code in CONSTANTS.values())


def test_the_context_of_an_error_goes_to_the_log_and_not_to_the_client():
    error = SessionError(codes.CHAIN_NOT_FOUND, "words", responseId="resp_secret")
    assert error.to_log_entry()["responseId"] == "resp_secret"
    assert "resp_secret" not in str(error_body(error))


def test_an_unexpected_exception_shows_nothing_of_itself():
    assert "secret" not in failure(RuntimeError("secret"))["message"]
    assert failure(RuntimeError("secret"))["code"] == "server_error"


def test_a_rate_limit_in_a_stream_says_when_to_come_back():
    error = GodeXError(codes.UPSTREAM_RATE_LIMIT, "slow down", retry_after=7)
    assert failure(error) == {"code": "rate_limit_exceeded", "message": "slow down Please try again in 7s."}
