"""Bytes of a request → a JSON object: content encodings, size limits, syntax."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from typing import Any

import orjson
import zstandard
from flask import Request
from werkzeug.exceptions import RequestEntityTooLarge

from bridge.errors import BODY_TOO_LARGE, INVALID_JSON, UNSUPPORTED_ENCODING, GodeXError, ServerError

from .limits import check_shape, check_size

Decoder = Callable[[bytes, int], bytes]


def json_object(request: Request, max_bytes: int) -> dict[str, Any]:
    """The body as a dict. max_bytes counts after decompression.

    Raises ServerError: BODY_TOO_LARGE, UNSUPPORTED_ENCODING, INVALID_JSON, INVALID_PARAMETER.
    """
    if (request.content_length or 0) > max_bytes:
        raise _too_large(max_bytes)
    # One byte more than allowed tells a body that is too long although it named no length.
    raw = _received(request, max_bytes + 1)
    encodings = [name.strip().lower() for name in request.headers.get("Content-Encoding", "").split(",")]
    for name in reversed([name for name in encodings if name not in ("", "identity")]):
        if name not in DECODERS:
            raise ServerError(
                UNSUPPORTED_ENCODING, f"Content-Encoding {name!r} is not supported; send one of {', '.join(DECODERS)}"
            )
        try:
            raw = DECODERS[name](raw, max_bytes + 1)
        except (zlib.error, zstandard.ZstdError, EOFError) as broken:
            raise ServerError(INVALID_JSON, f"the body is not valid {name}") from broken
    if len(raw) > max_bytes:
        raise _too_large(max_bytes)
    return parsed_object(raw)


def parsed_object(raw: bytes) -> dict[str, Any]:
    """Raises ServerError: INVALID_JSON, INVALID_PARAMETER (see limits.py)."""
    check_size(raw)
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as broken:
        raise ServerError(INVALID_JSON, f"the body is not valid JSON: {broken}") from broken
    if not isinstance(body, dict):
        raise ServerError(INVALID_JSON, f"the body must be a JSON object, not {type(body).__name__}")
    check_shape(raw, body)
    return body


def _received(request: Request, limit: int) -> bytes:
    try:
        raw = request.stream.read(limit) if request.content_length is None else request.get_data(cache=False)
    except (GodeXError, BrokenPipeError, RequestEntityTooLarge):  # the last: a limit of the host's own
        raise
    except Exception as broken:  # each server has errors of its own for a body that is not framed as it says
        raise ServerError(INVALID_JSON, "the body could not be read: its framing is broken") from broken
    if request.content_length is not None and len(raw) < request.content_length:
        raise ServerError(INVALID_JSON, f"the body ended after {len(raw)} of {request.content_length} bytes")
    return raw


def _too_large(max_bytes: int) -> ServerError:
    return ServerError(BODY_TOO_LARGE, f"the body is larger than {max_bytes} bytes (server.max_body_mb)")


def _gunzip(data: bytes, limit: int) -> bytes:
    # wbits 47: gzip or zlib by its header, as browsers and proxies understand "deflate" too.
    out = b""
    while data and len(out) < limit:  # a file may have several members
        decompressor = zlib.decompressobj(wbits=47)
        out += decompressor.decompress(data, limit - len(out))
        if not decompressor.eof and len(out) < limit:
            raise EOFError
        data = decompressor.unused_data
    return out


def _unzstd(data: bytes, limit: int) -> bytes:
    # A stream reader stops at the limit, whatever size the frame claims for itself.
    with zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(io.BytesIO(data)) as reader:
        return reader.read(limit)


DECODERS: dict[str, Decoder] = {"gzip": _gunzip, "deflate": _gunzip, "zstd": _unzstd}
