"""Errors of the store, which say what to do. How files are read and written: hardstone.files."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from hardstone.errors import InputError
from hardstone.files import OddFileError

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
        remedy = _REMEDIES.get(error.errno or 0, f"check the disk, {_ELSEWHERE}")
        if isinstance(error, OddFileError):
            remedy = "move it away"
        reason = error.strerror or str(error)
        raise StoreError(f"cannot {doing} {path}: {reason}", remedy) from error
