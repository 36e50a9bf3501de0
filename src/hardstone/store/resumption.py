"""A part of a stored run: recorded in a journal of its own, then added to the document.

At any moment at most one journal is of a given run, and the document names the parts that it holds.
So whatever ends the tool, and wherever, each part is in the document once.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from hardstone.errors import InputError
from hardstone.model import RunDocument
from hardstone.stats.joined_run import joined_run
from hardstone.store.documents import (
    parse_document,
    read_stored,
    replace_document,
    write_document,
)
from hardstone.store.place import Place, is_run_id
from hardstone.store.records import JOURNAL_NAME, resumed_by
from hardstone.store.store_error import StoreError


def recorded_now(place: Place) -> dict[str, Path]:
    """The journals that are there, of runs and of parts of runs, by the id of the run."""
    try:
        found = sorted(path for path in place.journals.iterdir() if is_run_id(path.name))
    except OSError:
        return {}
    return {resumed_by(path / JOURNAL_NAME) or path.name: path for path in found}


def check_resumable(place: Place, run_id: str) -> None:
    """StoreError if a journal is of the run; to be called with the lock on journals held."""
    if run_id in recorded_now(place):
        raise StoreError(
            f"run {run_id} is recorded by another process now",
            "wait for its end, or end it; if there is none: hardstone runs",
        )


def is_joined(place: Place, run_id: str, part_id: str) -> bool:
    """Whether the document of the run holds the part."""
    try:
        return part_id in {part.id for part in read_stored(place, run_id).parts}
    except InputError:
        return False


def store_part(place: Place, run_id: str, part: RunDocument) -> RunDocument:
    """Adds `part` to the stored run; what is stored then.

    StoreError if that cannot be written, or not be read for now. If the document is gone or
    damaged, the part becomes a run of its own: what was recorded is not lost with it.
    """
    whole = _read(place, run_id)
    if whole is not None:
        joined = joined_run(whole, part)
        try:
            joined = parse_document(msgspec.json.encode(joined), "the run")
        except InputError:
            whole = None  # too large, with this part
        else:
            replace_document(place, joined)
            return joined
    write_document(place, part)
    return part


def _read(place: Place, run_id: str) -> RunDocument | None:
    if not os.path.lexists(place.document(run_id)):
        return None
    try:
        return read_stored(place, run_id)
    except StoreError:
        raise
    except InputError:
        return None
