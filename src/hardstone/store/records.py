"""What a journal holds: one JSON object a line, the plan-bearing document first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from hardstone.model import Result, RunDocument
from hardstone.store.convert import converted_result, converted_run
from hardstone.store.documents import DOCUMENT_LIMIT_BYTES
from hardstone.store.files import store_errors

JOURNAL_NAME = "journal.jsonl"
LOCK_NAME = "lock"
RESERVE_NAME = "reserve"


class RunRecord(msgspec.Struct, tag="run", tag_field="kind"):
    """The run as it was planned, without results."""

    document: RunDocument


class BeginRecord(msgspec.Struct, tag="begin", tag_field="kind"):
    """A test starts; `backing` is the file that its probe records into."""

    test: str
    number: int
    backing: str


class LineRecord(msgspec.Struct, tag="line", tag_field="kind"):
    """A line as the target sent it (base64, since it may be anything)."""

    test: str
    raw: bytes


class ResultRecord(msgspec.Struct, tag="result", tag_field="kind"):
    """A finished result."""

    result: Result


Record = RunRecord | BeginRecord | LineRecord | ResultRecord
_DECODER: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


@dataclass
class Started:
    """A test that began: what is left of it when it has no result."""

    test: str
    number: int | None = None
    backing: Path | None = None
    lines: list[bytes] = field(default_factory=list)


@dataclass
class Replay:
    """What a journal says: `document` is None if it ended before its first line."""

    document: RunDocument | None = None
    results: list[Result] = field(default_factory=list)
    started: Started | None = None
    schema: str = ""

    def take(self, record: Record) -> None:
        """Goes one record further."""
        match record:
            case RunRecord():
                self.schema = record.document.schema
                self.document = converted_run(record.document)
            case BeginRecord():
                self.started = Started(record.test, record.number, Path(record.backing))
            case LineRecord():
                if self.started is None or self.started.test != record.test:
                    self.started = Started(record.test)
                self.started.lines.append(record.raw)
            case ResultRecord():
                self.results.append(converted_result(record.result, self.schema))
                self.started = None


def encode_record(record: Record) -> bytes:
    return msgspec.json.encode(record)


def replay(journal: Path) -> Replay:
    """What the journal holds. A line that is cut or damaged is left out, the rest is taken."""
    state = Replay()
    for record in _records(journal):
        state.take(record)
    return state


def _records(journal: Path) -> Iterator[Record]:
    with store_errors("read the journal", journal), journal.open("rb") as file:
        while line := file.readline(DOCUMENT_LIMIT_BYTES):
            try:
                yield _DECODER.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
