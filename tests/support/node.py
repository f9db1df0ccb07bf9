"""Clients that come from the npm registry, installed once into a cache beside the checkout's own files.

`python -m tests.support.node` installs all of them; a test that needs one finds it there or installs it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

PACKAGES = {
    "codex": ("@openai/codex@0.171.0",),
    "ai-sdk": ("ai@7.0.173", "@ai-sdk/openai@4.0.118", "zod@4.6.7"),
}
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "godex-tests"


def installed(name: str) -> Path:
    """The folder that holds the `node_modules` of one row of PACKAGES."""
    assert shutil.which("npm"), "npm is needed (apt-get install npm)"
    folder = CACHE / name
    folder.mkdir(parents=True, exist_ok=True)
    stamp = folder / "installed"
    wanted = "\n".join(PACKAGES[name])
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two test runs at once
        if not stamp.exists() or stamp.read_text() != wanted:
            stamp.unlink(missing_ok=True)
            shutil.rmtree(folder / "node_modules", ignore_errors=True)
            quiet = ("--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error", "--ignore-scripts")
            subprocess.run(["npm", "install", "--prefix", str(folder), *quiet, *PACKAGES[name]], check=True)
            stamp.write_text(wanted)
    return folder


if __name__ == "__main__":
    for package in PACKAGES:
        print(installed(package))
