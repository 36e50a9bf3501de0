"""Runs whose tool was ended: what was finished is taken as it is, the rest is labelled."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from hardstone.errors import InputError
from hardstone.model import Result, RunDocument
from hardstone.stats.conditions import result_under
from hardstone.stats.trust import grade_run
from hardstone.store.backing import (
    SPARE_NAME,
    find_backing_folders,
    is_backing_of,
    remove_abandoned,
    slot_paths,
)
from hardstone.store.documents import read_document, write_document
from hardstone.store.files import store_errors
from hardstone.store.journal import remove_journal
from hardstone.store.locks import FileLock, exclusive, try_lock
from hardstone.store.place import Place, is_run_id
from hardstone.store.records import JOURNAL_NAME, LOCK_NAME, Replay, Started, replay
from hardstone.stream import StreamReader

ENDED = "the tool was ended while this test ran"
Dump = Callable[[Path], list[bytes]]


def recover_runs(place: Place, dump: Dump) -> list[str]:
    """Store the runs whose owner is gone, and take their journals away; their ids.

    `dump` turns a file that a probe recorded into, or a copy of it, into stream lines.
    Several processes may do this at once: each journal is one's. StoreError if a run
    cannot be stored; its journal stays, and what was recovered before is kept. A journal
    that lost its plan is set aside as ID.damaged.
    """
    claims: dict[str, FileLock] = {}
    try:
        _claim_abandoned(place, claims)
        return [run_id for run_id, lock in claims.items() if _recover(place, run_id, lock, dump)]
    finally:
        remove_abandoned(place.journals)
        for lock in claims.values():
            lock.release()


def _claim_abandoned(place: Place, claims: dict[str, FileLock]) -> None:
    with store_errors("look for journals in the store", place.root):
        if not any(_journals(place)):
            return
        with exclusive(place.journals_lock):
            for folder in _journals(place):
                lock = try_lock(folder / LOCK_NAME)
                if lock is not None:
                    claims[folder.name] = lock


def _journals(place: Place) -> list[Path]:
    if not place.journals.is_dir():
        return []
    return sorted(path for path in place.journals.iterdir() if is_run_id(path.name))


def _recover(place: Place, run_id: str, lock: FileLock, dump: Dump) -> bool:
    """Whether a document was stored. A journal that ended before its plan held nothing."""
    folder = place.journals / run_id
    is_stored = place.document(run_id).exists()
    state = Replay() if is_stored else _replay(folder)
    if state.document is None and (state.results or state.started):
        folder.rename(folder.with_name(f"{run_id}.damaged"))
        return False
    if state.document is not None:
        write_document(place, _rebuild(folder, state, state.document, dump))
    for left in place.runs.glob(f".{run_id}*.tmp"):
        left.unlink(missing_ok=True)
    remove_journal(place, run_id, lock)
    return state.document is not None


def _replay(folder: Path) -> Replay:
    journal = folder / JOURNAL_NAME
    state = replay(journal) if journal.exists() else Replay()
    if state.document is not None and state.document.id != folder.name:
        state.document = None
    return state


def _rebuild(folder: Path, state: Replay, document: RunDocument, dump: Dump) -> RunDocument:
    spare = _spare(document.id)
    if spare is not None and spare.finished_utc is not None:
        return spare
    kept = [] if spare is None else spare.results
    results = max(list(state.results), kept, key=len)
    is_kept = state.started is not None and (state.started.number or 0) <= len(kept)
    if state.started is not None and not is_kept:
        result = _unfinished(folder, document.id, state.started, dump)
        results.append(_under_plan(document, len(results), result))
    rebuilt = msgspec.structs.replace(
        document, results=results, status="incomplete", finished_utc=None
    )
    rebuilt.trust = grade_run(rebuilt)
    return rebuilt


def _under_plan(document: RunDocument, place: int, result: Result) -> Result:
    """Conditions as planned: what was cut off has not told them."""
    planned = document.plan.tests[place : place + 1]
    if planned and planned[0].test == result.test:
        result.params = result.params or planned[0].params
        return result_under(planned[0], result)
    return result


def _spare(run_id: str) -> RunDocument | None:
    """The run as its tool kept it in memory, when it could not write the store."""
    for folder in find_backing_folders(run_id):
        with contextlib.suppress(InputError):
            document = read_document(folder / SPARE_NAME)
            if document.id == run_id:
                return document
    return None


def _why_ended(folder: Path, started: Started) -> str:
    for note in folder.glob(f"failed-{started.number}-*"):
        reason = os.strerror(int(note.name.rpartition("-")[2]))
        return f"the journal could not be written while this test ran: {reason}"
    return ENDED


def _unfinished(folder: Path, run_id: str, started: Started, dump: Dump) -> Result:
    """The result of the test that ran: from its stream if that is whole, else from what
    holds most of stream, live file and copies."""
    streamed = _read(started.test, started.lines)
    if streamed.is_complete:
        return streamed.finish()
    candidates = [streamed]
    for path in _recordings(folder, run_id, started):
        candidates.append(_read(started.test, _dumped(dump, path)))
    return _labelled(max(candidates, key=_worth), _why_ended(folder, started))


def _recordings(folder: Path, run_id: str, started: Started) -> list[Path]:
    if started.number is None or started.backing is None:
        return []
    slots = [path for path in slot_paths(folder, started.number) if path.is_file()]
    is_live = is_backing_of(started.backing, run_id) and started.backing.is_file()
    return [started.backing, *slots] if is_live else slots


def _dumped(dump: Dump, path: Path) -> list[bytes]:
    try:
        return dump(path)
    except Exception:
        # Whatever goes wrong with one file, the finished results must not be lost.
        return []


def _read(test: str, lines: list[bytes]) -> StreamReader:
    reader = StreamReader(test)
    for line in lines:
        reader.feed(line)
    return reader


def _samples(reader: StreamReader) -> int:
    return sum(series.count for series in reader.finish().series)


def _worth(reader: StreamReader) -> tuple[bool, bool, int]:
    """Whether there are samples, then whether nothing was wrong, then how many there are."""
    samples = _samples(reader)
    return samples > 0, reader.problem is None, samples


def _labelled(reader: StreamReader, why: str) -> Result:
    result = reader.finish()
    result.status = "measured" if _samples(reader) else "failed"
    result.complete = False
    result.reason = why if reader.problem is None else f"{why}; {reader.problem}"
    return result
