"""The folders of the lab: kernels, what was unpacked of them, and what guests leave."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hardstone.errors import InputError, TargetError, printable
from hardstone.files import is_folder, remedy_of, sync_folder, take_lock
from hardstone.lab.settings import NAME
from hardstone.memory import GUEST_PREFIX

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
def _lab_lock() -> Iterator[None]:
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
    with _lab_lock():
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
    with _lab_lock():
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


_OLD_SUFFIX = ".old"  # of names that begin with a dot, as no kernel's does


def check_name(name: str) -> None:
    """InputError unless `name` may be that of a kernel: it becomes the name of a folder."""
    if not NAME.fullmatch(name):
        raise InputError(
            f"'{printable(name)[:80]}' cannot be the name of a kernel",
            "use small letters, digits and . _ @ + -, at most 61, a letter or digit first",
        )


def entry_folder(name: str) -> Path:
    """The folder of the kernel `name`, which may be missing; InputError for a bad name."""
    check_name(name)
    return lab_folder() / "kernels" / name


def entry_names() -> list[str]:
    """Names of all entries, usable or not, sorted. OSError if the folder cannot be read."""
    folder = lab_folder() / "kernels"
    for name in _listed(folder):
        if name.startswith(".") and NAME.fullmatch(name[1:].removesuffix(_OLD_SUFFIX)):
            put_back(folder / name[1:].removesuffix(_OLD_SUFFIX))
    return sorted(filter(NAME.fullmatch, _listed(folder)))


def _listed(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir()]
    except FileNotFoundError:
        return []


def exchange(fresh: Path, folder: Path) -> None:
    """Puts `fresh` in the place of `folder`, which may be missing. OSError: all is as before.

    Whoever looks after a kill in between must call `put_back` first.
    """
    old = _old(folder)
    with _lab_lock():
        folder.parent.mkdir(exist_ok=True)
        _settle(folder)
        if os.path.lexists(folder):
            folder.rename(old)
        try:
            fresh.rename(folder)
        except OSError:
            if os.path.lexists(old):
                old.rename(folder)
            raise
        sync_folder(folder.parent)
        _remove(old)


def put_back(folder: Path) -> None:
    """Ends what a killed process had begun: the old entry is in its place, or the new one."""
    if os.path.lexists(_old(folder)):
        with _lab_lock():
            _settle(folder)


def _settle(folder: Path) -> None:
    old = _old(folder)
    if os.path.lexists(folder):
        _remove(old)
    elif os.path.lexists(old):
        old.rename(folder)


def _old(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}{_OLD_SUFFIX}")


def _remove(path: Path) -> None:
    if is_folder(path):
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def make_guest_folder(base: Path) -> tuple[Path, int]:
    """A new folder in `base` and the descriptor that locks it while a process has it open.

    Until it is locked, another process may take the folder for abandoned: then the next one is
    made. OSError.
    """
    while True:
        folder = Path(tempfile.mkdtemp(prefix=GUEST_PREFIX, dir=base))
        with contextlib.suppress(FileNotFoundError):
            lock = _opened(folder)
            if take_lock(lock) and os.path.samestat(folder.stat(), os.fstat(lock)):
                return folder, lock
            os.close(lock)


def remove_abandoned_guests(base: Path) -> None:
    """Removes folders of this user in `base` whose guest, guard and tool are gone."""
    for folder in sorted(base.glob(f"{GUEST_PREFIX}*")):
        with contextlib.suppress(OSError):
            lock = _opened(folder)
            try:
                if os.fstat(lock).st_uid == os.geteuid() and take_lock(lock):
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def _opened(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
