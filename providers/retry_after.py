"""When an upstream says that a repetition makes sense."""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime


def seconds_to_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds from now by `retry-after-ms` or `Retry-After` (a number or an HTTP date); None when neither can be read.

    Mapping keys are looked up in lower and in title case; requests' own mapping does not care.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after") or headers.get("Retry-After")
    seconds = _number(value)
    if seconds is not None or not value:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None
