"""Copies of a recording on disk, for a power cut: memory does not outlive that.

A copy is written where the one before the last was, and only where that differs. Beside it is the
checksum of the whole, which is written when the copy is on disk: one that does not fit belongs to a
copy that a power cut tore.
"""

from __future__ import annotations

import contextlib
import os
import time
import zlib
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hardstone.files import (
    is_regular,
    open_checked,
    open_regular,
    read_regular,
    sync_folder,
    write_all,
)
from hardstone.memory import RECORDING_LIMIT_BYTES, Memory

_PAGE_BYTES = 4096
_CHUNK_BYTES = 2**16
_ZEROS = hash(bytes(_PAGE_BYTES))
_sync_data: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)


def slot_paths(journal: Path, number: int) -> list[Path]:
    """The two places in the journal for copies of the recording of test `number`."""
    return [journal / f"slot-{number}-{side}" for side in "ab"]


def usable_slots(journal: Path, number: int) -> list[Path]:
    """The copies that are whole, or all that are there: a torn one is better than none."""
    found = [
        path for path in slot_paths(journal, number) if is_regular(path, RECORDING_LIMIT_BYTES)
    ]
    return [path for path in found if _is_whole(path)] or found


@dataclass(frozen=True)
class CopyCost:
    """`longest_ns`: the longest time from the start of a copy to the end of the next one. A power
    cut could have taken that much of the recording."""

    copies_count: int
    written_bytes: int
    longest_ns: int


