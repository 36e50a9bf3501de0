"""Stores what an interrupted run left in its journal and in the memory of its target."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from hardstone.errors import InputError, TargetError
from hardstone.files import OddFileError, check_folder
from hardstone.memory import LEFT_NAME, Another, Memory, Recorder
from hardstone.model import Result, RunDocument
from hardstone.stats.conditions import result_under
from hardstone.stats.sustained import mark_breach
from hardstone.stats.trust import grade_run
from hardstone.store.documents import parse_document, read_document, read_stored, write_document
from hardstone.store.journal import (
    JOURNAL_NAME,
    LOCK_NAME,
    Replay,
    Started,
    is_joined,
    remove_journal,
    replay,
    resumed_by,
    store_part,
    target_of,
)
from hardstone.store.place import (
    FileLock,
    Place,
    StoreBusyError,
    StoreError,
    exclusive,
    is_run_id,
    store_errors,
    try_lock,
)
from hardstone.store.slots import usable_slots
from hardstone.stream import StreamReader

_MOST_FAILURES_SHOWN = 20


class DamagedError(StoreError):
    """A journal that no run can be made of."""


def recover_runs(
    place: Place, dump: Dump, reopen: Reopen, say: Callable[[str], object]
) -> list[str]:
    """Stores the runs whose tool was ended and removes their journals; their ids.

    `dump` and `reopen` as in `Store.recover`. Several processes may do this at once: each journal
    is recovered by one; a run that is left on its target is for `reclaim`. A journal that cannot be
    recovered is reported to `say` in one line and the others are recovered all the same: it stays
    where the store fails, and is set aside as ID.damaged where it is damaged itself.
    """
    recovered = []
    failures = []
    try:
        for folder in _journals(place):
            if os.path.lexists(folder / LEFT_NAME):
                continue
            try:
                stored = _recover(place, folder, dump, reopen, say)
                if stored is not None:
                    recovered.append(stored)
            except DamagedError as error:
                failures.append(str(error))
            except StoreError as error:
                failures.append(f"an unfinished run could not be recovered: {error}")
                if isinstance(error, StoreBusyError):  # and would be for each journal
                    break
    except StoreError as error:
        failures.append(f"unfinished runs are not recovered: {error}")
    for text in failures[:_MOST_FAILURES_SHOWN]:
        say(text)
    if len(failures) > _MOST_FAILURES_SHOWN:
        say(f"and {len(failures) - _MOST_FAILURES_SHOWN} more journals could not be recovered")
    return recovered


@dataclass(frozen=True)
class LeftRun:
    """A run that goes on, or has ended, on its target without the toolkit. `is_recorded`: a process
    here still waits for it."""

    id: str
    target: str
    journal: Path
    is_recorded: bool


def left_runs(place: Place) -> list[LeftRun]:
    """The runs that are left on targets, oldest first."""
    found = []
    try:
        folders = _journals(place)
    except StoreError:
        return []
    for folder in folders:
        if os.path.lexists(folder / LEFT_NAME):
            lock = _claim(place, folder)
            if lock is not None:
                lock.release()
            target = target_of(folder / JOURNAL_NAME)
            found.append(LeftRun(folder.name, target, folder, is_recorded=lock is None))
    return found


def reclaim(place: Place, run_id: str) -> tuple[RunDocument, FileLock, int]:
    """A run that is left on its target, to go on with: its document with the results until now, the
    lock of its journal, and the number of the last test that has a result.

    StoreError where another process records it; InputError where its journal cannot be read.
    """
    folder = place.journals / run_id
    lock = _claim(place, folder)
    if lock is None:
        raise StoreError(f"another process waits for run {run_id}", "let it finish, or end it")
    try:
        state = _replay(folder)
        if state.document is None:
            raise InputError(f"the journal of run {run_id} has no plan", f"see {folder}")
        raw = msgspec.structs.replace(state.document, results=state.results)
        document = parse_document(msgspec.json.encode(raw), "the run")
    except OSError as error:
        lock.release()
        raise StoreError(f"the journal {folder} cannot be read: {error.strerror}", "") from error
    except BaseException:
        lock.release()
        raise
    return document, lock, state.number - (state.started is not None)


def _journals(place: Place) -> list[Path]:
    """Names of journals. The folder may be a link that its user has made."""
    try:
        with store_errors("look for journals in", place.journals):
            return sorted(path for path in place.journals.iterdir() if is_run_id(path.name))
    except StoreError:
        if not os.path.lexists(place.journals):
            return []
        raise


def _recover(
    place: Place, folder: Path, dump: Dump, reopen: Reopen, say: Callable[[str], object]
) -> str | None:
    """The id of the document that has the run now; None for a journal in use, one without a plan,
    and a run that is stored."""
    lock = _claim(place, folder)
    if lock is None:
        return None
    try:
        run_id, left = folder.name, AbandonedRun(folder, dump, reopen)
        resumes = resumed_by(folder / JOURNAL_NAME)
        stored = None
        if left.another is not None:
            say(_copy_notice(place, resumes or run_id, left.another))
        is_part = resumes is not None and is_joined(place, resumes, run_id)
        if not is_part and not _is_stored(place, run_id):
            document = _recovered(folder, left)
            stored = None if document is None else _store(place, document, resumes, say)
        for unfinished in place.runs.glob(f".{resumes or run_id}*.tmp"):
            with contextlib.suppress(OSError):
                unfinished.unlink()
        remove_journal(place, run_id, lock, left.memory)
        return stored
    finally:
        lock.release()


def _store(
    place: Place, document: RunDocument, resumes: str | None, say: Callable[[str], object]
) -> str:
    if resumes is None:
        write_document(place, document)
        return document.id
    stored = store_part(place, resumes, document).id
    if stored != resumes:
        say(f"run {resumes} is gone or damaged: part of it is stored as {stored}")
    return stored


def _copy_notice(place: Place, run_id: str, another: Another) -> str:
    original = "another store" if another.journal is None else f"{another.journal.parents[1]}"
    recordings = (
        f"it is still recorded in {original}, which this does not disturb"
        if another.is_recording
        else f"its recordings are left to {original}"
    )
    return f"the journal of run {run_id} in {place.root} is a copy: {recordings}"


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


def _is_stored(place: Place, run_id: str) -> bool:
    """StoreError where something else than the run has the name of its document."""
    if not os.path.lexists(place.document(run_id)):
        return False
    try:
        read_stored(place, run_id)
    except InputError as error:
        raise StoreError(
            f"the file of that name cannot be read: {error.cause}", error.remedy
        ) from None
    return True


def _recovered(folder: Path, left: AbandonedRun) -> RunDocument | None:
    """The run that a journal holds, None if it ended before its plan."""
    try:
        state = _replay(folder)
        if state.document is not None:
            run = msgspec.json.encode(_rebuilt(left, state, state.document))
            return parse_document(run, "the run")  # what is stored must be readable
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
    """Renames a journal so that it is not read again."""
    with store_errors("set aside the journal", folder):
        for number in range(1, 1000):
            ending = "damaged" if number == 1 else f"damaged-{number}"
            aside = folder.with_name(f"{folder.name}.{ending}")
            if not os.path.lexists(aside):
                break
        folder.rename(aside)
    return DamagedError(
        f"the journal of run {folder.name} is damaged ({why})", f"it was moved to {aside}"
    )


def _replay(folder: Path) -> Replay:
    try:
        state = replay(folder / JOURNAL_NAME)
    except FileNotFoundError:
        return Replay()
    if state.document is not None and state.document.id != folder.name:
        state.document = None
    return state


ENDED = "hardstone was ended while this test ran"
COPIED = "the store was copied while this test ran"
_ERRNO = re.compile(r"[0-9]{1,5}", re.ASCII)
Dump = Callable[[Path], list[bytes]]
Reopen = Callable[[str], Recorder]


class AbandonedRun:
    """Journal `folder` and the memory of its target, opened again. `dump` reads a slot. `another`:
    whose that memory is, where the journal is a copy: only what it holds itself is recovered."""

    def __init__(self, folder: Path, dump: Dump, reopen: Reopen) -> None:
        self.folder = folder
        self.dump = dump
        self.recorder = reopen(target_of(folder / JOURNAL_NAME))
        self.memory: Memory = self.recorder.memory(folder.name, folder)
        self.another = self.memory.another()


def _rebuilt(left: AbandonedRun, state: Replay, document: RunDocument) -> RunDocument:
    """The run `document` with the results of its journal `state` and of what else is left."""
    spare = _spare(left)
    if spare is not None and spare.finished_utc is not None:
        return spare
    kept = [] if spare is None else spare.results
    results = max(list(state.results), kept, key=len)
    is_kept = state.started is not None and (state.started.number or 0) <= len(kept)
    if state.started is not None and not is_kept:
        result = _unfinished(left, state.started, is_noisy=state.is_noisy)
        results.append(_under_plan(document, len(results), result))
    run = msgspec.structs.replace(document, results=results, status="incomplete", finished_utc=None)
    for one in run.results:
        mark_breach(one, run.plan.watched_ns)
    run.trust = grade_run(run)
    return run


def _spare(left: AbandonedRun) -> RunDocument | None:
    """The run as its tool kept it when it could not write the store."""
    for path in left.memory.kept():
        with contextlib.suppress(InputError):
            document = read_document(path)
            if document.id == left.folder.name:
                return document
    return None


def _under_plan(document: RunDocument, place: int, result: Result) -> Result:
    """Conditions as planned: a stream that was cut does not end with them. What its gaps are is
    found here, as when the tool was not ended."""
    if result.windows:
        from hardstone.stats.noise import with_noise

        result = with_noise(result)
    planned = document.plan.tests[place : place + 1]
    if planned and planned[0].test == result.test:
        result.params = result.params or planned[0].params
        return result_under(planned[0], result, document.plan.addresses)
    return result


def _unfinished(left: AbandonedRun, started: Started, *, is_noisy: bool) -> Result:
    """The result of the test that ran: its stream if that is whole, else the one of stream,
    recording and copies that holds most."""
    streamed = _read(started.test, started.lines, is_noisy=is_noisy)
    if streamed.is_complete:
        return streamed.finish()
    why = _why_ended(left, started)
    candidates = [streamed]
    if started.number is not None and started.backing is not None:
        try:
            recorded = _recorded(left, started.backing)
            candidates.append(_read(started.test, recorded, is_noisy=is_noisy))
        except TargetError as error:
            why = f"{why}; its recording cannot be read: {error.cause}"
        for slot in usable_slots(left.folder, started.number):
            # Whatever goes wrong with one copy, the finished results must not be lost.
            with contextlib.suppress(Exception):
                candidates.append(_read(started.test, left.dump(slot), is_noisy=False))
    best = max(candidates, key=_worth)
    result = best.finish()
    result.status = "measured" if _samples(best) else "failed"
    result.complete = False
    result.reason = why if best.problem is None else f"{why}; {best.problem}"
    return result


def _recorded(left: AbandonedRun, path: str) -> list[bytes]:
    """The stream of the recording, none where it is gone or damaged; TargetError where the target
    does not answer."""
    try:
        return left.recorder.dump(path) if left.memory.has(path) else []
    except TargetError:
        raise
    except Exception:
        return []


def _why_ended(left: AbandonedRun, started: Started) -> str:
    for note in left.folder.glob(f"failed-{started.number}-*"):
        number = note.name.rpartition("-")[2]
        if _ERRNO.fullmatch(number):
            reason = os.strerror(int(number))
            return f"the journal could not be written while this test ran: {reason}"
    return ENDED if left.another is None else COPIED


def _read(test: str, lines: list[bytes], *, is_noisy: bool) -> StreamReader:
    reader = StreamReader(test, is_noisy=is_noisy)
    for line in lines:
        reader.feed(line)
    return reader


def _samples(reader: StreamReader) -> int:
    return sum(series.count for series in reader.finish().series)


def _worth(reader: StreamReader) -> tuple[bool, bool, int, int]:
    """Whether there are samples, then whether nothing was wrong, then how many there are, then how
    many tables."""
    samples = _samples(reader)
    return samples > 0, reader.problem is None, samples, len(reader.finish().tables)
