"""The folder where the lab keeps kernels and what it makes of them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hardstone.errors import InputError, TargetError
from hardstone.files import is_folder, remedy_of, take_lock

_ELSEWHERE = "name another folder in HARDSTONE_LAB_DIR"
_LOCK_NAME = "lock"
_WORK_NAME = "work"


def lab_folder() -> Path:
    """$HARDSTONE_LAB_DIR, $XDG_CACHE_HOME/hardstone/lab, or ~/.cache/hardstone/lab.

    It may be missing. InputError if there is no home folder to look in.
    """
    own = os.environ.get("HARDSTONE_LAB_DIR", "")
    if own.strip():
        return Path(own).absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    if Path(base).is_absolute():
        return Path(base) / "hardstone" / "lab"
    try:
        return Path.home() / ".cache" / "hardstone" / "lab"
    except RuntimeError:
        raise InputError("there is no home folder", _ELSEWHERE) from None


def console_log(kernel: str) -> Path:
    """What the last guest of `kernel` wrote to its console; it may be missing."""
    return lab_folder() / "consoles" / f"{kernel}.log"


@contextlib.contextmanager
def lab_errors(doing: str, path: Path) -> Iterator[None]:
    """Turns an OSError inside into a TargetError that names the path and the remedy."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        remedy = remedy_of(error, _ELSEWHERE)
        raise TargetError(f"cannot {doing} {path}: {reason}", remedy) from error


@contextlib.contextmanager
def lab_lock() -> Iterator[None]:
    """Waits until no other process changes the lab's folder. OSError if it cannot be written."""
    root = lab_folder()
    root.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(root / _LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def work_folder() -> Iterator[Path]:
    """An empty folder in the lab's, for what is not finished; removed at the end.

    A lock on the folder says that its process lives. The next call removes the folders of
    processes that were killed. OSError if it cannot be made.
    """
    with lab_lock():
        works = _works()
        _remove_abandoned(works)
        folder = Path(tempfile.mkdtemp(dir=works))
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def discard(path: Path) -> None:
    """Removes a file or folder of the lab's at once: what a kill leaves of it is no entry.

    OSError if it stays.
    """
    with lab_lock():
        gone = _works() / f"{secrets.token_hex(8)}"
        path.rename(gone)
    if is_folder(gone):
        shutil.rmtree(gone, ignore_errors=True)
    else:
        gone.unlink()


def _works() -> Path:
    works = lab_folder() / _WORK_NAME
    works.mkdir(exist_ok=True)
    return works


def _remove_abandoned(works: Path) -> None:
    for folder in works.iterdir():
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if take_lock(descriptor):
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)
