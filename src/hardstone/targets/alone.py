"""One measurement at a time: two on one machine spoil each other's figures."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_NAME = "hardstone-measuring.lock"
_LOOK_AGAIN_S = 0.2


def default_lock_file() -> Path:
    """A place that every user of the machine shares; `$HARDSTONE_LOCK_FILE` names another."""
    if named := os.environ.get("HARDSTONE_LOCK_FILE"):
        return Path(named)
    shared = Path("/run/lock")
    folder = shared if os.access(shared, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())
    return folder / _NAME


@contextmanager
def measuring_alone(
    is_stopped: Callable[[], bool],
    on_wait: Callable[[], None],
    lock_file: Path | None = None,
) -> Iterator[None]:
    """Holds the machine's measuring lock; the kernel releases it with the process.

    Waits while another process holds it, after one call of `on_wait`, until
    `is_stopped`. Where the file cannot be made, nothing is locked: that is no reason
    not to measure.
    """
    try:
        flags = os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(lock_file or default_lock_file(), flags, 0o644)
    except OSError:
        yield
        return
    try:
        if not _take(file):
            on_wait()
            while not is_stopped() and not _take(file):
                time.sleep(_LOOK_AGAIN_S)
        yield
    finally:
        os.close(file)


def _take(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