class SlotCopier:
    """Copies the recording at `path` into two slots in turn, so that one is always whole."""

    def __init__(
        self,
        memory: Memory,
        path: str,
        slots: list[Path],
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._memory = memory
        self._path = path
        self._slots = [_Slot(slot) for slot in slots]
        self._clock_ns = clock_ns
        self._turn = 0
        self._checksum: int | None = None
        self._copies_count = 0
        self._latest_ns = clock_ns()  # what was recorded until then is on disk
        self._longest_ns = 0

    def copy(self) -> None:
        """Copies the recording if there is one and it changed. Raises what `Memory.copy` does."""
        begin_ns = self._clock_ns()
        self._copy_changes()
        self._longest_ns = max(self._longest_ns, self._clock_ns() - self._latest_ns)
        self._latest_ns = begin_ns

    def cost(self) -> CopyCost:
        """Until now."""
        return CopyCost(
            copies_count=self._copies_count,
            written_bytes=sum(slot.written_bytes for slot in self._slots),
            longest_ns=max(self._longest_ns, self._clock_ns() - self._latest_ns),
        )

    def remove(self) -> None:
        """Removes the copies and the recording."""
        for slot in self._slots:
            slot.remove()
        self._memory.drop(self._path)

    def _copy_changes(self) -> None:
        checksum: int | None = None
        for chunk in self._memory.copy(self._path) or ():
            checksum = zlib.crc32(chunk, checksum or 0)
        if checksum in (None, self._checksum):
            return
        # What the probe writes from here on is in the copy, or makes the next one differ.
        chunks = self._memory.copy(self._path)
        if chunks is None:
            return
        self._slots[self._turn].write(chunks)
        self._turn = 1 - self._turn
        self._checksum = checksum
        self._copies_count += 1


class _Slot:
    """One copy, with hashes of its pages as they are on disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._sum_path = _sum_path(path)
        self._hashes: array[int] | None = None  # not known
        self.written_bytes = 0

    def write(self, chunks: Iterator[bytes]) -> None:
        """Makes the slot hold `chunks`. After an error it is written as a whole the next time."""
        hashes, self._hashes = self._hashes, None
        if hashes is None:
            hashes = array("q")
            self._write_anew(chunks, hashes)
        else:
            self._write_changes(chunks, hashes)
        self._hashes = hashes

    def remove(self) -> None:
        for path in (self._path, self._sum_path):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)

    def _write_anew(self, chunks: Iterator[bytes], hashes: array[int]) -> None:
        """Beside the one that is there. Its sum is on disk before it may be changed in place."""
        temporary = _temporary(self._path)
        with _new_file(temporary) as descriptor:
            checksum = self._put(descriptor, chunks, hashes)
            os.fsync(descriptor)
        self._write_sum(checksum, os.fsync)
        temporary.replace(self._path)
        sync_folder(self._path.parent)

    def _write_changes(self, chunks: Iterator[bytes], hashes: array[int]) -> None:
        """Writes the changes. While the file keeps its size, the file system writes no more than
        that."""
        descriptor = open_checked(self._path, os.O_WRONLY)
        try:
            checksum = self._put(descriptor, chunks, hashes)
            _sync_data(descriptor)
        finally:
            os.close(descriptor)
        self._write_sum(checksum, _sync_data)

    def _put(self, descriptor: int, chunks: Iterator[bytes], hashes: array[int]) -> int:
        """Writes the pages that are not as `hashes` says, and keeps that up; the checksum of all.
        In a new file, pages of zeros become holes: a recording is mostly empty."""
        size_bytes = checksum = 0
        for block in _blocks(chunks):
            checksum = zlib.crc32(block, checksum)
            for begin, end in _changes(block, size_bytes // _PAGE_BYTES, hashes):
                os.lseek(descriptor, size_bytes + begin, os.SEEK_SET)
                write_all(descriptor, block[begin:end])
                self.written_bytes += end - begin
            size_bytes += len(block)
        del hashes[-(-size_bytes // _PAGE_BYTES) :]
        if os.fstat(descriptor).st_size != size_bytes:
            os.ftruncate(descriptor, size_bytes)
        return checksum

    def _write_sum(self, checksum: int, sync: Callable[[int], None]) -> None:
        descriptor = open_checked(self._sum_path, os.O_WRONLY | os.O_CREAT)
        try:
            write_all(descriptor, _sum_text(checksum))
            sync(descriptor)
        finally:
            os.close(descriptor)
        self.written_bytes += _PAGE_BYTES  # a file system writes no less


def write_sparse(path: Path, chunks: Iterator[bytes]) -> None:
    """Writes a file as a whole; chunks of zeros become holes."""
    temporary = _temporary(path)
    size_bytes = 0
    with _new_file(temporary) as descriptor:
        for chunk in chunks:
            size_bytes += len(chunk)
            if chunk.count(0) == len(chunk):
                os.lseek(descriptor, len(chunk), os.SEEK_CUR)
            else:
                write_all(descriptor, chunk)
        os.ftruncate(descriptor, size_bytes)
    temporary.replace(path)


@contextlib.contextmanager
def _new_file(path: Path) -> Iterator[int]:
    """A descriptor of an empty file; one that is there is removed."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _blocks(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Whole pages of a file that comes in pieces of any size; the last one may be shorter."""
    rest = b""
    for chunk in chunks:
        data = rest + chunk if rest else chunk
        whole = len(data) - len(data) % _PAGE_BYTES
        if whole:
            yield data[:whole]
        rest = data[whole:]
    if rest:
        yield rest


def _changes(block: bytes, first: int, hashes: array[int]) -> Iterator[tuple[int, int]]:
    """The places where `block`, from page `first` on, differs from `hashes`, which it updates."""
    begin: int | None = None
    for at in range(0, len(block), _PAGE_BYTES):
        number = first + at // _PAGE_BYTES
        if number == len(hashes):
            hashes.append(_ZEROS)
        found = hash(block[at : at + _PAGE_BYTES])
        if found != hashes[number]:
            hashes[number] = found
            begin = at if begin is None else begin
        elif begin is not None:
            yield begin, at
            begin = None
    if begin is not None:
        yield begin, len(block)


def _temporary(path: Path) -> Path:
    return path.with_suffix(".tmp")


def _sum_path(slot: Path) -> Path:
    return slot.with_suffix(".sum")


def _sum_text(checksum: int) -> bytes:
    return b"%08x\n" % checksum


def _is_whole(slot: Path) -> bool:
    """One without a sum is of a version that never changed a copy in place."""
    try:
        stored = read_regular(_sum_path(slot), _PAGE_BYTES)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    checksum = 0
    try:
        with open_regular(slot, RECORDING_LIMIT_BYTES) as file:
            while chunk := file.read(_CHUNK_BYTES):
                checksum = zlib.crc32(chunk, checksum)
    except OSError:
        return False
    return stored == _sum_text(checksum)
