"""The API keys in force: those of the configuration, and those of a file that is read again when it changes."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from marshmallow import ValidationError

from ..logs import fields
from .hints import problems_of
from .model import ApiKey, AuthConfig
from .schema import KEY_LIST
from .text import expand, parse_yaml

log = logging.getLogger("godex")

LOOK_EVERY: Final = 1.0  # seconds between two looks at the file


def read_keys(path: str, environ: Mapping[str, str] | None = None) -> tuple[ApiKey, ...]:
    """The file's keys: `keys:` with a list as in the section `auth`. Raises ValueError, which repeats no key."""
    try:
        data = parse_yaml(Path(path).expanduser().read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:  # not UTF-8, or not YAML
        reason = "is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)
        raise ValueError(f"{path}: {reason}") from None
    data, problems = expand({} if data is None else data, os.environ if environ is None else environ)
    if not problems:
        try:
            keys: tuple[ApiKey, ...] = KEY_LIST.load(data)
            return keys
        except ValidationError as error:
            problems = sorted(problems_of(KEY_LIST, error.normalized_messages()))
    raise ValueError(f"{path}: " + "; ".join(map(str, problems)))


class KeyRing:
    def __init__(self, auth: AuthConfig) -> None:
        self._auth = auth
        self._by_hash = {key.sha256: key for key in auth.keys}
        self._state: Any = None  # of the file as it was read last
        self._next_look = 0.0  # reading of time.monotonic()

    @property
    def required(self) -> bool:
        """Whether a caller needs a key at all; a file that is empty just now opens no door."""
        return self._auth.has_keys

    def find(self, sha256: str) -> ApiKey | None:
        """By the SHA-256 of what was presented, in hex: how long this takes says nothing about how close a key came."""
        if self._auth.keys_file is not None and time.monotonic() >= self._next_look:
            self._look(self._auth.keys_file)
        return self._by_hash.get(sha256)

    def _look(self, path: str) -> None:
        self._next_look = time.monotonic() + LOOK_EVERY
        try:
            found = Path(path).expanduser().stat()
            state = (found.st_mtime_ns, found.st_size, found.st_ino)
            if state == self._state:
                return
            keys = read_keys(path)
        except (OSError, ValueError) as error:
            if self._state != "faulty":
                log.error("auth.keys_file: the former keys stay in force", extra=fields(reason=str(error)))
                self._state = "faulty"
            return
        self._state = state
        self._by_hash = {key.sha256: key for key in (*keys, *self._auth.keys)}
