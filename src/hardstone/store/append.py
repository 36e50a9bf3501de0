"""A file of lines that grows: a line is in it as a whole or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from hardstone.files import write_all


class AppendFile:
    """A new file at `path`. One thread appends while another one may sync."""

    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        self._descriptor = os.open(path, flags, 0o600)
        self._writing = threading.Lock()
        self._size_bytes = 0
        self._synced_bytes = 0
        self._failure: OSError | None = None

    def append(self, line: bytes, *, is_sync: bool) -> None:
        """Adds a line, on disk if `is_sync`. If that fails, OSError, and the file is as before.

        Raises OSError also, once, if `try_sync` has failed since the last call.
        """
        with self._writing:
            failure, self._failure = self._failure, None
            if failure is not None:
                raise failure
            try:
                write_all(self._descriptor, line + b"\n")
                if is_sync:
                    os.fsync(self._descriptor)
            except OSError:
                os.ftruncate(self._descriptor, self._size_bytes)
                raise
            self._size_bytes += len(line) + 1
            if is_sync:
                self._synced_bytes = self._size_bytes

    def try_sync(self) -> None:
        """Puts on disk what was added. Keeps an error, which the kernel reports only once."""
        size_bytes = self._size_bytes
        if self._synced_bytes == size_bytes:
            return
        try:
            os.fsync(self._descriptor)
            self._synced_bytes = size_bytes
        except OSError as error:
            self._failure = error

    def close(self) -> None:
        os.close(self._descriptor)
