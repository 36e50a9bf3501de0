"""Where runs are stored: the folder, ids of runs, locks, and the error of a store that cannot be
used.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hardstone.errors import InputError
from hardstone.files import OddFileError, open_checked, pause, remedy_of, take_lock

_ELSEWHERE = "choose another folder with --store DIR"


class StoreError(InputError):
    """The store cannot be read or written. What is on disk already stays there."""


@contextlib.contextmanager
def store_errors(doing: str, path: Path) -> Iterator[None]:
    """Turns an OSError inside into a StoreError that names the path and the remedy."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        remedy = remedy_of(error, _ELSEWHERE)
        raise StoreError(f"cannot {doing} {path}: {reason}", remedy) from error


DOCUMENT_SUFFIX = ".json.gz"
_RUN_ID = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{6}")


@dataclass(frozen=True)
class Place:
    """runs/ID.json.gz are the documents, each with runs/ID.summary.json; journals/ID/ are the runs
    that are not finished."""

    root: Path

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def journals(self) -> Path:
        return self.root / "journals"

    @property
    def journals_lock(self) -> Path:
        return self.root / "journals.lock"

    @property
    def index(self) -> Path:
        return self.root / "index.sqlite"

    def document(self, run_id: str) -> Path:
        return self.runs / f"{run_id}{DOCUMENT_SUFFIX}"

    def summary(self, run_id: str) -> Path:
        return self.runs / f"{run_id}.summary.json"


def new_run_id(now: datetime | None = None) -> str:
    """Identifier of a run: UTC to the second, so that they sort, and 24 random bits."""
    at = (now or datetime.now(UTC)).astimezone(UTC)
    return f"{at:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def is_run_id(text: str) -> bool:
    """Whether `text` has the form of a run's identifier, and so is safe as a file name."""
    return _RUN_ID.fullmatch(text) is not None


def default_root() -> Path:
    """$XDG_DATA_HOME/hardstone, or ~/.local/share/hardstone."""
    base = os.environ.get("XDG_DATA_HOME", "")
    if Path(base).is_absolute():
        return Path(base) / "hardstone"
    try:
        return Path.home() / ".local/share/hardstone"
    except RuntimeError:
        raise InputError("there is no home folder", "choose a folder with --store DIR") from None


def open_place(root: Path | None) -> Place:
    """The place, made if it is missing; a store that cannot be written may still be read.

    StoreError when it is no folder, cannot be read or cannot be made.
    """
    path = (root or default_root()).absolute()
    with store_errors("make the store", path):
        path.mkdir(parents=True, exist_ok=True)
    with store_errors("read the store", path), os.scandir(path):
        pass
    return Place(path)


WAIT_S = 30.0
_STEP_S = 0.02


class StoreBusyError(StoreError):
    """Another process holds a lock for longer than a few file operations take."""


class FileLock:
    """An exclusive flock on a file, held until `release` or the end of the process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        """Releases the lock; may be called twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def try_lock(path: Path) -> FileLock | None:
    """The lock on `path`, made if missing; None when another process holds it.

    OSError if the file cannot be opened or its folder is gone; OddFileError for what is not a
    file.
    """
    return _locked(open_checked(path, os.O_RDWR | os.O_CREAT))


def _locked(descriptor: int) -> FileLock | None:
    is_ours = False
    try:
        is_ours = take_lock(descriptor)
    finally:
        if not is_ours:
            os.close(descriptor)
    return FileLock(descriptor) if is_ours else None


@contextlib.contextmanager
def exclusive(path: Path, instead: Path | None = None, *, wait_s: float = WAIT_S) -> Iterator[None]:
    """Holds the lock on `path` for a few file operations; StoreBusyError if it stays taken.

    If `path` is not a file, or belongs to another user, the folder `instead` is locked, as every
    process does then. (A network file system may lock files only.)
    """
    deadline_s = time.monotonic() + wait_s
    while (lock := _try_either(path, instead)) is None:
        if time.monotonic() > deadline_s:
            raise StoreBusyError(
                f"the store is busy: another process holds {path}",
                "end the other hardstone process, or continue it if it is stopped",
            )
        pause(_STEP_S)
    try:
        yield
    finally:
        lock.release()


def _try_either(path: Path, instead: Path | None) -> FileLock | None:
    try:
        return try_lock(path)
    except (OddFileError, PermissionError):
        if instead is None:
            raise
    return _locked(os.open(instead, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
