"""The store of runs: documents, journals, the index that lists them, and references by id, name
or "last".

An entry counts only while the document has the stamp that it was made from; others are taken
from the summaries, and these from the documents. A store that cannot be written is listed too.

SQLite never opens the file: it gets the content, and gives one that replaces the file as a whole.
So it follows no link and leaves no files beside it. A file that is not an index of ours is left as
it is, and the runs are listed without it.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import msgspec

from hardstone.errors import InputError, printable
from hardstone.files import (
    check_regular,
    followed,
    open_regular,
    read_regular,
    replace_file,
)
from hardstone.memory import Recorder
from hardstone.model import RunDocument
from hardstone.store.documents import (
    RunEntry,
    Stamp,
    entry_of,
    is_current,
    read_document,
    read_stored,
    read_summary,
    stamp_of,
    write_document,
    write_summary,
)
from hardstone.store.journal import (
    JOURNAL_NAME,
    Journal,
    check_resumable,
    recorded_now,
    resumed_by,
)
from hardstone.store.place import (
    DOCUMENT_SUFFIX,
    Place,
    exclusive,
    is_run_id,
    open_place,
    store_errors,
)
from hardstone.store.recovery import (
    Dump,
    LeftRun,
    Reopen,
    left_runs,
    reclaim,
    recover_runs,
)

_VERSION = 9
_TABLE = """CREATE TABLE runs (
    id TEXT PRIMARY KEY, name TEXT, started_utc TEXT, status TEXT, grade TEXT,
    tests INTEGER, profile TEXT, target TEXT, stars REAL, is_at_most INTEGER, lowest REAL,
    rated_as TEXT, formula TEXT, repeats TEXT, lacking TEXT, machine TEXT, tool TEXT,
    size_bytes INTEGER, changed_ns INTEGER)"""
_COLUMNS = (*RunEntry.__struct_fields__, *Stamp._fields)
_READ = f"SELECT {', '.join(_COLUMNS)} FROM runs"  # noqa: S608 - names of ours
_WRITE = f"INSERT INTO runs VALUES ({', '.join('?' for _ in _COLUMNS)})"  # noqa: S608
_NAMES = "SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_autoindex_runs_%'"
_MOST_FILE_BYTES = 1 << 40
_LIMIT_BYTES = 64 * 2**20  # some 300,000 runs
_MOST_STEPS = 20_000_000  # of SQLite's virtual machine: as many runs, and no endless query
_MODE = 0o644
_BOOLEANS: dict[object, object] = {0: False, 1: True}  # SQLite has none
# Where the header says how the file is written: 1 for a rollback journal, 2 for a log.
_WRITE_VERSIONS = slice(18, 20)


class _Row(msgspec.Struct, frozen=True):
    entry: RunEntry
    stamp: Stamp


class Index:
    """The runs of a place. After `entries`, `unreadable` has the runs that could not be read."""

    def __init__(self, place: Place, say: Callable[[str], object]) -> None:
        self._place = place
        self._say = say
        self._is_foreign = False
        self.unreadable: dict[str, str] = {}

    def entries(self) -> list[RunEntry]:
        """All readable runs, oldest first by their ids. Brings the index up to date."""
        return self._update(self._known())

    def reread(self) -> None:
        """Makes summaries and index again from the documents: one of them was wrong."""
        self._known()  # which also looks whether the index is ours
        self._update({}, are_summaries_used=False)

    def _update(self, known: dict[str, _Row], *, are_summaries_used: bool = True) -> list[RunEntry]:
        stamps = self._stamps()
        rows = {
            key: row
            for key, row in known.items()
            if stamps.get(key) == row.stamp and is_current(row.entry)
        }
        missing = [key for key in stamps if key not in rows]
        added = self._read_rows(missing, stamps, are_summaries_used=are_summaries_used)
        rows |= added
        if added or rows.keys() != known.keys():
            self._save(rows)
        return [rows[run_id].entry for run_id in sorted(rows)]

    def _stamps(self) -> dict[str, Stamp | None]:
        """The stamp of each document by run id; None for what is not a file."""
        stamps: dict[str, Stamp | None] = {}
        with store_errors("list the runs in", self._place.runs):
            for path in _documents(self._place.runs):
                with contextlib.suppress(FileNotFoundError):
                    stamps[path.name.removesuffix(DOCUMENT_SUFFIX)] = stamp_of(path)
        return stamps

    def _read_rows(
        self,
        run_ids: Iterable[str],
        stamps: dict[str, Stamp | None],
        *,
        are_summaries_used: bool,
    ) -> dict[str, _Row]:
        rows: dict[str, _Row] = {}
        self.unreadable = {}
        for run_id in run_ids:
            stamp, entry = stamps[run_id], None
            if stamp is not None and are_summaries_used:
                entry = read_summary(self._place, run_id, stamp)
            if entry is None:
                try:
                    entry = entry_of(read_stored(self._place, run_id))
                except InputError as error:
                    if os.path.lexists(self._place.document(run_id)):  # it may be gone
                        self.unreadable[run_id] = printable(str(error))
                    continue
                write_summary(self._place, entry)
            if stamp is not None:
                rows[run_id] = _Row(entry, stamp)
        return rows

    def _known(self) -> dict[str, _Row]:
        """The rows of the index; none if it is missing, of another version or not ours."""
        self._is_foreign = False
        try:
            content = read_regular(self._place.index, _LIMIT_BYTES)
            return _rows(content) if content else {}
        except FileNotFoundError:
            return {}
        except OSError as error:
            reason = error.strerror or str(error)
        except MemoryError:
            return {}  # the summaries take less
        except sqlite3.Error as error:
            reason = str(error)
        self._is_foreign = True
        self._say(
            f"{self._place.index} cannot be used: {printable(reason)[:200]}; move it away. Runs "
            "are listed without it"
        )
        return {}

    def _save(self, rows: dict[str, _Row]) -> None:
        """Replaces the index. If that fails, the next command reads the summaries."""
        if self._is_foreign:
            return
        content = _database(rows.values())
        if len(content) <= _LIMIT_BYTES:
            with contextlib.suppress(OSError):
                replace_file(self._place.index, content, _MODE, is_durable=True)


def _documents(runs: Path) -> Iterator[Path]:
    """Files with the name of a document. `runs` may be a link that its user has made."""
    try:
        for path in runs.iterdir():
            run_id = path.name.removesuffix(DOCUMENT_SUFFIX)
            if path.name.endswith(DOCUMENT_SUFFIX) and is_run_id(run_id):
                yield path
    except FileNotFoundError:
        if os.path.lexists(runs):
            raise


def _rows(content: bytes) -> dict[str, _Row]:
    """The rows of an index; none if it is of another version or has damaged rows.

    sqlite3.Error for what is not a database, has other tables or takes endless time.
    """
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        # Named as of a rollback journal, so that SQLite opens no log.
        changed = bytearray(content)
        changed[_WRITE_VERSIONS] = b"\1\1"
        base.deserialize(bytes(changed))
        base.set_progress_handler(lambda: 1, _MOST_STEPS)
        base.execute("PRAGMA trusted_schema = OFF")
        names = base.execute(_NAMES).fetchmany(2)
        if names not in ([], [("table", "runs")]):
            raise sqlite3.DatabaseError("it is not an index of runs")
        if not names or base.execute("PRAGMA user_version").fetchone() != (_VERSION,):
            return {}
        with contextlib.suppress(msgspec.ValidationError):
            return {row[0]: _row(row) for row in base.execute(_READ)}
        return {}


def _database(rows: Iterable[_Row]) -> bytes:
    """The content of the file for these rows."""
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        with base:
            base.execute(f"PRAGMA user_version = {_VERSION}")
            base.execute(_TABLE)
            base.executemany(
                _WRITE, [(*msgspec.structs.astuple(row.entry), *row.stamp) for row in rows]
            )
        return base.serialize()


def _row(columns: tuple[object, ...]) -> _Row:
    *fields, size_bytes, changed_ns = columns
    entry = dict(zip(RunEntry.__struct_fields__, fields, strict=True))
    entry["is_at_most"] = _BOOLEANS.get(entry["is_at_most"], entry["is_at_most"])
    return msgspec.convert({"entry": entry, "stamp": [size_bytes, changed_ns]}, _Row)


class Store:
    """Runs in the folder `path`, by default $XDG_DATA_HOME/hardstone.

    The folder is made if it is missing. StoreError (an InputError, exit code 2) with the remedy
    if it cannot be made or read; one that cannot be written can be listed. A broken file affects
    nothing else: `on_problem` is called once for each, with one line. What its files may be:
    hardstone.files. The folder itself, "runs" and "journals" may be links, as to another disk;
    nothing that is in them may.
    """

    def __init__(
        self, path: Path | None = None, on_problem: Callable[[str], object] = lambda text: None
    ) -> None:
        self._place = open_place(path)
        self._on_problem = on_problem
        self._reported: set[str] = set()
        self._index = Index(self._place, self._say)

    @property
    def path(self) -> Path:
        return self._place.root

    @property
    def unreadable(self) -> dict[str, str]:
        """After `runs`: the reason for each run whose document could not be read, by id."""
        return self._index.unreadable

    def journal(
        self, document: RunDocument, recorder: Recorder, *, resumes: str | None = None
    ) -> Journal:
        """Begins to record the run that `document`, still without results, describes.

        Its probes run on the target `recorder`. Its id must be a new one of `new_run_id`.
        `resumes`: the id of a stored run, to which it is added in the end. StoreError if the
        journal cannot be written, or another process records that run.
        """
        return Journal(self._place, document, recorder, resumes=resumes, stored=self._refresh_index)

    def left(self) -> list[LeftRun]:
        """The runs that are left on their targets, oldest first."""
        return left_runs(self._place)

    def collect(self, run_id: str, recorder: Recorder) -> tuple[RunDocument, Journal]:
        """A run that is left on the target `recorder`, with the results until now, and its journal.

        StoreError where another process waits for it, InputError where it cannot be read.
        """
        document, lock, number = reclaim(self._place, run_id)
        journal = Journal(
            self._place,
            document,
            recorder,
            resumes=resumed_by(self._place.journals / run_id / JOURNAL_NAME),
            stored=self._refresh_index,
            again=(lock, number),
        )
        return document, journal

    def recorded_now(self) -> list[str]:
        """The ids of runs that are being recorded, or whose recovery failed."""
        return list(recorded_now(self._place))

    def runs(self) -> list[RunEntry]:
        """All runs that can be read, oldest first."""
        return self._index.entries()

    def load(self, reference: str) -> RunDocument:
        """The run of an id, of a unique prefix or the last part of one, of a name (the latest),
        of "last", or of "last~1", the one before it.

        InputError if there is none, with the nearest names, or if it cannot be read: an older run
        never takes its place. `on_problem` is called if a newer run, which may have the same
        name, cannot be read.
        """
        if is_run_id(reference) and os.path.lexists(self.path_of(reference)):
            return read_stored(self._place, reference)
        document = self._load_found(reference)
        is_counted = _before_last(reference) is not None
        is_named = document.name == reference or _has_id(document.id, reference)
        if not is_counted and not is_named:
            self._index.reread()
            document = self._load_found(reference)
        return document

    def load_each(self, references: Sequence[str]) -> Iterator[RunDocument]:
        """As `load` of each, in their order."""
        return map(self.load, references)

    def look_up(self, reference: str) -> RunDocument:
        """The run that a command shows or compares: as `load`, or the one in a file, which is read
        and not stored.

        A run goes before a file of the same name, unless the name has a slash.
        """
        has_slash, is_file = "/" in reference, Path(reference).is_file()
        if has_slash and is_file:
            return run_of_file(Path(reference))
        try:
            return self.load(reference)
        except InputError as error:
            if is_file:
                return run_of_file(Path(reference))
            if has_slash:
                cause = f"there is no file '{printable(reference)[:200]}', and no run of that name"
                raise InputError(cause, "see all runs: hardstone runs") from error
            raise

    def add(self, document: RunDocument) -> Path:
        """Stores a run that was not recorded, under a new ID of `new_run_id`: the path of its
        document. StoreError if it cannot be written."""
        path = write_document(self._place, document)
        self._refresh_index()
        return path

    def remove(self, run_id: str) -> list[Path]:
        """Removes the document of a run with its summary and its entry in the index: the files that
        were removed.

        InputError if there is none, or if a process records or continues the run now; StoreError if
        it cannot be removed.
        """
        document, summary = self.path_of(run_id), self._place.summary(run_id)
        with store_errors("make", self._place.journals):
            self._place.journals.mkdir(exist_ok=True)  # its lock is that of all journals
        with exclusive(self._place.journals_lock, self._place.journals):
            check_resumable(self._place, run_id)
            if not os.path.lexists(document):
                raise InputError(f"there is no run {run_id}", "see all: hardstone runs")
            with store_errors("remove the run", document):
                document.unlink()
                removed = [document]
                with contextlib.suppress(FileNotFoundError):
                    summary.unlink()
                    removed.append(summary)
        self._refresh_index()
        return removed

    def path_of(self, run_id: str) -> Path:
        """The path of the document of a run, also where there is none."""
        if not is_run_id(run_id):
            raise InputError(f"'{run_id[:60]}' is not the ID of a run", "see all: hardstone runs")
        return self._place.document(run_id)

    def recover(self, dump: Dump, reopen: Reopen) -> list[str]:
        """Stores the runs whose tool was ended, as incomplete ones; their ids.

        `reopen(name)` gives the target of that name, not yet reached, whose memory has the
        recording of the test that ran. `dump(path)` gives the stream lines of a copy on this
        machine (see `hardstone-probe dump`). Where a run cannot be stored, its journal stays; a
        damaged journal is set aside.
        """
        try:
            check_regular(self._place.journals_lock.lstat().st_mode)
        except FileNotFoundError:
            pass
        except OSError as error:
            self._say(f"{self._place.journals_lock} cannot be used: {error.strerror}; move it away")
        return recover_runs(self._place, dump, reopen, self._say)

    def _refresh_index(self) -> None:
        # The run is stored; the index is made at the latest when it is needed.
        with contextlib.suppress(InputError):
            self._index.entries()

    def _load_found(self, reference: str) -> RunDocument:
        entries = self.runs()
        found = find_run(reference, entries, self.unreadable)
        try:
            document = read_stored(self._place, found.id)
        except InputError as error:
            others = [entry for entry in entries if entry.id != found.id]
            raise _unreadable_run(found.id, str(error), others) from None
        newer = max(self.unreadable, default="")
        if newer > found.id and found.name == reference:
            self._say(f"run {newer} is newer, but cannot be read: {self.unreadable[newer]}")
        return document

    def _say(self, problem: str) -> None:
        if problem not in self._reported:
            self._reported.add(problem)
            self._on_problem(problem)


def run_of_file(path: Path) -> RunDocument:
    """The run in the file of another tool, or in a run document. The ID of the first is its path,
    so that commands find it again. InputError."""
    from hardstone.importers.imported import document_of
    from hardstone.importers.recognise import is_own_run, read, read_source

    if is_own_run(_head_of(path)):
        return read_document(followed(path))
    source = read_source(path)
    shown = printable(str(path))
    return document_of(read(source), source, shown if "/" in shown else f"./{shown}")


_HEAD_BYTES = 4096


def _head_of(path: Path) -> bytes:
    """What a file begins with, unpacked; nothing of one that cannot be read."""
    try:
        with open_regular(followed(path), _MOST_FILE_BYTES) as file:
            head = file.read(_HEAD_BYTES)
        is_packed = head.startswith(b"\x1f\x8b")
        return zlib.decompressobj(wbits=31).decompress(head, _HEAD_BYTES) if is_packed else head
    except (OSError, zlib.error):
        return b""


LAST = "last"
_BEFORE_LAST = re.compile(f"{LAST}(?:~([0-9]{{0,6}}))?", re.ASCII)
_NUMBER = re.compile(" [0-9]{1,4} of [0-9]{1,4}$", re.ASCII)
_NONE: Mapping[str, str] = MappingProxyType({})


def find_run(
    reference: str, entries: Sequence[RunEntry], unreadable: Mapping[str, str] = _NONE
) -> RunEntry:
    """The run called `reference`: "last", "last~2" for the second one before it, an id, a name (its
    latest run), or a prefix of an id. "good" also names the repeats that are called "good 3 of 10".

    `entries` are ordered by id, and so by start. `unreadable` has the reasons of runs that cannot
    be read. InputError: with that reason for one of those; with the nearest names for an unknown
    one; with the candidates for a prefix of several.
    """
    ids = sorted({*(entry.id for entry in entries), *unreadable})
    if not ids:
        raise InputError("the store holds no runs", "measure one: hardstone evaluate")
    if not reference:
        raise _unknown(reference, entries)
    before = _before_last(reference)
    if before is not None:
        if before >= len(ids):
            count = len(ids)
            raise InputError(
                f"'{reference}' needs {before + 1} runs, and the store holds {count}",
                "see all: hardstone runs",
            )
        return _readable(ids[-1 - before], entries, unreadable)
    if reference in ids:
        return _readable(reference, entries, unreadable)
    named = [entry for entry in entries if reference in (entry.name, _repeated(entry))]
    if named:
        return named[-1]
    # The date begins each ID of a day; what follows it is what people remember.
    begun = [one for one in ids if _has_id(one, reference)]
    if len(begun) == 1:
        return _readable(begun[0], entries, unreadable)
    if not begun:
        raise _unknown(reference, entries)
    raise InputError(
        f"'{reference}' matches {len(begun)} runs",
        f"type more of the ID: {', '.join(begun[-3:])}" + (", ..." if len(begun) > 3 else ""),
    )


def _has_id(run_id: str, reference: str) -> bool:
    return run_id.startswith(reference) or run_id.endswith(f"-{reference}")


def _before_last(reference: str) -> int | None:
    """How many runs before the last `reference` names: 0 for "last", 2 for "last~2", 1 for "last~",
    as git counts; None for all else."""
    found = _BEFORE_LAST.fullmatch(reference)
    if found is None:
        return None
    return int(found[1] or 1) if "~" in reference else 0


def _repeated(entry: RunEntry) -> str | None:
    """The name that repeats have in common."""
    return _NUMBER.sub("", entry.name) if entry.repeats else None


def _unreadable_run(run_id: str, reason: str, readable: Sequence[RunEntry]) -> InputError:
    """The error for a run that cannot be read; its remedy names one that can."""
    remedy = f"the newest that can be read: hardstone show {readable[-1].id}" if readable else ""
    return InputError(f"run {run_id} cannot be read: {reason}", remedy)


def _readable(run_id: str, entries: Sequence[RunEntry], unreadable: Mapping[str, str]) -> RunEntry:
    for entry in entries:
        if entry.id == run_id:
            return entry
    raise _unreadable_run(run_id, unreadable[run_id], entries)


def _unknown(reference: str, entries: Sequence[RunEntry]) -> InputError:
    newest_first = reversed(entries)
    words = dict.fromkeys(one for entry in newest_first for one in (entry.name, entry.id) if one)
    near = difflib.get_close_matches(reference, words, n=3, cutoff=0.5)
    remedy = f"did you mean {', '.join(near)}?" if near else "see all: hardstone runs"
    return InputError(f"there is no run '{reference[:60]}'", remedy)
