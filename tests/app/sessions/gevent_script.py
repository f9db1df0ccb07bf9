"""Runs a piece of test code in a process that gevent has patched, as a gunicorn worker is."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[3]


def run_patched(code: str, *arguments: str) -> str:
    """What `code` prints. It finds `arguments` in sys.argv[1:], and fails if it writes anything to stderr."""
    script = "from gevent import monkey; monkey.patch_all()\n" + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=40, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout
