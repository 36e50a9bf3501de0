"""Files that are there after a power cut, and errors that say what to do."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from hardstone.errors import InputError

_ELSEWHERE = "or name another place with --store DIR"
_REMEDIES = {
    errno.ENOSPC: f"free some space there, {_ELSEWHERE}",
    errno.EDQUOT: f"free some space of your quota there, {_ELSEWHERE}",
    errno.EFBIG: f"raise the limit on file sizes, {_ELSEWHERE}",
    errno.EROFS: f"it is on a read-only file system: mount it writable, {_ELSEWHERE}",
    errno.EACCES: f"give yourself access, {_ELSEWHERE}",
    errno.EPERM: f"give yourself access, {_ELSEWHERE}",
    errno.ENOTDIR: f"move the file that is in the way, {_ELSEWHERE}",
    errno.EEXIST: f"move the file that is in the way, {_ELSEWHERE}",
}


class StoreError(InputError):
    """The store cannot be read or written. What is on disk already stays there."""


@contextlib.contextmanager
def store_errors(doing: str, path: Path) -> Iterator[None]:
    """Turns an OSError inside into a StoreError that names the path and the remedy."""
    try:
        yield
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, f"look at the disk, {_ELSEWHERE}")
        reason = error.strerror or str(error)
        raise StoreError(f"cannot {doing} {path}: {reason}", remedy) from error


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of `data`; OSError with what was written before still in the file."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def sync_folder(folder: Path) -> None:
    """Make names that were added to or taken from `folder` last."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: Path, data: bytes, mode: int) -> None:
    """Put `data` at `path`: either all of it is there, also after a power cut, or nothing."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            write_all(descriptor, data)
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.rename(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
