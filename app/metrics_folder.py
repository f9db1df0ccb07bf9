"""The folder through which workers share their metrics, as gunicorn's master keeps it.

Not with prometheus_client's own functions: the master must not import it before the folder is there.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
_PREFIX: Final = "godex-metrics-"


def prepare() -> None:
    """Before the first fork: the operator's folder, emptied, or a fresh one of our own."""
    given = os.environ.get(VARIABLE, "")
    if given and not _is_ours(given):
        Path(given).mkdir(parents=True, exist_ok=True)
        for file in Path(given).glob("*.db"):
            file.unlink(missing_ok=True)
        return
    # One that is ours already is that of a former master, which may still be serving (USR2).
    os.environ[VARIABLE] = tempfile.mkdtemp(prefix=_PREFIX)


def forget_worker(pid: int) -> None:
    """A worker ended: its counters stay, its states do not."""
    for file in Path(os.environ.get(VARIABLE, "/nonexistent")).glob(f"gauge_live*_{pid}.db"):
        with contextlib.suppress(OSError):
            file.unlink()


def remove() -> None:
    """The master ends."""
    folder = os.environ.get(VARIABLE, "")
    if _is_ours(folder):
        shutil.rmtree(folder, ignore_errors=True)


def _is_ours(folder: str) -> bool:
    return Path(folder).name.startswith(_PREFIX)
