"""Locks that the kernel releases when their owner dies, however it dies."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from hardstone.files import OddFileError, open_checked, pause, take_lock
from hardstone.store.place import StoreError

WAIT_S = 30.0
_STEP_S = 0.02


class StoreBusyError(StoreError):
    """Another process holds a lock for longer than a few file operations take."""


class FileLock:
    """An exclusive flock on a file, held until `release` or the end of the process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        """Releases the lock; may be called twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def try_lock(path: Path) -> FileLock | None:
    """The lock on `path`, made if missing; None when another process holds it.

    OSError if the file cannot be opened or its folder is gone; OddFileError for what is not a
    file.
    """
    return _locked(open_checked(path, os.O_RDWR | os.O_CREAT))


def _locked(descriptor: int) -> FileLock | None:
    is_ours = False
    try:
        is_ours = take_lock(descriptor)
    finally:
        if not is_ours:
            os.close(descriptor)
    return FileLock(descriptor) if is_ours else None


@contextlib.contextmanager
def exclusive(path: Path, instead: Path | None = None, *, wait_s: float = WAIT_S) -> Iterator[None]:
    """Holds the lock on `path` for a few file operations; StoreBusyError if it stays taken.

    If `path` is not a file, or belongs to another user, the folder `instead` is locked, as every
    process does then. (A network file system may lock files only.)
    """
    deadline_s = time.monotonic() + wait_s
    while (lock := _try_either(path, instead)) is None:
        if time.monotonic() > deadline_s:
            raise StoreBusyError(
                f"the store is busy: another process holds {path}",
                "end the other hardstone, or continue it if it is stopped",
            )
        pause(_STEP_S)
    try:
        yield
    finally:
        lock.release()


def _try_either(path: Path, instead: Path | None) -> FileLock | None:
    try:
        return try_lock(path)
    except (OddFileError, PermissionError):
        if instead is None:
            raise
    return _locked(os.open(instead, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
