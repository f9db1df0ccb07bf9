"""Sealed envelopes: what the gateway gives out as `encrypted_content` and opens again, on any replica.

Format: "gdx1." + key id + "." + base64url(nonce + AES-256-GCM ciphertext). The owner (the hash of the API key) is bound
in as associated data: another tenant's envelope does not open. The key id tells the keys of a rotation apart.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from collections.abc import Sequence
from typing import Any

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

VERSION = "gdx1"
NONCE_BYTES = 12
KEY_BYTES = 32


class Sealer:
    """secrets: the first one seals, every one unseals. A secret of any length becomes a 256-bit key by SHA-256."""

    def __init__(self, secrets: Sequence[bytes]) -> None:
        keys = [hashlib.sha256(secret).digest() for secret in secrets]
        self._ciphers = {hashlib.sha256(b"key id" + key).hexdigest()[:8]: AESGCM(key) for key in keys}
        self._first = next(iter(self._ciphers))

    def seal(self, payload: dict[str, Any], owner: str) -> str:
        nonce = os.urandom(NONCE_BYTES)
        data = self._ciphers[self._first].encrypt(nonce, orjson.dumps(payload), owner.encode())
        return f"{VERSION}.{self._first}.{base64.urlsafe_b64encode(nonce + data).decode()}"

    def unseal(self, envelope: str, owner: str) -> dict[str, Any] | None:
        """The payload, or None for an envelope that is foreign, broken, another owner's or of a key that is gone."""
        version, _, rest = envelope.partition(".")
        key_id, _, text = rest.partition(".")
        cipher = self._ciphers.get(key_id)
        if version != VERSION or cipher is None:
            return None
        try:
            data = base64.urlsafe_b64decode(text)
            payload = orjson.loads(cipher.decrypt(data[:NONCE_BYTES], data[NONCE_BYTES:], owner.encode()))
        except (InvalidTag, binascii.Error, ValueError):
            return None
        return payload if isinstance(payload, dict) else None


def new_secret() -> bytes:
    return os.urandom(KEY_BYTES)
