"""Copies of a recording on disk, for a power cut: memory does not outlive that."""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from hardstone.files import sync_folder, write_all
from hardstone.memory import Memory


def slot_paths(journal: Path, number: int) -> list[Path]:
    """The two places in the journal for copies of the recording of test `number`."""
    return [journal / f"slot-{number}-{side}" for side in "ab"]


class SlotCopier:
    """Copies the recording at `path` into two slots in turn, so that one is always whole."""

    def __init__(self, memory: Memory, path: str, slots: list[Path]) -> None:
        self._memory = memory
        self._path = path
        self._slots = slots
        self._turn = 0
        self._checksum: int | None = None

    def copy(self) -> None:
        """Copies the recording if there is one and it changed. Raises what `Memory.copy` does."""
        checksum: int | None = None
        for chunk in self._memory.copy(self._path) or ():
            checksum = zlib.crc32(chunk, checksum or 0)
        if checksum in (None, self._checksum):
            return
        # What the probe writes from here on is in the copy, or makes the next one differ.
        chunks = self._memory.copy(self._path)
        if chunks is None:
            return
        slot = self._slots[self._turn]
        write_sparse(slot, chunks, is_durable=True)
        sync_folder(slot.parent)
        self._turn = 1 - self._turn
        self._checksum = checksum

    def remove(self) -> None:
        """Removes the copies and the recording."""
        for path in self._slots:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
        self._memory.drop(self._path)


def write_sparse(path: Path, chunks: Iterator[bytes], *, is_durable: bool) -> None:
    """Writes a file as a whole; chunks of zeros become holes: a recording is mostly empty."""
    temporary = path.with_suffix(".tmp")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    size_bytes = 0
    try:
        for chunk in chunks:
            size_bytes += len(chunk)
            if chunk.count(0) == len(chunk):
                os.lseek(descriptor, len(chunk), os.SEEK_CUR)
            else:
                write_all(descriptor, chunk)
        os.ftruncate(descriptor, size_bytes)
        if is_durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
    temporary.replace(path)
