"""A run as far as a killed tool left it: finished results as they are, the last one labelled."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable
from pathlib import Path

import msgspec

from hardstone.errors import InputError, TargetError
from hardstone.memory import Memory, Recorder
from hardstone.model import Result, RunDocument
from hardstone.stats.conditions import result_under
from hardstone.stats.trust import grade_run
from hardstone.stats.watched import mark_breach
from hardstone.store.documents import read_document
from hardstone.store.records import JOURNAL_NAME, Replay, Started, target_of
from hardstone.store.slots import usable_slots
from hardstone.stream import StreamReader

ENDED = "the tool was ended while this test ran"
_ERRNO = re.compile(r"[0-9]{1,5}", re.ASCII)
Dump = Callable[[Path], list[bytes]]
Reopen = Callable[[str], Recorder]


class Left:
    """Journal `folder` and the memory of its target, opened again. `dump` reads a slot."""

    def __init__(self, folder: Path, dump: Dump, reopen: Reopen) -> None:
        self.folder = folder
        self.dump = dump
        self.recorder = reopen(target_of(folder / JOURNAL_NAME))
        self.memory: Memory = self.recorder.memory(folder.name, folder)


def rebuilt(left: Left, state: Replay, document: RunDocument) -> RunDocument:
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


def _spare(left: Left) -> RunDocument | None:
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
        return result_under(planned[0], result)
    return result


def _unfinished(left: Left, started: Started, *, is_noisy: bool) -> Result:
    """The result of the test that ran: its stream if that is whole, else the one of stream,
    recording and copies that holds most."""
    streamed = _read(started.test, started.lines, is_noisy=is_noisy)
    if streamed.is_complete:
        return streamed.finish()
    why = _why_ended(left.folder, started)
    candidates = [streamed]
    if started.number is not None and started.backing is not None:
        try:
            recorded = _recorded(left, started.backing)
            candidates.append(_read(started.test, recorded, is_noisy=is_noisy))
        except TargetError as error:
            why = f"{why}; its recording is out of reach: {error.cause}"
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


def _recorded(left: Left, path: str) -> list[bytes]:
    """The stream of the recording, none where it is gone or damaged; TargetError where the target
    does not answer."""
    try:
        return left.recorder.dump(path) if left.memory.has(path) else []
    except TargetError:
        raise
    except Exception:
        return []


def _why_ended(folder: Path, started: Started) -> str:
    for note in folder.glob(f"failed-{started.number}-*"):
        number = note.name.rpartition("-")[2]
        if _ERRNO.fullmatch(number):
            reason = os.strerror(int(number))
            return f"the journal could not be written while this test ran: {reason}"
    return ENDED


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
