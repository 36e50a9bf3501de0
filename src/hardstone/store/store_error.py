"""Errors of the store, which say what to do. How files are read and written: hardstone.files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from hardstone.errors import InputError
from hardstone.files import remedy_of

_ELSEWHERE = "name another place with --store DIR"


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
