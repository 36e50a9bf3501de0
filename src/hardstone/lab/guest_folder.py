"""The folder of a guest in memory. Whoever lives for a guest holds a lock on its folder, which the
kernel releases: a folder without a lock is abandoned."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from hardstone.files import take_lock

_PREFIX = "hardstone-lab-"


def make_guest_folder(base: Path) -> tuple[Path, int]:
    """A new folder in `base` and the descriptor that locks it while a process has it open.

    Until it is locked, another process may take the folder for abandoned: then the next one is
    made. OSError.
    """
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
        with contextlib.suppress(FileNotFoundError):
            lock = _opened(folder)
            if take_lock(lock) and _is_there(folder, lock):
                return folder, lock
            os.close(lock)


def remove_abandoned_guests(base: Path) -> None:
    """Removes folders of this user in `base` whose guest, guard and tool are gone."""
    for folder in sorted(base.glob(f"{_PREFIX}*")):
        with contextlib.suppress(OSError):
            lock = _opened(folder)
            try:
                if os.fstat(lock).st_uid == os.geteuid() and take_lock(lock):
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def _opened(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _is_there(folder: Path, lock: int) -> bool:
    return os.path.samestat(folder.stat(), os.fstat(lock))
