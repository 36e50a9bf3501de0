"""Run documents as files: gzip-compressed JSON, written once, read with limits, each with a
summary beside it.

The document is the truth: a summary counts only while size and time of the document are those
that it was made from, and its stars follow from the formula of this version. One that is missing,
damaged or stale is made again from the document, which never holds stars.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import zlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, BinaryIO, Literal, NamedTuple

import msgspec

from hardstone.errors import InputError, printable
from hardstone.event_names import TABLES_CUT
from hardstone.files import OddFileError, check_regular, open_regular, read_regular, replace_file
from hardstone.model import (
    FORMULA,
    MOST_RESULTS,
    RUN_SCHEMA,
    Event,
    RunDocument,
    RunStatus,
    Scalar,
    Series,
    Table,
    TrustGrade,
)
from hardstone.raw_facts import read_again
from hardstone.stats.consistency import trust_of
from hardstone.stats.identity import histogram_problem, table_problem, windows_problem
from hardstone.stats.trust import lacking_text, tool_text
from hardstone.store.place import Place, StoreError, is_run_id, store_errors

_DOCUMENT_LIMIT_BYTES = 128 * 2**20
_ANOTHER = "name another file"
_GZIP_MAGIC = b"\x1f\x8b"
# Few of each for a document of a battery: while one is read or decompressed other threads work, and
# have to be waited for after it.
_CHUNK_BYTES = 2**20
_PIECE_BYTES = 2**23
_MOST_MEMBERS = 64
# Characters of JSON that stand for memory, what each is, and how many a document may have. They are
# counted before anything is decoded. The whole battery under one condition has some 110 000,
# 45 000 and 8 000, under the most conditions 48 times as many; CPUs and hours come on top.
_COUNTED = ((b",", "values", 12_000_000), (b":", "fields", 5_000_000), (b"{", "objects", 1_000_000))


def _content_of(path: Path, limit_bytes: int = _DOCUMENT_LIMIT_BYTES) -> bytearray:
    """The JSON in a file, plain or compressed. InputError as soon as it passes a limit."""
    data = bytearray()
    counts = dict.fromkeys((character for character, _, _ in _COUNTED), 0)
    counted_bytes = counts.copy()
    with store_errors("read", path), open_regular(path, limit_bytes) as file:
        for chunk in _unpacked(file, path, limit_bytes):
            data += chunk
            if len(data) > limit_bytes:
                raise InputError(f"{path} holds more than {limit_bytes} bytes", _ANOTHER)
            for character, what, most in _COUNTED:
                if len(data) <= most:
                    continue  # it cannot have so many, and most documents are as short
                counts[character] += data.count(character, counted_bytes[character])
                counted_bytes[character] = len(data)
                if counts[character] > most:
                    raise InputError(f"{path} holds more than {most} {what}", _ANOTHER)
    return data


def _unpacked(file: BinaryIO, path: Path, limit_bytes: int) -> Iterator[bytes]:
    """The content in pieces, decompressed where it is compressed."""
    chunks = _chunks(file, path, limit_bytes)
    first = next(chunks, b"")
    if not first.startswith(_GZIP_MAGIC):
        yield first
        yield from chunks
        return
    try:
        yield from _decompressed(first, chunks, path, limit_bytes)
    except (EOFError, zlib.error) as error:
        raise InputError(f"{path} is damaged: {error}", "restore it from a copy") from None


def _chunks(file: BinaryIO, path: Path, limit_bytes: int) -> Iterator[bytes]:
    read_bytes = 0
    while chunk := file.read(_CHUNK_BYTES):
        read_bytes += len(chunk)
        if read_bytes > limit_bytes:
            raise InputError(f"{path} holds more than {limit_bytes} bytes", _ANOTHER)
        yield chunk


def _decompressed(
    packed: bytes, more: Iterator[bytes], path: Path, limit_bytes: int
) -> Iterator[bytes]:
    """The members of a gzip file one after another; each piece has a limit of its own."""
    most = min(_PIECE_BYTES, limit_bytes + 1)
    for _ in range(_MOST_MEMBERS):
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            packed = packed or next(more, b"")
            if not packed:
                raise EOFError("its compressed data is cut short")
            yield member.decompress(packed, most)
            packed = member.unconsumed_tail
        packed = member.unused_data.lstrip(b"\0")
        while not packed:  # zeros may follow: tapes and block devices pad with them
            chunk = next(more, b"")
            if not chunk:
                return
            packed = chunk.lstrip(b"\0")
    raise InputError(f"{path} has more than {_MOST_MEMBERS} compressed members", _ANOTHER)


# Half of what `_content_of` reads; histograms and all else need the rest.
_MOST_STORED_MAXIMA = 6_000_000
_MOST_STORED_CELLS = 2_000_000  # of all tables


def thinned(document: RunDocument, most: int = _MOST_STORED_MAXIMA) -> RunDocument:
    """`document` with at most `most` maxima, or one per series.

    In the series that have the most, neighbours are joined in twos and the interval doubled. No
    maximum is lost. Lengths are rounded to powers of two, so that series of the same time, of
    which some end a second earlier, keep the same interval.
    """
    lengths = [len(one.maxima_per_s) for result in document.results for one in result.series]
    longest = 1 << max(lengths, default=0).bit_length()
    while longest > 1 and sum(min(length, longest) for length in lengths) > most:
        longest //= 2
    if longest >= max(lengths, default=0):
        return document
    results = [
        msgspec.structs.replace(result, series=[joined(one, longest) for one in result.series])
        for result in document.results
    ]
    return msgspec.structs.replace(document, results=results)


def with_fewer_tables(document: RunDocument, most: int = _MOST_STORED_CELLS) -> RunDocument:
    """`document` with the first tables that have at most `most` numbers together; an event of each
    result tells how many it lost."""
    if sum(_cells(table) for result in document.results for table in result.tables) <= most:
        return document
    results = []
    for result in document.results:
        kept = []
        for table in result.tables:
            most -= _cells(table)
            if most >= 0:
                kept.append(table)
        lost = len(result.tables) - len(kept)
        if not lost:
            results.append(result)
            continue
        text = f"{lost} tables are not stored: all tables together are too large"
        event = Event(name=TABLES_CUT, text=text, data={"dropped_count": lost})
        events = [*result.events, event]
        results.append(msgspec.structs.replace(result, tables=kept, events=events))
    return msgspec.structs.replace(document, results=results)


def _cells(table: Table) -> int:
    return sum(len(column) for column in table.columns.values())


def joined(series: Series, most: int) -> Series:
    """`series` with at most `most` maxima, 1 or more."""
    maxima, interval_ns = series.maxima_per_s, series.maxima_interval_ns
    while len(maxima) > most:
        pairs = zip_longest(maxima[::2], maxima[1::2])
        maxima = [a if b is None or (a is not None and a > b) else b for a, b in pairs]
        interval_ns *= 2
    if maxima is series.maxima_per_s:
        return series
    return msgspec.structs.replace(series, maxima_per_s=maxima, maxima_interval_ns=interval_ns)


_LIMIT_BYTES = 16 * 2**10
_SUMMARY_MODE = 0o644


class Stamp(NamedTuple):
    """Size of a document and the time at which it was last changed."""

    size_bytes: int
    changed_ns: int


class RunEntry(msgspec.Struct, kw_only=True, frozen=True):
    """A run as a list shows it. `tests` counts its results.

    `stars`: the overall rating, of the loaded condition where there are several; None: too little
    is known for one. `is_at_most`: figures are missing, each of which can only lower it. `lowest`:
    stars from there to `stars` are possible with the values that were taken; None: not a range.
    `rated_as`: why it is not the full rating. `formula`: what they follow from; "" before stars.
    `lacking`: the results that were not measured, "2 failed, 1 denied"; None in a list of before.
    `repeats`: the id of the first of several runs of one plan, also in itself; "": it is alone.
    `machine`: processor and kernel, "" where neither is known; None in a list of before.
    `tool`: the tool from whose file it was read, with its version; "": hardstone measured it.
    """

    id: str
    name: str
    started_utc: str
    status: RunStatus
    grade: TrustGrade
    tests: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
    profile: str
    target: str
    stars: Annotated[float, msgspec.Meta(ge=0, le=5)] | None = None
    is_at_most: bool = False
    lowest: Annotated[float, msgspec.Meta(ge=0, le=5)] | None = None
    rated_as: str = ""
    formula: str = ""
    repeats: str = ""
    lacking: str | None = None
    machine: str | None = None
    tool: str = ""


class _Summary(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    schema: Literal["hardstone.summary/1"] = "hardstone.summary/1"
    run: RunEntry
    document: Stamp


def stamp_of(path: Path) -> Stamp | None:
    """The stamp of the document at `path`, None for what is not a file."""
    state = path.lstat()
    try:
        check_regular(state.st_mode)
    except OddFileError:
        return None
    return Stamp(state.st_size, state.st_mtime_ns)


def entry_of(document: RunDocument) -> RunEntry:
    """`document` as a list shows it; grade and stars as its figures say by now."""
    from hardstone.systems.rating import rate_run  # half a second, and most lists need none

    (_, rating), *_ = rate_run(document)
    repeat = document.plan.repeat
    return RunEntry(
        id=document.id,
        name=document.name,
        started_utc=document.started_utc,
        status=document.status,
        grade=trust_of(document).grade,
        tests=len(document.results),
        profile=document.plan.profile,
        target=document.plan.target,
        stars=rating.overall,
        is_at_most=rating.is_at_most,
        lowest=rating.lowest,
        rated_as=", ".join(rating.rated_as),
        formula=rating.formula,
        repeats="" if repeat is None else repeat.first or document.id,
        lacking=lacking_text(document.results),
        machine=_machine_of(document.system),
        tool=printable(tool_text(document.imported))[:_MACHINE_CHARACTERS]
        if document.imported is not None
        else "",
    )


_MACHINE_CHARACTERS = 80


def _machine_of(facts: Mapping[str, Scalar]) -> str:
    """ "AMD EPYC 9B45, Linux 6.18.5": the processor, else its architecture, and the kernel."""
    processor = facts.get("machine.cpu_model") or facts.get("machine.arch")
    kernel = " ".join(str(facts.get(f"kernel.{key}") or "") for key in ("name", "release"))
    parts = (str(part or "").strip() for part in (processor, kernel))
    return printable(", ".join(filter(None, parts)))[:_MACHINE_CHARACTERS]


def read_summary(place: Place, run_id: str, stamp: Stamp) -> RunEntry | None:
    """The entry of a run whose document has `stamp`; None where there is no good summary."""
    try:
        content = read_regular(place.summary(run_id), _LIMIT_BYTES)
        summary = msgspec.json.decode(content, type=_Summary)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    is_fitting = summary.run.id == run_id and summary.document == stamp
    return summary.run if is_fitting and is_current(summary.run) else None


def is_current(entry: RunEntry) -> bool:
    """Whether the stars of `entry` follow from the formula of this version, and all is in it."""
    return entry.formula == FORMULA and None not in (entry.lacking, entry.machine)


def write_summary(place: Place, entry: RunEntry) -> None:
    """Stores the summary of a run; without space or access, none."""
    with contextlib.suppress(OSError):
        stamp = stamp_of(place.document(entry.id))
        if stamp is not None:
            content = msgspec.json.encode(_Summary(run=entry, document=stamp))
            replace_file(place.summary(entry.id), content, _SUMMARY_MODE, is_durable=False)


_MOST_SERIES_OF_RUN = 1 << 17
_FORMAT = "hardstone.run/"
_PRESENT = b'{"schema":"%s",' % RUN_SCHEMA.encode()
_MOST_RESULTS = MOST_RESULTS.max_length or 0
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


def read_document(path: Path, *, limit_bytes: int = _DOCUMENT_LIMIT_BYTES) -> RunDocument:
    """The run document in a file, JSON or compressed.

    InputError if the file is missing, damaged, of a newer version, larger than `limit_bytes`
    before or after it is decompressed, holds more than any run can, or has an impossible time or
    histogram.
    """
    return parse_document(_content_of(path, limit_bytes), str(path))


def parse_document(raw: bytes | bytearray, source: str) -> RunDocument:
    """As `read_document`, from JSON; errors name `source`. Facts that have a source are read from
    it anew: an older version may have read it in another way."""
    document = _decode(raw, source)
    if not is_run_id(document.id):
        raise InputError(f"{source} has no valid run id: {document.id[:40]!r}", _ANOTHER)
    if sum(len(result.series) for result in document.results) > _MOST_SERIES_OF_RUN:
        raise InputError(f"{source} holds more than {_MOST_SERIES_OF_RUN} series", _ANOTHER)
    problem = next(_problems(document), None)
    if problem is not None:
        raise InputError(f"{source}: {problem}", "import or measure it again")
    if document.sources:
        document = msgspec.structs.replace(document, system=read_again(document))
    return document


class _Counted(msgspec.Struct, gc=False):
    """Takes next to no memory, whatever it stands for holds."""


class _Head(msgspec.Struct):
    """What is known before the rest takes memory: an array is decoded before its length is
    checked."""

    schema: str
    results: Annotated[list[_Counted], MOST_RESULTS] = []


def _decode(raw: bytes | bytearray, source: str) -> RunDocument:
    """The document in `raw`, JSON; InputError that names `source` if there is none."""
    try:
        # Each result has a key "test", plain or with an escape. Counting them takes a third of the
        # time that decoding the head does.
        if raw.startswith(_PRESENT) and raw.count(b'"test"') + raw.count(b"\\") <= _MOST_RESULTS:
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
    version = schema.removeprefix(_FORMAT)
    if schema.startswith(_FORMAT) and version.isascii() and version.isdigit():
        raise InputError(
            f"{source} has version {version[:10]}; this hardstone reads {RUN_SCHEMA}",
            "upgrade hardstone",
        )
    raise InputError(f"{source} is not a run document but {schema[:40]!r}", _ANOTHER)


def read_stored(place: Place, run_id: str) -> RunDocument:
    """The stored document of a run; InputError also if the file holds another run."""
    path = place.document(run_id)
    document = read_document(path)
    if document.id != run_id:
        raise InputError(f"{path} contains run {document.id}", "name the file after its run")
    return document


def _problems(document: RunDocument) -> Iterator[str]:
    """Impossible times, then impossible histograms, windows and tables."""
    of_run = [document.started_utc, document.finished_utc]
    for text in [*of_run, *(result.started_utc for result in document.results)]:
        if text is not None and not _is_time(text):
            yield f"{text[:40]!r} is not a time between {_FIRST_YEAR} and {_PAST_YEAR}"
    for result in document.results:
        for series in result.series:
            problem = histogram_problem(series.histogram)
            if problem is not None:
                yield f"{result.test[:40]} {series.name[:40]}: {problem}"
    for result in document.results:
        problem = windows_problem(result.windows)
        if problem is not None:
            yield f"{result.test[:40]}: {problem}"
    for result in document.results:
        for table in result.tables:
            problem = table_problem(table)
            if problem is not None:
                yield f"{result.test[:40]} table {table.name[:40]}: {problem}"


def _is_time(text: str) -> bool:
    try:
        at = datetime.fromisoformat(text)
        year = at.astimezone(UTC).year if at.tzinfo is not None else at.year
    except (ValueError, OverflowError):
        return False
    return _FIRST_YEAR <= year < _PAST_YEAR
