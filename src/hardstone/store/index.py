"""A list of the runs that spares reading a file for each. It can be lost at any time.

An entry counts only while the document has the stamp that it was made from; others are taken
from the summaries, and these from the documents. A store that cannot be written is listed too.

SQLite never opens the file: it gets the content, and gives one that replaces the file as a whole.
So it follows no link and leaves no files beside it. A file that is not an index of ours is left as
it is, and the runs are listed without it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from hardstone.errors import InputError
from hardstone.files import one_line, read_regular, replace_file
from hardstone.store.documents import (
    RunEntry,
    Stamp,
    entry_of,
    is_current,
    read_stored,
    read_summary,
    stamp_of,
    write_summary,
)
from hardstone.store.place import DOCUMENT_SUFFIX, Place, is_run_id, store_errors

_VERSION = 7
_TABLE = """CREATE TABLE runs (
    id TEXT PRIMARY KEY, name TEXT, started_utc TEXT, status TEXT, grade TEXT,
    tests INTEGER, profile TEXT, target TEXT, stars REAL, is_at_most INTEGER, lowest REAL,
    rated_as TEXT, formula TEXT, repeats TEXT, lacking TEXT, size_bytes INTEGER,
    changed_ns INTEGER)"""
_COLUMNS = (*RunEntry.__struct_fields__, *Stamp._fields)
_READ = f"SELECT {', '.join(_COLUMNS)} FROM runs"  # noqa: S608 - names of ours
_WRITE = f"INSERT INTO runs VALUES ({', '.join('?' for _ in _COLUMNS)})"  # noqa: S608
_NAMES = "SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_autoindex_runs_%'"
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

    def rebuild(self) -> int:
        """Makes the index again from the summaries; how many runs there are."""
        self._known()  # which also looks whether it is ours
        return len(self._update({}))

    def reread(self) -> None:
        """Makes summaries and index again from the documents: one of them was wrong."""
        self._known()
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
                        self.unreadable[run_id] = one_line(str(error))
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
            f"{self._place.index} is not used, and the runs are listed without it: "
            f"{one_line(reason)[:200]}; move it away"
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
        # Named as of a rollback journal, so that SQLite opens no log beside it.
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
