"""Runs whose tool was ended: what was finished is taken as it is, the rest is labelled."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from hardstone.model import Result, RunDocument
from hardstone.stats.trust import grade_run
from hardstone.store.backing import is_backing_of, slot_paths
from hardstone.store.documents import write_document
from hardstone.store.files import store_errors
from hardstone.store.journal import remove_journal
from hardstone.store.locks import FileLock, exclusive, try_lock
from hardstone.store.place import Place, is_run_id
from hardstone.store.records import JOURNAL_NAME, LOCK_NAME, Started, replay
from hardstone.stream import StreamReader

ENDED = "the tool was ended while this test ran"
Dump = Callable[[Path], list[bytes]]


def recover_runs(place: Place, dump: Dump) -> list[str]:
    """Store the runs whose owner is gone, and take their journals away; their ids.

    `dump` turns a file that a probe recorded into, or a copy of it, into stream lines.
    Several processes may do this at once: each journal is one's. StoreError if a run
    cannot be stored; its journal stays, and what was recovered before is kept.
    """
    claims = dict(_claim_abandoned(place))
    recovered = []
    try:
        for run_id in sorted(claims):
            if _recover(place, run_id, claims[run_id], dump):
                recovered.append(run_id)
    finally:
        for lock in claims.values():
            lock.release()
    return recovered


def _claim_abandoned(place: Place) -> Iterator[tuple[str, FileLock]]:
    if not place.journals.is_dir():
        return
    with (
        store_errors("look for journals in the store", place.root),
        exclusive(place.journals_lock),
    ):
        for folder in sorted(place.journals.iterdir()):
            if is_run_id(folder.name) and folder.is_dir():
                lock = try_lock(folder / LOCK_NAME)
                if lock is not None:
                    yield folder.name, lock


def _recover(place: Place, run_id: str, lock: FileLock, dump: Dump) -> bool:
    """Whether a document was stored. A journal without its first line held nothing."""
    folder = place.journals / run_id
    document = None if place.document(run_id).exists() else _rebuild(folder, run_id, dump)
    if document is not None:
        write_document(place, document)
    for left in place.runs.glob(f".{run_id}*.tmp"):
        left.unlink(missing_ok=True)
    remove_journal(place, run_id, lock)
    return document is not None


def _rebuild(folder: Path, run_id: str, dump: Dump) -> RunDocument | None:
    journal = folder / JOURNAL_NAME
    if not journal.exists():
        return None
    state = replay(journal)
    if state.document is None or state.document.id != run_id:
        return None
    if state.started is not None:
        state.results.append(_unfinished(folder, run_id, state.started, dump))
    document = msgspec.structs.replace(
        state.document, results=state.results, status="incomplete", finished_utc=None
    )
    document.trust = grade_run(document)
    return document


def _unfinished(folder: Path, run_id: str, started: Started, dump: Dump) -> Result:
    """The result of the test that ran: from its stream if that is whole, else the best of
    stream, live file and copies, newest first."""
    streamed = _read(started.test, started.lines)
    if streamed.is_complete:
        return streamed.finish()
    candidates = [streamed]
    for path in _recordings(folder, run_id, started):
        candidates.append(_read(started.test, _dumped(dump, path)))
    return _labelled(max(candidates, key=_worth))


def _recordings(folder: Path, run_id: str, started: Started) -> list[Path]:
    if started.number is None or started.backing is None:
        return []
    slots = [path for path in slot_paths(folder, started.number) if path.is_file()]
    slots.sort(key=lambda path: path.stat().st_mtime_ns, reverse=True)
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


def _worth(reader: StreamReader) -> tuple[bool, bool]:
    """Samples come first, then a stream without a problem; of equals the newest is taken."""
    has_samples = any(series.count for series in reader.finish().series)
    return has_samples, reader.problem is None


def _labelled(reader: StreamReader) -> Result:
    result = reader.finish()
    has_samples = any(series.count for series in result.series)
    result.status = "measured" if has_samples else "failed"
    result.complete = False
    result.reason = ENDED if reader.problem is None else f"{ENDED}; {reader.problem}"
    return result


def has_abandoned(place: Place) -> bool:
    """Whether there is a journal that nobody holds."""
    with contextlib.suppress(OSError):
        for folder in place.journals.iterdir():
            lock = try_lock(folder / LOCK_NAME) if is_run_id(folder.name) else None
            if lock is not None:
                lock.release()
                return True
    return False
