"""Disk space that is reserved for what must be written when the disk is full."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from hardstone.files import open_checked

RESERVE_BYTES = 2 * 2**20
FULL = (errno.ENOSPC, errno.EDQUOT)


class Reserve:
    """A file of `RESERVE_BYTES` whose space the journal beside it may use."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_taken = False

    def take(self) -> None:
        """Reserves the space unless it is reserved; OSError if the disk is too full.

        Does nothing on a file system that cannot reserve, or not a file of that size.
        """
        if self._is_taken:
            return
        descriptor = open_checked(self._path, os.O_WRONLY | os.O_CREAT)
        try:
            os.posix_fallocate(descriptor, 0, RESERVE_BYTES)
            self._is_taken = True
        except OSError as error:
            self._path.unlink()
            if error.errno in FULL:
                raise
        finally:
            os.close(descriptor)

    def give(self) -> bool:
        """Frees the space for use; whether there was any."""
        was_taken, self._is_taken = self._is_taken, False
        if was_taken:
            with contextlib.suppress(OSError):
                self._path.unlink()
        return was_taken
