"""The lines of a journal: JSON objects, first the document with its plan; appended durably,
within reserved space.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import msgspec

from hardstone.files import open_checked, open_regular, write_all
from hardstone.model import PlannedTest, Result, RunDocument
from hardstone.store.place import is_run_id

LOCAL = "local"
JOURNAL_NAME = "journal.jsonl"
LOCK_NAME = "lock"
RESERVE_NAME = "reserve"
# More than ten times the journal of the longest run.
JOURNAL_LIMIT_BYTES = 512 * 2**20
_LINE_LIMIT_BYTES = 128 * 2**20  # a line of a stream in base64
_MOST_LINES = 1_000_000
_MOST_RESULTS = 100_000


class RunRecord(msgspec.Struct, tag="run", tag_field="kind"):
    """The run as it was planned, without results, and the target whose memory it uses.

    Journals from before there was a choice of memory used that of this machine. `resumes`: the id
    of the stored run of which this one is a part.
    """

    document: RunDocument
    target: Annotated[str, msgspec.Meta(max_length=4096)] = LOCAL
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

    def take(self, record: Record) -> None:
        """Adds the next record."""
        match record:
            case RunRecord():
                self.is_noisy = record.is_noisy
                self.document = record.document
            case PlannedRecord():
                self._add(record.tests)
            case BeginRecord():
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

    def _add(self, tests: list[PlannedTest]) -> None:
        if self.document is not None and len(self.document.plan.tests) < _MOST_RESULTS:
            plan = self.document.plan
            self.document.plan = msgspec.structs.replace(plan, tests=[*plan.tests, *tests])


def encode_record(record: Record) -> bytes:
    return msgspec.json.encode(record)


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
    return LOCAL if first is None else first.target


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
    with open_regular(journal, JOURNAL_LIMIT_BYTES) as file:
        while line := file.readline(_LINE_LIMIT_BYTES):
            yield line


class AppendFile:
    """A new file at `path`. One thread appends while another one may sync."""

    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        self._descriptor = os.open(path, flags, 0o600)
        self._writing = threading.Lock()
        self._size_bytes = 0
        self._synced_bytes = 0
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
    """A file of `RESERVE_BYTES` whose space the journal beside it may use."""

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
