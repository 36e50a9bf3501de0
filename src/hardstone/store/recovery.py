"""Runs whose tool was ended: what was finished is taken as it is, the rest is labelled."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable
from pathlib import Path

import msgspec

from hardstone.errors import InputError
from hardstone.files import OddFileError, check_folder
from hardstone.model import Result, RunDocument
from hardstone.stats.conditions import result_under
from hardstone.stats.trust import grade_run
from hardstone.store.backing import (
    SPARE_NAME,
    find_backing_folders,
    is_backing_of,
    is_recording,
    remove_abandoned,
    slot_paths,
)
from hardstone.store.documents import (
    parse_document,
    read_document,
    read_stored,
    write_document,
)
from hardstone.store.errors import StoreError, store_errors
from hardstone.store.journal import remove_journal
from hardstone.store.locks import FileLock, StoreBusyError, exclusive, try_lock
from hardstone.store.place import Place, is_run_id
from hardstone.store.records import JOURNAL_NAME, LOCK_NAME, Replay, Started, replay
from hardstone.stream import StreamReader

ENDED = "the tool was ended while this test ran"
_ERRNO = re.compile(r"[0-9]{1,5}", re.ASCII)
_MOST_SAID = 20
Dump = Callable[[Path], list[bytes]]


class DamagedError(StoreError):
    """A journal that no run can be made of."""


def recover_runs(place: Place, dump: Dump, say: Callable[[str], object]) -> list[str]:
    """Store the runs whose owner is gone, and take their journals away; their ids.

    `dump` turns a file that a probe recorded into, or a copy of it, into stream lines.
    Several processes may do this at once: each journal is one's. A journal that cannot be
    recovered is told to `say` in one line and costs no other: it stays where the store is
    what fails, and is set aside as ID.damaged where it is damaged itself.
    """
    recovered = []
    failures = []
    try:
        for folder in _journals(place):
            try:
                if _recover(place, folder, dump):
                    recovered.append(folder.name)
            except DamagedError as error:
                failures.append(str(error))
            except StoreError as error:
                failures.append(f"a run that was cut off could not be recovered: {error}")
                if isinstance(error, StoreBusyError):  # and would be for each journal
                    break
    except StoreError as error:
        failures.append(f"runs that were cut off are not recovered: {error}")
    finally:
        remove_abandoned(place.journals)
    _tell(failures, say)
    return recovered


def _tell(failures: list[str], say: Callable[[str], object]) -> None:
    for text in failures[:_MOST_SAID]:
        say(text)
    if len(failures) > _MOST_SAID:
        say(f"and {len(failures) - _MOST_SAID} more journals could not be recovered")


def _journals(place: Place) -> list[Path]:
    """What may be journals. A link to a folder as place.journals is its user's decision."""
    try:
        with store_errors("look for journals in", place.journals):
            return sorted(path for path in place.journals.iterdir() if is_run_id(path.name))
    except StoreError:
        if not os.path.lexists(place.journals):
            return []
        raise


def _recover(place: Place, folder: Path, dump: Dump) -> bool:
    """Whether a document was stored; False also for a journal that somebody holds."""
    lock = _claim(place, folder)
    if lock is None:
        return False
    try:
        return _store(place, folder, lock, dump)
    finally:
        lock.release()


def _claim(place: Place, folder: Path) -> FileLock | None:
    lock = folder / LOCK_NAME
    with (
        store_errors("lock the journals in", place.root),
        exclusive(place.journals_lock, place.journals),
        contextlib.suppress(FileNotFoundError),  # somebody else has recovered it
    ):
        with store_errors("look into the journal", folder):
            check_folder(folder)
        with store_errors("lock the journal with", lock):
            return try_lock(lock)
    return None


def _store(place: Place, folder: Path, lock: FileLock, dump: Dump) -> bool:
    """Whether a document was stored. A journal that ended before its plan held nothing."""
    run_id = folder.name
    document = None if _is_stored(place, run_id) else _recovered(folder, dump)
    if document is not None:
        write_document(place, document)
    for left in place.runs.glob(f".{run_id}*.tmp"):
        with contextlib.suppress(OSError):
            left.unlink()
    remove_journal(place, run_id, lock)
    return document is not None


def _is_stored(place: Place, run_id: str) -> bool:
    """StoreError where something else than the run has the name of its document."""
    if not os.path.lexists(place.document(run_id)):
        return False
    try:
        read_stored(place, run_id)
    except InputError as error:
        raise StoreError(f"what has its name cannot be read: {error.cause}", error.remedy) from None
    return True


def _recovered(folder: Path, dump: Dump) -> RunDocument | None:
    """The run that a journal holds, None if it ended before its plan."""
    try:
        state = _replay(folder)
        if state.document is not None:
            return _checked(_rebuild(folder, state, state.document, dump))
        if not state.results and state.started is None and not state.is_damaged:
            return None
        why = "its plan is lost"
    except OddFileError as error:
        why = f"{JOURNAL_NAME}: {error.strerror}"
    except InputError as error:
        why = error.cause
    except OSError:
        with store_errors("read the journal", folder):
            raise
    except MemoryError:
        raise StoreError(f"too little memory to read the journal {folder}", "free some") from None
    except Exception as error:
        # Whatever a damaged journal leads to, the other runs must not be lost.
        why = f"{type(error).__name__}: {error}"
    raise _set_aside(folder, why[:200])


def _set_aside(folder: Path, why: str) -> DamagedError:
    """Give a journal a name under which it is not looked at again."""
    with store_errors("set aside the journal", folder):
        for number in range(1, 1000):
            ending = "damaged" if number == 1 else f"damaged-{number}"
            aside = folder.with_name(f"{folder.name}.{ending}")
            if not os.path.lexists(aside):
                break
        folder.rename(aside)
    return DamagedError(f"the journal of run {folder.name} is damaged ({why})", f"it is in {aside}")


def _replay(folder: Path) -> Replay:
    try:
        state = replay(folder / JOURNAL_NAME)
    except FileNotFoundError:
        return Replay()
    if state.document is not None and state.document.id != folder.name:
        state.document = None
    return state


def _checked(document: RunDocument) -> RunDocument:
    """What was taken from a journal must be readable as a run ever after."""
    return parse_document(msgspec.json.encode(document), "the run")


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
        number = note.name.rpartition("-")[2]
        if _ERRNO.fullmatch(number):
            reason = os.strerror(int(number))
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
    slots = [path for path in slot_paths(folder, started.number) if is_recording(path)]
    is_live = is_backing_of(started.backing, run_id) and is_recording(started.backing)
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
