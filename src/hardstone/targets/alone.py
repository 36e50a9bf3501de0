"""One measurement at a time: two on one machine spoil each other's figures."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hardstone.errors import UntrustworthyError

_NAME = "hardstone-measuring.lock"


def default_lock_file() -> Path:
    """A place that every user of the machine shares, in memory where there is one."""
    shared = Path("/run/lock")
    folder = shared if os.access(shared, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())
    return folder / _NAME


@contextmanager
def measuring_alone(lock_file: Path | None = None) -> Iterator[None]:
    """Holds the machine's measuring lock; the kernel releases it with the process.

    Raises UntrustworthyError while another process holds it. Where the file cannot be
    made, nothing is locked: that is no reason not to measure.
    """
    try:
        flags = os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(lock_file or default_lock_file(), flags, 0o644)
    except OSError:
        yield
        return
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UntrustworthyError(
                "another hardstone measurement runs on this machine, and two spoil each other",
                "wait until it has ended",
            ) from None
        yield
    finally:
        os.close(file)
