"""A small MCP server on stdin and stdout: `python mcp_server.py NAME`. Its tools say who answered."""

from __future__ import annotations

import base64
import json
import struct
import sys
import zlib
from typing import Any

NAME = sys.argv[1]

NUMBERS = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}
TOOLS = [
    {"name": "add", "description": f"Adds two numbers at {NAME}.", "inputSchema": NUMBERS},
    {
        "name": "take-picture",
        "description": f"Takes a picture at {NAME}.",
        "inputSchema": {"type": "object", "properties": {}},
    },
]


def red_dot() -> str:
    """A PNG of one pixel, base64. Written out here because the server runs without the checkout on its path."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(b"\x00\xff\x00\x00"))
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + head + body + chunk(b"IEND", b"")).decode()


def called(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if tool == "add":
        return {"content": [{"type": "text", "text": f"{NAME} says {arguments['a'] + arguments['b']}"}]}
    picture = {"type": "image", "data": red_dot(), "mimeType": "image/png"}
    return {"content": [{"type": "text", "text": f"from {NAME}"}, picture]}


def result_of(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        return {
            "protocolVersion": params.get("protocolVersion", "2025-06-18"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": NAME, "version": "1"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return called(params["name"], params.get("arguments") or {})
    return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = result_of(request.get("method", ""), request.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
