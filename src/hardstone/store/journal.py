"""The journal of one run: results are on disk before anybody relies on them. A run may resume a
stored one.

Its lines are JSON objects, first the document with its plan; they are appended durably, within
reserved space.

A thread syncs it at least once a second and, while a test runs, copies the recording of the probe.
The journal belongs to the process that holds the lock in its folder; the kernel releases the lock
when the process dies.

At any moment at most one journal is of a given run, and the document names the parts that it holds.
So whatever ends the tool, and wherever, each part is in the document once.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Self

import msgspec

from hardstone.errors import InputError
from hardstone.files import open_checked, open_regular, sync_folder, write_all
from hardstone.memory import Memory, Recorder
from hardstone.model import PlannedTest, Result, RunDocument
from hardstone.stats.join import joined_run
from hardstone.store.documents import (
    encode_document,
    parse_document,
    read_stored,
    replace_document,
    write_document,
)
from hardstone.store.place import (
    FileLock,
    Place,
    StoreError,
    exclusive,
    is_run_id,
    store_errors,
    try_lock,
)
from hardstone.store.slots import CopyCost, SlotCopier, slot_paths, write_sparse

_LOCAL = "local"
JOURNAL_NAME = "journal.jsonl"
LOCK_NAME = "lock"
_RESERVE_NAME = "reserve"
# More than ten times the journal of the longest run.
_JOURNAL_LIMIT_BYTES = 512 * 2**20
_LINE_LIMIT_BYTES = 128 * 2**20  # a line of a stream in base64
_MOST_LINES = 1_000_000
_MOST_RESULTS = 100_000


class RunRecord(msgspec.Struct, tag="run", tag_field="kind"):
    """The run as it was planned, without results, and the target whose memory it uses.

    Journals from before there was a choice of memory used that of this machine. `resumes`: the id
    of the stored run of which this one is a part.
    """

    document: RunDocument
    target: Annotated[str, msgspec.Meta(max_length=4096)] = _LOCAL
    is_noisy: bool = False
    resumes: Annotated[str, msgspec.Meta(max_length=64)] | None = None


class BeginRecord(msgspec.Struct, tag="begin", tag_field="kind"):
    """A test starts; its probe records at the path `backing` on the target."""

    test: str
    number: Annotated[int, msgspec.Meta(ge=0, le=10**9)]
    backing: Annotated[str, msgspec.Meta(max_length=4096)]


class LineRecord(msgspec.Struct, tag="line", tag_field="kind"):
    """A line as the target sent it; in base64, since it may be any bytes."""

    test: str
    raw: bytes


class ResultRecord(msgspec.Struct, tag="result", tag_field="kind"):
    """A finished result."""

    result: Result


class PlannedRecord(msgspec.Struct, tag="planned", tag_field="kind"):
    """Tests that were added to the plan while it ran."""

    tests: Annotated[list[PlannedTest], msgspec.Meta(max_length=_MOST_RESULTS)]


Record = RunRecord | BeginRecord | LineRecord | ResultRecord | PlannedRecord
_DECODER: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


@dataclass
class Started:
    """A test that began and has no result: what is left of it."""

    test: str
    number: int | None = None
    backing: str | None = None
    lines: list[bytes] = field(default_factory=list)


@dataclass
class Replay:
    """The content of a journal; `document` is None if it ended before its first line.

    `is_damaged`: more was left out than a last line that was cut.
    """

    document: RunDocument | None = None
    results: list[Result] = field(default_factory=list)
    started: Started | None = None
    is_noisy: bool = False
    is_damaged: bool = False
    number: int = 0  # of the test that began last

    def take(self, record: Record) -> None:
        """Adds the next record."""
        match record:
            case RunRecord():
                self.is_noisy = record.is_noisy
                self.document = record.document
            case PlannedRecord():
                if self.document is not None and len(self.document.plan.tests) < _MOST_RESULTS:
                    plan = self.document.plan
                    tests = [*plan.tests, *record.tests]
                    self.document.plan = msgspec.structs.replace(plan, tests=tests)
            case BeginRecord():
                self.number = record.number
                self.started = Started(record.test, record.number, record.backing)
            case LineRecord():
                if self.started is None or self.started.test != record.test:
                    self.started = Started(record.test)
                if len(self.started.lines) < _MOST_LINES:
                    self.started.lines.append(record.raw)
            case ResultRecord():
                if len(self.results) < _MOST_RESULTS:
                    self.results.append(record.result)
                self.started = None


def replay(journal: Path) -> Replay:
    """The content of a journal, without lines that are cut or damaged.

    OSError if it cannot be read; OddFileError if it is not a file or too large for a journal.
    """
    state = Replay()
    for line in _lines(journal):
        try:
            state.take(_DECODER.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            is_cut = line.startswith(b"{") and not line.endswith(b"\n")
            state.is_damaged |= not is_cut and not line.isspace()
    return state


def target_of(journal: Path) -> str:
    """The target whose memory a run uses, by its name; this machine where that is not known."""
    first = _first(journal)
    return _LOCAL if first is None else first.target


def resumed_by(journal: Path) -> str | None:
    """The id of the run that the run of a journal resumes, None for a run of its own."""
    first = _first(journal)
    return first.resumes if first is not None and is_run_id(first.resumes or "") else None


def _first(journal: Path) -> RunRecord | None:
    with contextlib.suppress(OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        for line in _lines(journal):
            record = _DECODER.decode(line)
            return record if isinstance(record, RunRecord) else None
    return None


def _lines(journal: Path) -> Iterator[bytes]:
    with open_regular(journal, _JOURNAL_LIMIT_BYTES) as file:
        while line := file.readline(_LINE_LIMIT_BYTES):
            yield line


class AppendFile:
    """The file at `path`, a new one or one that goes on. One thread appends while another one may
    sync."""

    def __init__(self, path: Path, *, is_new: bool = True) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW
        self._descriptor = os.open(path, flags | (os.O_CREAT | os.O_EXCL if is_new else 0), 0o600)
        self._writing = threading.Lock()
        self._size_bytes = self._synced_bytes = os.fstat(self._descriptor).st_size
        self._failure: OSError | None = None

    def append(self, line: bytes, *, is_sync: bool) -> None:
        """Adds a line, on disk if `is_sync`. If that fails, OSError, and the file is as before.

        Raises OSError also, once, if `try_sync` has failed since the last call.
        """
        with self._writing:
            failure, self._failure = self._failure, None
            if failure is not None:
                raise failure
            try:
                write_all(self._descriptor, line + b"\n")
                if is_sync:
                    os.fsync(self._descriptor)
            except OSError:
                os.ftruncate(self._descriptor, self._size_bytes)
                raise
            self._size_bytes += len(line) + 1
            if is_sync:
                self._synced_bytes = self._size_bytes

    def try_sync(self) -> None:
        """Puts on disk what was added. Keeps an error, which the kernel reports only once."""
        size_bytes = self._size_bytes
        if self._synced_bytes == size_bytes:
            return
        try:
            os.fsync(self._descriptor)
            self._synced_bytes = size_bytes
        except OSError as error:
            self._failure = error

    def close(self) -> None:
        os.close(self._descriptor)


RESERVE_BYTES = 2 * 2**20
FULL = (errno.ENOSPC, errno.EDQUOT)


class Reserve:
    """A file of `RESERVE_BYTES` whose space the journal may use."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_taken = False

    def take(self) -> None:
        """Reserves the space unless it is reserved; OSError if the disk is too full.

        Does nothing on a file system that cannot reserve, or not a file of that size.
        """
        if self._is_taken:
            return
        descriptor = open_checked(self._path, os.O_WRONLY | os.O_CREAT)
        try:
            os.posix_fallocate(descriptor, 0, RESERVE_BYTES)
            self._is_taken = True
        except OSError as error:
            self._path.unlink()
            if error.errno in FULL:
                raise
        finally:
            os.close(descriptor)

    def give(self) -> bool:
        """Frees the space for use; whether there was any."""
        was_taken, self._is_taken = self._is_taken, False
        if was_taken:
            with contextlib.suppress(OSError):
                self._path.unlink()
        return was_taken


