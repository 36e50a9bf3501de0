"""Opens a run for Python: by name, by file, or a published system."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from hardstone.errors import InputError
from hardstone.model import RunDocument
from hardstone.notebook.loaded_run import Run, published_run
from hardstone.present.wording import one_line
from hardstone.stats.contradictions import told
from hardstone.store import Store, default_root, read_document
from hardstone.subjects import PREFIX, subjects_of

_FILES = (".json", ".json.gz")


def load(run: str | Path, store: str | Path | None = None) -> Run:
    """A run of the store, of a file, or a published system. Nothing is written.

    `run` is an ID, the start of one, a name, or "last" (see `hardstone runs`); the path of a file,
    which has a "/" in it or ends in .json or .json.gz; or "published:qnx" (see `hardstone list
    published`). `store`: the folder of the store, by default that of the command line.

    InputError, with a remedy, if there is none or it cannot be read. Warns where figures of the
    run cannot be true, and where a newer run of the name cannot be read.
    """
    text = os.fspath(run)
    if text.startswith(PREFIX):
        return published_run(text)
    is_file = isinstance(run, Path) or os.sep in text or text.endswith(_FILES)
    document = _of_file(Path(text).expanduser()) if is_file else _stored(text, store)
    for line in told(document):
        _warn(f"{document.id}: {line}")
    return Run(tuple(subjects_of(document)))


def _of_file(path: Path) -> RunDocument:
    if not os.path.lexists(path):
        raise InputError(f"there is no file {path}", "name a run by its ID, its name, or 'last'")
    return read_document(path)


def _stored(text: str, store: str | Path | None) -> RunDocument:
    root = default_root() if store is None else Path(store).expanduser()
    if not root.is_dir():  # opening it would make it
        raise InputError(f"there is no store {root}", "measure something: hardstone evaluate")
    return Store(root, _warn).load(text)


def _warn(text: str) -> None:
    warnings.warn(one_line(text), stacklevel=3)
