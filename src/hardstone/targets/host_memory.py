"""Crash-safe memory of this machine: a private folder for each run in /dev/shm.

Files there outlive a kill of every process, and the probe waits for no disk. The folder names the
journal that it belongs to, and the tool that records holds a lock in it: neither is in a copy of
the store. `$HARDSTONE_MEMORY_DIR` names a folder other than /dev/shm; $XDG_RUNTIME_DIR comes next.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hardstone.errors import TargetError
from hardstone.files import (
    is_folder,
    is_regular,
    open_checked,
    open_regular,
    read_regular,
    replace_file,
    take_lock,
    write_all,
)
from hardstone.memory import GUEST_PREFIX, RECORDING_LIMIT_BYTES, Another

_DEFAULT = "/dev/shm"  # noqa: S108
_OWNER_NAME = "journal"
_SPARE_NAME = "run.json.gz"
_SCRATCH_NAME = "copy"
_PATH_BYTES = 4096
_CHUNK_BYTES = 2**16
_ROOM_BYTES = 16 * 2**20  # the recordings of a test
_FOLDER = re.compile(r"hardstone-[0-9]{8}T[0-9]{6}Z-[0-9a-f]{6}-[a-z0-9_]+")


class HostMemory:
    """The files of the run `run_id`, whose journal is the folder `journal`.

    They are in the folder `place`, else in a memory-backed folder with 16 MiB of space, and in the
    journal where there is none. Those of another journal of the same run are left alone, as if
    they were not there: `journal` is in a copy of its store.
    """

    def __init__(self, run_id: str, journal: Path, place: Path | None = None) -> None:
        self._place = place
        self._prefix = f"hardstone-{run_id}-"
        self._journal = journal
        self._folder: Path | None = None
        self._lock: int | None = None  # the descriptor of what is locked in that folder

    def path_for(self, number: int) -> str:
        return str(self._made() / f"{number}.rec")

    def has(self, path: str) -> bool:
        folder = Path(path).parent
        is_of_run = folder.name.startswith(self._prefix) and _is_own_folder(folder)
        return is_of_run and self._is_ours(folder) and is_regular(Path(path), RECORDING_LIMIT_BYTES)

    def copy(self, path: str) -> Iterator[bytes] | None:
        return _chunks(Path(path)) if os.path.lexists(path) else None

    def direct(self, path: str) -> str | None:
        del path
        return None  # the probe may write while it is read: only a copy is of one moment

    def drop(self, path: str) -> None:
        with contextlib.suppress(OSError):
            Path(path).unlink()

    def scratch(self) -> Path:
        return self._made() / _SCRATCH_NAME

    def keep(self, document: bytes) -> Path | None:
        try:
            path = self._made() / _SPARE_NAME
            replace_file(path, document, 0o600, is_durable=True)
        except OSError:
            return None
        return path

    def kept(self) -> list[Path]:
        return [folder / _SPARE_NAME for folder in self._folders() if self._is_ours(folder)]

    def another(self) -> Another | None:
        for folder in self._folders():
            if not self._is_ours(folder):
                return Another(_owner(folder), is_recording=_is_in_use(folder))
        return None

    def release(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)

    def remove(self) -> None:
        for folder in self._folders():
            if self._is_ours(folder):
                shutil.rmtree(folder, ignore_errors=True)
        self.release()

    def _folders(self) -> list[Path]:
        """Folders of this run in memory-backed storage, made by this user."""
        found = [path for base in _bases() for path in base.glob(f"{self._prefix}*")]
        return [path for path in found if _is_own_folder(path)]

    def _is_ours(self, folder: Path) -> bool:
        """Whether the folder is of this journal, or of one that is gone: a store may be moved."""
        if folder == self._folder and self._lock is not None:
            return True
        if _is_in_use(folder):
            return False
        owner = _owner(folder)
        if owner is None or _is_missing(owner):
            return True
        try:
            return owner.samefile(self._journal)
        except OSError:
            return False

    def _made(self) -> Path:
        """The folder, private: in a folder such as /dev/shm the kernel refuses root a file of
        another user, and a probe may run as root."""
        if self._folder is None:
            self._folder = self._in_memory() or self._make(self._journal)
        return self._folder

    def _in_memory(self) -> Path | None:
        roomy = [base for base in _bases() if _has_room(base, _ROOM_BYTES)]
        for base in roomy if self._place is None else [self._place]:
            with contextlib.suppress(OSError):
                return self._make(base)
        return None

    def _make(self, base: Path) -> Path:
        """Until it is locked, another process may take the folder for abandoned: then the next one
        is made."""
        while True:
            folder = Path(tempfile.mkdtemp(prefix=self._prefix, dir=base))
            try:
                self._lock = _locked_owner(folder, self._journal)
            except FileNotFoundError:
                continue
            except OSError:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            if self._lock is not None:
                return folder
            shutil.rmtree(folder, ignore_errors=True)


def remove_guests() -> None:
    """Removes what guests of the lab left that were killed together with their guards."""
    for base in _bases():
        if any(base.glob(f"{GUEST_PREFIX}*")):
            from hardstone.lab.lab_folder import remove_abandoned_guests

            remove_abandoned_guests(base)


def remove_abandoned(journals: Path) -> None:
    """Removes the folders of runs whose journal in `journals` is gone, none that holds a run; and
    those of guests."""
    remove_guests()
    for folder, journal in _abandoned():
        has_run = os.path.lexists(folder / _SPARE_NAME)
        if journal.parent == journals and journals.is_dir() and not has_run:
            shutil.rmtree(folder, ignore_errors=True)


def lost_recordings() -> list[tuple[Path, Path]]:
    """Folders of runs whose store is missing, each with the path of that store."""
    found = ((folder, journal.parents[1]) for folder, journal in _abandoned())
    return [(folder, root) for folder, root in found if _is_missing(root)]


def _abandoned() -> Iterator[tuple[Path, Path]]:
    """Folders whose journal is gone, each with the path of that journal."""
    for base in _bases():
        for folder in sorted(base.glob("hardstone-*")):
            with contextlib.suppress(OSError, ValueError):
                if _FOLDER.fullmatch(folder.name) and _is_own_folder(folder):
                    journal = _owner(folder)
                    if journal is None or os.path.lexists(journal):
                        continue
                    if not _is_in_use(folder):  # its store was moved while it records
                        yield folder, journal


def _owner(folder: Path) -> Path | None:
    """The journal that a folder belongs to, None where that is not known."""
    try:
        content = read_regular(folder / _OWNER_NAME, _PATH_BYTES)
    except OSError:
        return None
    journal = Path(os.fsdecode(content))
    # A journal is ROOT/journals/RUN.
    is_path = b"\0" not in content and journal.is_absolute() and len(journal.parts) > 3
    return journal if is_path else None


def _locked_owner(folder: Path, journal: Path) -> int | None:
    """Names `journal` in the folder; the descriptor that locks it, None where it is not locked."""
    descriptor = open_checked(folder / _OWNER_NAME, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    is_locked = False
    try:
        is_locked = take_lock(descriptor)
        write_all(descriptor, os.fsencode(journal))
        is_locked = is_locked and (folder / _OWNER_NAME).exists()
    finally:
        if not is_locked:
            os.close(descriptor)
    return descriptor if is_locked else None


def _is_in_use(folder: Path) -> bool:
    """Whether a tool that records holds the lock in the folder."""
    try:
        descriptor = open_checked(folder / _OWNER_NAME, os.O_RDONLY)
    except OSError:
        return False
    try:
        return not take_lock(descriptor, is_shared=True)
    except OSError:
        return False
    finally:
        os.close(descriptor)


def memory_folder(room_bytes: int) -> Path:
    """A folder for files in memory with that much room; TargetError where there is none."""
    bases = _bases()
    for base in bases:
        if _has_room(base, room_bytes):
            return base
    where = f"free some in {bases[0]}" if bases else f"mount {_DEFAULT}"
    raise TargetError(
        f"no memory file system has {-(-room_bytes // 2**20)} MiB free",
        f"{where}, or name another folder in HARDSTONE_MEMORY_DIR",
    )


def _chunks(path: Path) -> Iterator[bytes]:
    """Pieces of a file, which may be larger than the memory of the tool. The file is opened for the
    first piece: a caller that takes none leaves nothing open."""
    left = RECORDING_LIMIT_BYTES
    with open_regular(path, RECORDING_LIMIT_BYTES) as file:
        while left and (chunk := file.read(min(_CHUNK_BYTES, left))):
            left -= len(chunk)
            yield chunk


def _bases() -> list[Path]:
    first = os.environ.get("HARDSTONE_MEMORY_DIR") or _DEFAULT
    named = [first, os.environ.get("XDG_RUNTIME_DIR", "")]
    folders = [Path(name) for name in named if Path(name).is_absolute()]
    return [path for path in folders if path.is_dir() and os.access(path, os.W_OK | os.X_OK)]


def _has_room(folder: Path, room_bytes: int) -> bool:
    """A file system without a size reports no blocks."""
    state = os.statvfs(folder)
    return not state.f_blocks or state.f_bavail * state.f_frsize >= room_bytes


def _is_own_folder(path: Path) -> bool:
    try:
        return is_folder(path) and path.lstat().st_uid == os.geteuid()
    except OSError:  # removed meanwhile
        return False


def _is_missing(path: Path) -> bool:
    """False where that is unknown, as in a folder that may not be searched."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
