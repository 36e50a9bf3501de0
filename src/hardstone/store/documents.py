"""Run documents as files: gzip-compressed JSON, written once, read with limits."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec

from hardstone.collector import collector_paused
from hardstone.errors import InputError
from hardstone.files import replace_file
from hardstone.model import MOST_RESULTS, RUN_SCHEMA, RunDocument
from hardstone.stats.identity import histogram_problem, table_problem, windows_problem
from hardstone.store.content import DOCUMENT_LIMIT_BYTES, content_of
from hardstone.store.place import Place, is_run_id
from hardstone.store.run_summary import entry_of, write_summary
from hardstone.store.store_error import StoreError, store_errors
from hardstone.store.thin import thinned, with_fewer_tables

MOST_SERIES_OF_RUN = 1 << 17
_FORMAT = "hardstone.run/"
_PRESENT = b'{"schema":"%s",' % RUN_SCHEMA.encode()
_MOST_RESULTS = MOST_RESULTS.max_length or 0
_ANOTHER = "name another file"
_MODE = 0o444
_GZIP_LEVEL = 6  # 9 takes five times as long for 1 % less
_FIRST_YEAR, _PAST_YEAR = 1970, 2200  # 1970: a machine whose clock is not set


def write_document(place: Place, document: RunDocument) -> Path:
    """Stores a document; StoreError if one of that id exists or the disk is full."""
    path = place.document(document.id)
    if os.path.lexists(path):
        raise StoreError(f"run {document.id} is stored already", "documents are never rewritten")
    with store_errors("write the run", path):
        path.parent.mkdir(exist_ok=True)
        replace_file(path, encode_document(document), _MODE, is_durable=True)
    write_summary(place, entry_of(document))
    return path


def replace_document(place: Place, document: RunDocument) -> Path:
    """Puts `document`, which holds all that is stored under its id, in the place of that."""
    path = place.document(document.id)
    with store_errors("write the run", path):
        replace_file(path, encode_document(document), _MODE, is_durable=True)
    write_summary(place, entry_of(document))
    return path


def encode_document(document: RunDocument) -> bytes:
    """The content of a run's file. A run with more maxima than can be read again gets longer
    intervals, and one with more tables loses the last ones."""
    text = msgspec.json.encode(thinned(with_fewer_tables(document)))
    return gzip.compress(text, _GZIP_LEVEL, mtime=0)


def read_document(path: Path, *, limit_bytes: int = DOCUMENT_LIMIT_BYTES) -> RunDocument:
    """The run document in a file, JSON or compressed.

    InputError if the file is missing, damaged, of a newer version, larger than `limit_bytes`
    before or after it is decompressed, holds more than any run can, or has an impossible time or
    histogram.
    """
    return parse_document(content_of(path, limit_bytes), str(path))


def parse_document(raw: bytes | bytearray, source: str) -> RunDocument:
    """As `read_document`, from JSON; errors name `source`."""
    with collector_paused():
        document = _decode(raw, source)
    if not is_run_id(document.id):
        raise InputError(f"{source} has no valid run id: {document.id[:40]!r}", _ANOTHER)
    if sum(len(result.series) for result in document.results) > MOST_SERIES_OF_RUN:
        raise InputError(f"{source} holds more than {MOST_SERIES_OF_RUN} series", _ANOTHER)
    problem = (
        _time_problem(document)
        or _histogram_problem(document)
        or _gap_problem(document)
        or _table_problem(document)
    )
    if problem is not None:
        raise InputError(f"{source}: {problem}", "import or measure it again")
    return document


class _Counted(msgspec.Struct, gc=False):
    """Takes next to no memory, whatever it stands for holds."""


class _Head(msgspec.Struct):
    """What is known before the rest takes memory: an array is decoded before its length is
    looked at."""

    schema: str
    results: Annotated[list[_Counted], MOST_RESULTS] = []


def _decode(raw: bytes | bytearray, source: str) -> RunDocument:
    """The document in `raw`, JSON; InputError that names `source` if there is none."""
    try:
        if raw.startswith(_PRESENT) and _has_few_results(raw):
            document = msgspec.json.decode(raw, type=RunDocument)
            if document.schema == RUN_SCHEMA:
                return document
        schema = msgspec.json.decode(raw, type=_Head).schema
        if schema == RUN_SCHEMA:
            return msgspec.json.decode(raw, type=RunDocument)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"{source} is not a run document: {str(error)[:200]}", "name another file or run"
        ) from None
    raise _unknown(schema, source)


def _has_few_results(raw: bytes | bytearray) -> bool:
    """Whether there cannot be too many: each has a key "test", plain or with an escape. Counting
    takes a third of the time that decoding the head does."""
    return raw.count(b'"test"') + raw.count(b"\\") <= _MOST_RESULTS


def _unknown(schema: str, source: str) -> InputError:
    version = schema.removeprefix(_FORMAT)
    if schema.startswith(_FORMAT) and version.isascii() and version.isdigit():
        return InputError(
            f"{source} is of version {version[:10]}, this hardstone reads {RUN_SCHEMA}",
            "upgrade hardstone",
        )
    return InputError(f"{source} is not a run document but {schema[:40]!r}", _ANOTHER)

def read_stored(
    place: Place, run_id: str, content: Callable[[Path], bytearray] = content_of
) -> RunDocument:
    """The stored document of a run; InputError also if the file holds another run. `content` reads
    the file."""
    path = place.document(run_id)
    document = parse_document(content(path), str(path))
    if document.id != run_id:
        raise InputError(f"{path} holds run {document.id}", "give the file the name of its run")
    return document


def _histogram_problem(document: RunDocument) -> str | None:
    for result in document.results:
        for series in result.series:
            problem = histogram_problem(series.histogram)
            if problem is not None:
                return f"{result.test[:40]} {series.name[:40]}: {problem}"
    return None


def _gap_problem(document: RunDocument) -> str | None:
    for result in document.results:
        problem = windows_problem(result.windows)
        if problem is not None:
            return f"{result.test[:40]}: {problem}"
    return None


def _table_problem(document: RunDocument) -> str | None:
    for result in document.results:
        for table in result.tables:
            problem = table_problem(table)
            if problem is not None:
                return f"{result.test[:40]} table {table.name[:40]}: {problem}"
    return None


def _time_problem(document: RunDocument) -> str | None:
    """The first impossible time, or None."""
    of_run = [document.started_utc, document.finished_utc]
    of_results = [result.started_utc for result in document.results]
    for text in of_run + of_results:
        if text is not None and not _is_time(text):
            return f"{text[:40]!r} is not a time between {_FIRST_YEAR} and {_PAST_YEAR}"
    return None


def _is_time(text: str) -> bool:
    try:
        at = datetime.fromisoformat(text)
        year = at.astimezone(UTC).year if at.tzinfo is not None else at.year
    except (ValueError, OverflowError):
        return False
    return _FIRST_YEAR <= year < _PAST_YEAR
