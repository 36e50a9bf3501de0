"""One measurement at a time: two on one machine would disturb each other."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hardstone.files import take_lock

WAITING = "Another hardstone measurement is running on this machine; waiting for it to finish."
_NAME = "hardstone-measuring.lock"
_LOOK_AGAIN_S = 0.2


def default_lock_file() -> Path:
    """A file that all users of the machine share; `$HARDSTONE_LOCK_FILE` names another."""
    if named := os.environ.get("HARDSTONE_LOCK_FILE"):
        return Path(named)
    shared = Path("/run/lock")
    folder = shared if os.access(shared, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())
    return folder / _NAME


@contextmanager
def measuring_alone(
    is_stopped: Callable[[], bool],
    on_wait: Callable[[], None],
    on_unlocked: Callable[[str], None],
    lock_file: Path | None = None,
) -> Iterator[None]:
    """Holds the measuring lock of this machine; the kernel releases it with the process.

    If another process holds it, calls `on_wait` once and waits until it is free or `is_stopped`.
    If the file cannot be opened or made, nothing is locked and `on_unlocked` is called with the
    reason; measuring continues.
    """
    path = lock_file or default_lock_file()
    try:
        file = _opened(path)
    except OSError as error:
        on_unlocked(f"the lock {path} cannot be opened: {error.strerror or error}")
        yield
        return
    try:
        if not take_lock(file):
            on_wait()
            while not is_stopped() and not take_lock(file):
                time.sleep(_LOOK_AGAIN_S)
        yield
    finally:
        os.close(file)


def _opened(path: Path) -> int:
    """Without O_CREAT first: in a sticky folder the kernel refuses that even to root for a file
    of another user (fs.protected_regular)."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        return os.open(path, flags | os.O_CREAT, 0o644)
