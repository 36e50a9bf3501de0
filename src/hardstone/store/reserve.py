"""Space on disk that is kept free for what must be written when the disk is full."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from hardstone.files import open_checked

RESERVE_BYTES = 2 * 2**20
FULL = (errno.ENOSPC, errno.EDQUOT)


class Reserve:
    """A file that holds `RESERVE_BYTES` for the journal beside it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_taken = False

    def take(self) -> None:
        """Have the space, if it is not had yet; OSError where the disk is too full.

        A file system that cannot promise space, or no file of that size, has none to give.
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
        """Free the space for use; whether there was any."""
        was_taken, self._is_taken = self._is_taken, False
        if was_taken:
            with contextlib.suppress(OSError):
                self._path.unlink()
        return was_taken
