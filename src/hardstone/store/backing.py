"""The file that a probe records into while it measures, and copies of it on disk.

The file lies in memory, so that the probe waits for no disk; it outlives a kill of
every process. What a power cut would take is copied into the journal.
`$HARDSTONE_MEMORY_DIR` names a folder in memory other than /dev/shm.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from hardstone.files import (
    is_folder,
    is_regular,
    open_regular,
    read_regular,
    sync_folder,
    write_all,
)

BACKING_LIMIT_BYTES = 512 * 2**20
MEMORY_FOLDER = "/dev/shm"  # noqa: S108
OWNER_NAME = "journal"
SPARE_NAME = "run.json.gz"
_PATH_BYTES = 4096
_CHUNK_BYTES = 2**16
_ROOM_BYTES = 16 * 2**20
_FOLDER = re.compile(r"hardstone-[0-9]{8}T[0-9]{6}Z-[0-9a-f]{6}-[a-z0-9_]+")


def make_backing_folder(run_id: str, journal: Path) -> Path:
    """A private folder in memory-backed storage, or in the journal where there is none.

    Private, since the kernel refuses root a file of another user in a folder like
    /dev/shm, and a probe may run as root.
    """
    for base in filter(_has_room, _memory_folders()):
        with contextlib.suppress(OSError):
            folder = Path(tempfile.mkdtemp(prefix=_prefix(run_id), dir=base))
            try:
                (folder / OWNER_NAME).write_bytes(os.fsencode(journal))
            except OSError:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            return folder
    return Path(tempfile.mkdtemp(prefix=_prefix(run_id), dir=journal))


def find_backing_folders(run_id: str) -> list[Path]:
    """Folders in memory-backed storage that were made for this run by this user."""
    found = [path for base in _memory_folders() for path in base.glob(f"{_prefix(run_id)}*")]
    return [path for path in found if _is_own_folder(path)]


def abandoned_folders() -> Iterator[tuple[Path, Path]]:
    """Folders in memory-backed storage whose journal is gone, each with that journal."""
    for base in _memory_folders():
        for folder in sorted(base.glob("hardstone-*")):
            with contextlib.suppress(OSError, ValueError):
                if _FOLDER.fullmatch(folder.name) and _is_own_folder(folder):
                    journal = _owner(folder)
                    # As Journal makes it: root, "journals", the run.
                    if len(journal.parts) > 3 and not os.path.lexists(journal):
                        yield folder, journal


def _owner(folder: Path) -> Path:
    """The journal of a backing folder. OSError, and ValueError for what is no path."""
    content = read_regular(folder / OWNER_NAME, _PATH_BYTES)
    journal = Path(os.fsdecode(content))
    if b"\0" in content or not journal.is_absolute():
        raise ValueError("not the path of a journal")
    return journal


def remove_abandoned(journals: Path) -> None:
    """Remove the folders of runs whose journal was in `journals`, and no run is left in."""
    for folder, journal in abandoned_folders():
        if journal.parent == journals and journals.is_dir() and not has_spare(folder):
            shutil.rmtree(folder, ignore_errors=True)


def has_spare(folder: Path) -> bool:
    """Whether a backing folder has a run in it that could not be stored."""
    return os.path.lexists(folder / SPARE_NAME)


def is_backing_of(path: Path, run_id: str) -> bool:
    """Whether `path` is in a backing folder of this run."""
    return path.parent.name.startswith(_prefix(run_id)) and _is_own_folder(path.parent)


def is_recording(path: Path) -> bool:
    """Whether a file that a probe may have recorded into is there."""
    return is_regular(path, BACKING_LIMIT_BYTES)


def remove_backing(run_id: str) -> None:
    """Remove the folders of this run and all that is in them."""
    for folder in find_backing_folders(run_id):
        shutil.rmtree(folder, ignore_errors=True)


def slot_paths(journal: Path, number: int) -> list[Path]:
    """The two places in the journal for copies of the backing file of test `number`."""
    return [journal / f"slot-{number}-{side}" for side in "ab"]


class SlotCopier:
    """Copies one backing file into two places by turns, so that one is always whole."""

    def __init__(self, backing: Path, slots: list[Path]) -> None:
        self._backing = backing
        self._slots = slots
        self._turn = 0
        self._checksum: int | None = None

    def copy(self) -> None:
        """Copy the file as it is now, if there is one and it changed. OSError if it fails."""
        try:
            source = open_regular(self._backing, BACKING_LIMIT_BYTES)
        except FileNotFoundError:
            return
        with source:
            checksum = _checksum(source)
            if checksum in (None, self._checksum):
                return
            # What the probe writes meanwhile is in the copy, or makes the next one differ.
            source.seek(0)
            _write_slot(self._slots[self._turn], source)
        self._turn = 1 - self._turn
        self._checksum = checksum

    def remove(self) -> None:
        """Remove the copies and the backing file."""
        for path in (*self._slots, self._backing):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


def _chunks(source: BinaryIO) -> Iterator[bytes]:
    """What is in the file, in pieces: a recorder may be larger than the memory at hand."""
    left = BACKING_LIMIT_BYTES
    while left and (chunk := source.read(min(_CHUNK_BYTES, left))):
        left -= len(chunk)
        yield chunk


def _checksum(source: BinaryIO) -> int | None:
    """None for an empty file."""
    checksum = None
    for chunk in _chunks(source):
        checksum = zlib.crc32(chunk, checksum or 0)
    return checksum


def _write_slot(slot: Path, source: BinaryIO) -> None:
    temporary = slot.with_suffix(".tmp")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        _write_sparse(descriptor, source)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    temporary.replace(slot)
    sync_folder(slot.parent)


def _write_sparse(descriptor: int, source: BinaryIO) -> None:
    """Write it all but chunks of zeros: a recorder is large and mostly empty."""
    size_bytes = 0
    for chunk in _chunks(source):
        size_bytes += len(chunk)
        if chunk.count(0) == len(chunk):
            os.lseek(descriptor, len(chunk), os.SEEK_CUR)
        else:
            write_all(descriptor, chunk)
    os.ftruncate(descriptor, size_bytes)


def _prefix(run_id: str) -> str:
    return f"hardstone-{run_id}-"


def _memory_folders() -> list[Path]:
    first = os.environ.get("HARDSTONE_MEMORY_DIR") or MEMORY_FOLDER
    named = [first, os.environ.get("XDG_RUNTIME_DIR", "")]
    folders = [Path(name) for name in named if Path(name).is_absolute()]
    return [path for path in folders if path.is_dir() and os.access(path, os.W_OK | os.X_OK)]


def _has_room(folder: Path) -> bool:
    """Whether the recorders of a test fit; a file system without a size has no blocks."""
    state = os.statvfs(folder)
    return not state.f_blocks or state.f_bavail * state.f_frsize >= _ROOM_BYTES


def _is_own_folder(path: Path) -> bool:
    try:
        return is_folder(path) and path.lstat().st_uid == os.geteuid()
    except OSError:  # it went away
        return False
