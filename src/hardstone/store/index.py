"""A list of the runs that spares reading every document. It can be lost at any time.

The documents are the truth: an entry counts only while the size and time of its file
are those that it was made from. A store that cannot be written is listed all the same.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable
from pathlib import Path

import msgspec

from hardstone.errors import InputError
from hardstone.model import RunDocument, RunStatus, TrustGrade
from hardstone.store.documents import read_document
from hardstone.store.files import store_errors
from hardstone.store.place import DOCUMENT_SUFFIX, Place, is_run_id

_BUSY_S = 5.0
_VERSION = 1
_TABLE = """CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY, name TEXT, started_utc TEXT, status TEXT, grade TEXT,
    tests INTEGER, size_bytes INTEGER, changed_ns INTEGER)"""
_READ = "SELECT id, name, started_utc, status, grade, tests, size_bytes, changed_ns FROM runs"
_WRITE = "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)"

Stamp = tuple[int, int]


class RunEntry(msgspec.Struct, kw_only=True, frozen=True):
    """A run as a list shows it. `tests` counts its results."""

    id: str
    name: str
    started_utc: str
    status: RunStatus
    grade: TrustGrade
    tests: int


class _Row(msgspec.Struct, frozen=True):
    entry: RunEntry
    stamp: Stamp


class Index:
    """The runs of a place. `unreadable` names, after `entries`, what could not be read."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.unreadable: dict[str, str] = {}

    def entries(self) -> list[RunEntry]:
        """All readable runs, oldest first, after bringing the index up to date."""
        stamps = self._stamps()
        known = self._known()
        rows = {key: row for key, row in known.items() if stamps.get(key) == row.stamp}
        missing = [key for key in stamps if key not in rows]
        added = self._read_rows(missing, stamps)
        if added or len(rows) != len(known):
            self._save(added, known.keys() - rows.keys())
        found = [row.entry for row in (rows | added).values()]
        return sorted(found, key=lambda entry: (entry.started_utc, entry.id))

    def rebuild(self) -> int:
        """Throw the index away and make it from the documents; how many there are."""
        self._drop()
        return len(self.entries())

    def _stamps(self) -> dict[str, Stamp]:
        """Size and time of each document by run id."""
        stamps: dict[str, Stamp] = {}
        with (
            store_errors("list the runs in", self._place.runs),
            contextlib.suppress(FileNotFoundError),
        ):
            for path in self._place.runs.iterdir():
                run_id = path.name.removesuffix(DOCUMENT_SUFFIX)
                if path.name.endswith(DOCUMENT_SUFFIX) and is_run_id(run_id):
                    with contextlib.suppress(FileNotFoundError):
                        state = path.stat()
                        stamps[run_id] = (state.st_size, state.st_mtime_ns)
        return stamps

    def _read_rows(self, run_ids: Iterable[str], stamps: dict[str, Stamp]) -> dict[str, _Row]:
        rows: dict[str, _Row] = {}
        self.unreadable = {}
        for run_id in run_ids:
            path = self._place.document(run_id)
            try:
                rows[run_id] = _Row(_entry(read_document(path), run_id, path), stamps[run_id])
            except InputError as error:
                self.unreadable[run_id] = str(error)
        return rows

    def _known(self) -> dict[str, _Row]:
        """What the index says; nothing if it is missing, of another version or damaged."""
        address = f"{self._place.index.as_uri()}?mode=ro"
        try:
            with contextlib.closing(sqlite3.connect(address, uri=True, timeout=_BUSY_S)) as base:
                if base.execute("PRAGMA user_version").fetchone() != (_VERSION,):
                    return {}
                return {row[0]: _row(row) for row in base.execute(_READ)}
        except sqlite3.OperationalError:
            return {}
        except (sqlite3.DatabaseError, msgspec.ValidationError, UnicodeDecodeError):
            self._drop()
            return {}

    def _save(self, added: dict[str, _Row], gone: Iterable[str]) -> None:
        """Write what changed; a damaged index is made anew, one that is read-only stays."""
        for attempt in (1, 2):
            try:
                return self._write(added, gone)
            except sqlite3.OperationalError:
                return None
            except sqlite3.DatabaseError:
                if attempt == 1:
                    self._drop()
        return None

    def _write(self, added: dict[str, _Row], gone: Iterable[str]) -> None:
        with contextlib.closing(sqlite3.connect(self._place.index, timeout=_BUSY_S)) as base, base:
            if base.execute("PRAGMA user_version").fetchone() != (_VERSION,):
                base.execute("DROP TABLE IF EXISTS runs")
                base.execute(f"PRAGMA user_version = {_VERSION}")
            base.execute(_TABLE)
            base.executemany("DELETE FROM runs WHERE id = ?", [(run_id,) for run_id in gone])
            base.executemany(_WRITE, [_columns(row) for row in added.values()])

    def _drop(self) -> None:
        with contextlib.suppress(OSError):
            self._place.index.unlink(missing_ok=True)


def _entry(document: RunDocument, run_id: str, path: Path) -> RunEntry:
    if document.id != run_id:
        raise InputError(f"{path} holds run {document.id}", "give the file the name of its run")
    return RunEntry(
        id=document.id,
        name=document.name,
        started_utc=document.started_utc,
        status=document.status,
        grade=document.trust.grade,
        tests=len(document.results),
    )


def _row(columns: tuple[object, ...]) -> _Row:
    *fields, size_bytes, changed_ns = columns
    entry = dict(zip(RunEntry.__struct_fields__, fields, strict=True))
    return msgspec.convert({"entry": entry, "stamp": (size_bytes, changed_ns)}, _Row)


def _columns(row: _Row) -> tuple[object, ...]:
    return (*msgspec.structs.astuple(row.entry), *row.stamp)
