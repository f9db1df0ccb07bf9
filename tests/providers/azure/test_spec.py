from __future__ import annotations

from bridge import errors as codes
from bridge.stream.deltas import FinishDelta, TextDelta
from providers.azure.spec import AZURE
from providers.faults import status_error
from providers.settings import ClientSettings, endpoint_url
from tests.providers.wire import deltas_of


def test_both_kinds_of_address_are_taken() -> None:
    plain = ClientSettings(base_url="https://r.openai.azure.com/openai/v1")
    deployment = ClientSettings(base_url="https://r.openai.azure.com/openai/deployments/d?api-version=2026-01-01")

    assert endpoint_url(AZURE, plain) == "https://r.openai.azure.com/openai/v1/chat/completions"
    assert endpoint_url(AZURE, deployment).endswith("/deployments/d/chat/completions?api-version=2026-01-01")


def test_a_stream_with_its_odd_chunks_is_read() -> None:
    stream = (
        'data: {"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0}]}\n\n'
        'data: {"choices":[{"index":0,"delta":{"content":"","role":"assistant"},"finish_reason":null}]}\n\n'
        'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null,"content_filter_results":{}}]}\n\n'
        'data: {"choices":[{"index":0,"content_filter_offsets":{"check_offset":44},"content_filter_results":{}}]}\n\n'
        'data: {"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}\n\n'
        "data: [DONE]\n\n"
    )

    assert deltas_of(AZURE, stream) == [TextDelta("Hi"), FinishDelta("content_filter")]


def test_a_filtered_prompt_is_known() -> None:
    body = (
        b'{"error":{"message":"The response was filtered","type":null,"param":"prompt","code":"content_filter",'
        b'"status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}'
    )

    assert status_error("azure", 400, body, {}, AZURE.read_error).code == codes.UPSTREAM_CONTENT_FILTER


def test_a_missing_deployment_is_a_missing_model() -> None:
    body = b'{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}'

    assert status_error("azure", 404, body, {}, AZURE.read_error).code == codes.UPSTREAM_MODEL_NOT_FOUND
