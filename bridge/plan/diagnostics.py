"""What was decided about a request, in words: each deviation from what the client asked is one diagnostic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from bridge.errors import UNSUPPORTED_PARAMETER, BridgeError

Action = Literal["supported", "degraded", "ignored", "rejected", "repaired"]
Severity = Literal["info", "warn", "error"]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """subject is the request path it is about ("temperature", "tools[2]", "input[4]"), reason one sentence."""

    action: Action
    subject: str
    reason: str
    severity: Severity = "info"

    def as_dict(self) -> dict[str, Any]:
        return {"action": self.action, "severity": self.severity, "subject": self.subject, "reason": self.reason}


class Diagnostics:
    """Collects the decisions of one request.

    strict: a request that asked for no deviation at all (`x-godex-strict: 1`) is refused at the first one that
    changes its meaning (severity warn); notes (info) and repairs of history stay notes.
    """

    def __init__(self, strict: bool = False) -> None:
        self.strict = strict
        self.entries: list[Diagnostic] = []

    def degraded(self, subject: str, reason: str, severity: Severity = "warn") -> None:
        self._deviate(Diagnostic("degraded", subject, reason, severity))

    def ignored(self, subject: str, reason: str, severity: Severity = "warn") -> None:
        self._deviate(Diagnostic("ignored", subject, reason, severity))

    def repaired(self, subject: str, reason: str) -> None:
        self.entries.append(Diagnostic("repaired", subject, reason, "info"))

    def _deviate(self, diagnostic: Diagnostic) -> None:
        if self.strict and diagnostic.severity != "info":
            raise BridgeError(
                UNSUPPORTED_PARAMETER,
                f"{diagnostic.reason} (strict mode refuses what would be {diagnostic.action})",
                param=diagnostic.subject,
                client_code="unsupported_parameter",
            )
        self.entries.append(diagnostic)


def rejected(param: str, reason: str, code: str = UNSUPPORTED_PARAMETER) -> BridgeError:
    """The error of a planned refusal: answered with 400 before the upstream is asked."""
    return BridgeError(code, reason, param=param, client_code="unsupported_parameter")


def compat_header(entries: Iterable[Diagnostic]) -> str:
    """The value of `x-godex-compat`, e.g. "degraded=2, ignored=1"; "full" when nothing deviated."""
    counts = Counter(entry.action for entry in entries)
    return ", ".join(f"{action}={counts[action]}" for action in sorted(counts)) or "full"
