"""Database files that nobody else may read."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def make_private_file(path: Path) -> None:
    """Makes an empty file that is the owner's alone, and its folder, where there is none yet. Raises OSError.

    A file that exists is not even opened: when a process closes any descriptor of a file, it loses all locks that it
    holds on it (POSIX), those of its SQLite connections too. SQLite goes on as if it had them, and the next process
    that opens and closes the database takes the write-ahead log away under it. So the file is also complete, and
    closed, before it gets its name.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        return
    descriptor, unnamed = tempfile.mkstemp(dir=path.parent, prefix=path.name)  # its mode is 0600
    os.close(descriptor)
    try:
        os.link(unnamed, path)
    except FileExistsError:
        pass  # another one was faster
    except OSError:  # a file system without hard links
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    finally:
        os.unlink(unnamed)
