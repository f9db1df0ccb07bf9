"""The same tests of the transport, with everything patched as in a gevent worker."""

from __future__ import annotations

import subprocess
import sys

PATCHED = """
from gevent import monkey
monkey.patch_all()
import sys
import pytest
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "tests/providers/test_transport.py"]))
"""


def test_the_transport_works_on_greenlets() -> None:
    run = subprocess.run([sys.executable, "-c", PATCHED], capture_output=True, text=True, timeout=55)

    assert run.returncode == 0, run.stdout + run.stderr
