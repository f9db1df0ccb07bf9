"""Records as they lie in Redis: compressed where that pays."""

from __future__ import annotations

import zstandard

COMPRESS_ABOVE = 4096  # bytes
COMPRESSION_LEVEL = 3
ZSTANDARD_MAGIC = b"\x28\xb5\x2f\xfd"


def compressed(record: bytes) -> bytes:
    return zstandard.compress(record, COMPRESSION_LEVEL) if len(record) > COMPRESS_ABOVE else record


def decompressed(record: bytes, decompressor: zstandard.ZstdDecompressor) -> bytes:
    """Bytes that are no record when they are damaged. A decompressor serves one thread at a time."""
    try:
        return decompressor.decompress(record) if record.startswith(ZSTANDARD_MAGIC) else record
    except zstandard.ZstdError:
        return b""