# A power cut takes what came after the latest copy on disk had begun: that long, and what the next
# copy takes. A second at most is promised.
_SYNC_INTERVAL_S = 0.5


class Journal:
    """Records a run while it is measured. Made by `Store.journal`.

    Leaving its `with` block closes it. Every method but `close` raises StoreError (an InputError)
    when the disk is full or fails. What was written before stays, and the journal can still be
    used: a call may be repeated when there is space again, and `close` leaves all of it to
    `Store.recover`.
    """

    def __init__(
        self,
        place: Place,
        document: RunDocument,
        recorder: Recorder,
        *,
        resumes: str | None = None,
        stored: Callable[[], object] = lambda: None,
        sync_interval_s: float = _SYNC_INTERVAL_S,
        again: tuple[FileLock, int] | None = None,
    ) -> None:
        """`resumes`: the id of the stored run of which this one is a part. `again`: the journal is
        there; its lock, which this process holds, and the number of its last finished test."""
        self._place = place
        self._run_id = document.id
        self._resumes = resumes
        self._folder = place.journals / document.id
        self._stored = stored
        self._sync_interval_s = sync_interval_s
        self._number = 0 if again is None else again[1]
        self._memory = recorder.memory(document.id, self._folder)
        self._recording: str | None = None
        self._copier: SlotCopier | None = None
        self._ended = threading.Event()
        self.backing_problem: str | None = None
        self._warning: str | None = None
        self._is_warned = False
        record = RunRecord(
            document=msgspec.structs.replace(document, results=[]),
            target=recorder.name,
            is_noisy=recorder.is_noisy,
            resumes=resumes,
        )
        if again is None:
            self._lock, self._file = _create_journal(place, record)
        else:
            self._lock, self._file = again[0], _continued(self._folder)
        self._reserve = Reserve(self._folder / _RESERVE_NAME)
        try:
            with store_errors("reserve space for results in the store", place.root):
                self._reserve.take()
        except StoreError:
            self._file.close()
            if again is None:
                remove_journal(place, self._run_id, self._lock, self._memory)
            raise
        self._thread = threading.Thread(target=self._keep, name="journal", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:  # results are still on disk at once, lines are not
            self._warning = f"the journal is synced to disk only after each test: {error}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def backing_file(self, test: str) -> str:
        """Notes that `test` begins; the path on the target for the probe's --backing.

        Nothing is there yet. What the probe records there is removed with the result. Raises
        TargetError where the memory of the target cannot be reached.
        """
        with store_errors("prepare a test in the journal", self._folder):
            self._reserve.take()
            path = self._memory.path_for(self._number + 1)
        self._leave_test()
        self._number += 1
        self._append(BeginRecord(test=test, number=self._number, backing=path), is_sync=True)
        self._recording = path
        self._copier = SlotCopier(self._memory, path, slot_paths(self._folder, self._number))
        return path

    def planned(self, tests: Sequence[PlannedTest]) -> None:
        """Records tests that are added to the plan; they are on disk when this returns."""
        self._append(PlannedRecord(tests=list(tests)), is_sync=True)

    def has_recording(self) -> bool:
        """Whether the probe has recorded anything of the running test."""
        return self._recording is not None and self._memory.has(self._recording)

    def stream_line(self, test: str, raw: bytes) -> None:
        """Records a line as it was received. It is on disk within a second."""
        self._append(LineRecord(test=test, raw=raw), is_sync=False)

    def result(self, result: Result) -> None:
        """Records a finished result; it is on disk when this returns."""
        self._append(ResultRecord(result=result), is_sync=True)
        self._leave_test()

    def finish(self, document: RunDocument) -> Path:
        """Stores the run, or adds it to the one that it resumes; then removes its journal and
        recordings.

        Returns the path of the document. After a StoreError the journal is as it was.
        """
        if document.id != self._run_id:
            raise ValueError(f"the journal belongs to run {self._run_id}, not to {document.id}")
        if self._ended.is_set():
            raise ValueError(f"the journal of run {self._run_id} is closed")
        self._reserve.give()
        if self._resumes is None:
            path = write_document(self._place, document)
        else:
            path = self._place.document(store_part(self._place, self._resumes, document).id)
        self._stored()
        self._stop()
        remove_journal(self._place, self._run_id, self._lock, self._memory)
        return path

    def discard(self) -> None:
        """Removes the journal and the recordings; the run is gone."""
        self._stop()
        remove_journal(self._place, self._run_id, self._lock, self._memory)

    def spare(self, document: RunDocument) -> Path | None:
        """Keeps the run, as far as it is, outside of the store; None where there is no place.

        For a store that cannot be written: `Store.recover` takes it from there.
        """
        return self._memory.keep(encode_document(document))

    def snapshot(self) -> Path | None:
        """A copy of the recording of the running test, on this machine, for `hardstone-probe dump`;
        or its place on the target, where that can be dumped as it is.

        None where there is none, or where a copy would disturb. The next one replaces it. Raises
        OSError, or TargetError where the memory of the target cannot be reached.
        """
        direct = None if self._recording is None else self._memory.direct(self._recording)
        if direct is not None:
            return Path(direct)
        chunks = None if self._recording is None else self._memory.copy(self._recording)
        if chunks is None:
            return None
        place = self._memory.scratch()
        write_sparse(place, chunks)
        return place

    def copy_cost(self) -> CopyCost | None:
        """What the copies of the running test took; None where there are none."""
        copier = self._copier
        cost = None if copier is None else copier.cost()
        return cost if cost is not None and cost.copies_count else None

    def take_warning(self) -> str | None:
        """The first problem of the thread; None when it was returned before."""
        if self._is_warned or self._warning is None:
            return None
        self._is_warned = True
        return self._warning

    def close(self) -> None:
        """Stops the thread and leaves the journal to `Store.recover`. Never raises."""
        self._stop()
        self._memory.release()
        self._lock.release()

    def _append(self, record: Record, *, is_sync: bool) -> None:
        if self._ended.is_set():
            raise ValueError(f"the journal of run {self._run_id} is closed")
        line = msgspec.json.encode(record)
        with store_errors("write the journal", self._folder):
            try:
                self._append_line(line, is_sync=is_sync)
            except OSError as error:
                # Why this test has no result: an empty file may fit where a line does not.
                with contextlib.suppress(OSError):
                    (self._folder / f"failed-{self._number}-{error.errno or 0}").touch()
                raise

    def _append_line(self, line: bytes, *, is_sync: bool) -> None:
        """Uses the reserved space when there is no other."""
        try:
            self._file.append(line, is_sync=is_sync)
        except OSError as error:
            if error.errno not in FULL or not self._reserve.give():
                raise
            self._file.append(line, is_sync=is_sync)

    def _leave_test(self) -> None:
        self._recording = None
        copier, self._copier = self._copier, None
        if copier is not None:
            copier.remove()

    def _keep(self) -> None:
        while not self._ended.wait(self._sync_interval_s):
            try:
                self._file.try_sync()
                self._copy_backing()
                self.backing_problem = None
            except Exception as error:  # such as too little memory: the next round may succeed
                said = error.strerror if isinstance(error, OSError) else repr(error)
                self.backing_problem = f"cannot copy the recording of the running test: {said}"
                self._warning = self._warning or self.backing_problem

    def _copy_backing(self) -> None:
        """A copy that fails is tried again; it matters only after a power cut."""
        copier = self._copier
        if copier is None:
            return
        try:
            copier.copy()
        except OSError:
            if copier is self._copier:  # else its files went with its test
                raise
        finally:
            if copier is not self._copier:
                copier.remove()

    def _stop(self) -> None:
        if not self._ended.is_set():
            self._ended.set()
            if self._thread.is_alive():
                self._thread.join()
            self._file.try_sync()
            self._file.close()


def remove_journal(place: Place, run_id: str, lock: FileLock, memory: Memory) -> None:
    """Removes what a stored run has left in `memory` and journal, and releases its lock."""
    memory.remove()
    try:
        with exclusive(place.journals_lock, place.journals):
            shutil.rmtree(place.journals / run_id, ignore_errors=True)
    finally:
        lock.release()


def _create_journal(place: Place, record: RunRecord) -> tuple[FileLock, AppendFile]:
    """The folder, with its lock held and the first record on disk. Leaves nothing if it fails."""
    document = record.document
    if not is_run_id(document.id):
        raise ValueError(f"{document.id[:40]!r} is not an ID of new_run_id")
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


def _continued(folder: Path) -> AppendFile:
    """The lines of a journal, after one that may have been cut."""
    file = AppendFile(folder / JOURNAL_NAME, is_new=False)
    file.append(b"", is_sync=False)
    return file


def _first_record(folder: Path, record: RunRecord) -> AppendFile:
    file = AppendFile(folder / JOURNAL_NAME)
    try:
        file.append(msgspec.json.encode(record), is_sync=True)
        for changed in (folder, folder.parent, folder.parent.parent):
            sync_folder(changed)
    except OSError:
        with contextlib.suppress(OSError):
            file.close()
        raise
    return file


def recorded_now(place: Place) -> dict[str, Path]:
    """The journals of runs and of parts of runs, by the id of the run."""
    try:
        found = sorted(path for path in place.journals.iterdir() if is_run_id(path.name))
    except OSError:
        return {}
    return {resumed_by(path / JOURNAL_NAME) or path.name: path for path in found}


def check_resumable(place: Place, run_id: str) -> None:
    """StoreError if a journal is of the run; to be called with the lock on journals held."""
    if run_id in recorded_now(place):
        raise StoreError(
            f"another process is recording run {run_id}",
            "wait until it ends, or end it; if there is no such process: hardstone runs",
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
