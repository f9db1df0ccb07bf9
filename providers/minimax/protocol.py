"""MiniMax's own fields in a chunk or an answer."""

from __future__ import annotations

from typing import TypedDict

from bridge.protocol.chat import ChatChunk


class BaseResp(TypedDict, total=False):
    """Stands in every answer, also in one with HTTP status 200 that failed. 0 = success."""

    status_code: int
    status_msg: str


class MiniMaxChunk(ChatChunk, total=False):
    base_resp: BaseResp
    input_sensitive: bool
    output_sensitive: bool
