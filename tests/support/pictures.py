"""Pictures made in the test: PNG files without a picture library."""

from __future__ import annotations

import random
import struct
import zlib


def png(width: int, height: int, noise: bool = False) -> bytes:
    """An RGB picture, red all over or, with noise, incompressible (3 bytes a pixel)."""
    rows = (random.randbytes(3 * width) if noise else b"\xff\x00\x00" * width for _ in range(height))
    data = zlib.compress(b"".join(b"\x00" + row for row in rows), 1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
