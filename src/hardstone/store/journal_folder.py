"""The folder of a journal: made with its lock held and the first record on disk, and removed."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from hardstone.files import sync_folder
from hardstone.memory import Memory
from hardstone.store.append import AppendFile
from hardstone.store.locks import FileLock, exclusive, try_lock
from hardstone.store.place import Place, is_run_id
from hardstone.store.records import JOURNAL_NAME, LOCK_NAME, RunRecord, encode_record
from hardstone.store.resumption import check_resumable
from hardstone.store.store_error import StoreError, store_errors


def remove_journal(place: Place, run_id: str, lock: FileLock, memory: Memory) -> None:
    """Removes what a stored run has left in `memory` and journal, and releases its lock."""
    memory.remove()
    try:
        with exclusive(place.journals_lock, place.journals):
            shutil.rmtree(place.journals / run_id, ignore_errors=True)
    finally:
        lock.release()


def create_journal(place: Place, record: RunRecord) -> tuple[FileLock, AppendFile]:
    """The folder, with its lock held and the first record on disk. Leaves nothing if it fails."""
    document = record.document
    if not is_run_id(document.id):
        raise ValueError(f"{document.id[:40]!r} is not an id of new_run_id")
    folder = place.journals / document.id
    if os.path.lexists(place.document(document.id)) or os.path.lexists(folder):
        raise StoreError(f"run {document.id} exists already", "use a new id for each run")
    for needed in (place.journals, place.runs):
        with store_errors("make", needed):
            needed.mkdir(exist_ok=True)
    with (
        store_errors("make a journal in the store", place.root),
        # Until the journal says whose it is: of each run there is one.
        exclusive(place.journals_lock, place.journals),
    ):
        if record.resumes is not None:
            check_resumable(place, record.resumes)
        folder.mkdir()
        lock = try_lock(folder / LOCK_NAME)
        if lock is None:
            raise StoreError(f"the new journal {folder} is taken", "try again")
        try:
            return lock, _first_record(folder, record)
        except OSError:
            lock.release()
            shutil.rmtree(folder, ignore_errors=True)
            raise


def _first_record(folder: Path, record: RunRecord) -> AppendFile:
    file = AppendFile(folder / JOURNAL_NAME)
    try:
        file.append(encode_record(record), is_sync=True)
        for changed in (folder, folder.parent, folder.parent.parent):
            sync_folder(changed)
    except OSError:
        with contextlib.suppress(OSError):
            file.close()
        raise
    return file
