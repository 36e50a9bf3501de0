"""What is far beyond any real run is refused in words, before it takes memory or time."""

from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hardstone.errors import InputError
from hardstone.model import RunDocument
from hardstone.store import Store, new_run_id, read_document
from tests.process.store.fake_probe import Here
from tests.unit.stats import make

Fields = dict[str, Any]
_START = b'{"schema":"hardstone.run/3","x":['


def _fields(document: RunDocument | None = None) -> Fields:
    fields: Fields = msgspec.json.decode(msgspec.json.encode(document or make.document()))
    return fields


def _with(change: Callable[[Fields], object]) -> bytes:
    fields = _fields()
    change(fields)
    import json  # which writes integers of any size

    return json.dumps(fields).encode()


def _series(fields: Fields, count: int) -> None:
    one = fields["results"][0]["series"][0]
    fields["results"][0]["series"] = [one | {"name": f"s{number}"} for number in range(count)]


def _result(**changed: object) -> Callable[[Fields], object]:
    return lambda fields: fields["results"][0].update(changed)


def _refused(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_document(path)
    return str(caught.value)


FIELDS: list[tuple[Callable[[Fields], object], str]] = [
    (lambda fields: fields.update(name="x" * 5000), "length <= 4096 - at `$.name`"),
    (lambda fields: fields.update(advice=["x" * 70_000]), "length <= 65536 - at `$.advice"),
    (lambda fields: fields["system"].update({"x" * 5000: 1}), "length <= 4096"),
    (_result(duration_ns=10**30), "- at `$.results[0].duration_ns`"),
    (_result(duration_ns=4 * 10**18), "- at `$.results[0].duration_ns`"),
    (_result(environment={"steal_ns": 2**63}), "<= 9223372036854775807"),
    (lambda fields: fields.update(started_utc="1677-09-21T00:12:43Z"), "not a time between 1970"),
    (lambda fields: fields.update(started_utc="2200-01-01T00:00:00Z"), "not a time between 1970"),
    (lambda fields: fields.update(finished_utc="yesterday"), "'yesterday' is not a time"),
    (_result(started_utc="1969-12-31T23:59:59Z"), "not a time between 1970 and 2200"),
    (lambda fields: _series(fields, 20_000), "length <= 16384 - at `$.results[0].series`"),
]


@pytest.mark.parametrize(("change", "said"), FIELDS, ids=range(len(FIELDS)))
def test_a_field_beyond_its_bounds_is_named(
    tmp_path: Path, change: Callable[[Fields], object], said: str
) -> None:
    assert said in _refused(tmp_path / "run.json", _with(change))


def test_a_machine_whose_clock_is_not_set_is_no_damage(tmp_path: Path) -> None:
    at = "1970-01-01T00:01:00Z"
    run_id = new_run_id(datetime.fromisoformat(at))
    document = make.document(run_id=run_id, started_utc=at, finished_utc="2026-11-21T03:22:00Z")
    document.results[0].started_utc = at
    store = Store(tmp_path)
    journal = store.journal(document, Here())
    journal.finish(document)
    journal.close()
    assert [entry.id for entry in store.runs()] == [run_id]
    assert store.load("last") == document


BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    "blanks": (lambda: gzip.compress(b" " * 200_000_000, 1), "more than 134217728 bytes"),
    "values": (lambda: gzip.compress(_START + b"1," * 12_000_001, 1), "more than 12000000 values"),
    "objects": (lambda: gzip.compress(_START + b"{}," * 1_000_001, 1), "more than 1000000 objects"),
    "fields": (lambda: gzip.compress(_START + b":" * 5_000_001, 1), "more than 5000000 fields"),
    "members": (lambda: gzip.compress(b"") * 3000, "more than 64 compressed members"),
    "rest": (lambda: gzip.compress(_START) + b"more", "is damaged"),
    "cut": (lambda: gzip.compress(_START)[:-4], "ends within what is compressed"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_before_it_is_decoded(tmp_path: Path, bomb: str) -> None:
    made, said = BOMBS[bomb]
    content = made()
    tracemalloc.start()
    try:
        assert said in _refused(tmp_path / "run.json.gz", content)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes < 300 * 2**20  # twice the limit, while what was read grows


def test_an_unknown_field_of_an_old_document_takes_no_memory(tmp_path: Path) -> None:
    odd = _fields() | {"schema": "hardstone.run/1", "x": "@"}
    raw = msgspec.json.encode(odd).replace(b'"@"', b"[" + b"[]," * 500_000 + b"1]")
    (tmp_path / "run.json").write_bytes(raw)
    tracemalloc.start()
    try:
        assert read_document(tmp_path / "run.json").name == "evening"
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes < 10 * len(raw)


def test_results_are_counted_before_they_are_decoded(tmp_path: Path) -> None:
    fields = _fields()
    fields["results"] *= 16_385
    raw = msgspec.json.encode(fields)
    tracemalloc.start()
    try:
        said = _refused(tmp_path / "run.json", raw)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "length <= 16384 - at `$.results`" in said
    assert peak_bytes < 1.5 * len(raw)  # what was read, and next to nothing


def test_members_and_padding_are_read_as_one(tmp_path: Path) -> None:
    raw = msgspec.json.encode(make.document())
    half = len(raw) // 2
    parts = gzip.compress(raw[:half]) + gzip.compress(raw[half:]) + b"\0" * 600_000
    (tmp_path / "run.json.gz").write_bytes(parts)
    assert read_document(tmp_path / "run.json.gz") == make.document()


def test_many_series_are_shown_in_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from hardstone.terminal.whole_run import print_whole

    (tmp_path / "run.json").write_bytes(_with(lambda fields: _series(fields, 5000)))
    print_whole(read_document(tmp_path / "run.json"))
    out = capsys.readouterr().out
    assert "4201 more series, in the report and with --json" in " ".join(out.split())
    assert len(out.splitlines()) < 1000


def test_many_reasons_are_shown_in_part(capsys: pytest.CaptureFixture[str]) -> None:
    from hardstone.terminal.whole_run import print_whole

    document = make.document()
    document.trust.reasons = [f"reason {number}" for number in range(1000)]
    print_whole(document)
    out = capsys.readouterr().out
    assert "and 800 more, in the report" in out
    assert "reason 199" in out and "reason 200" not in out


def test_an_old_document_with_another_type_is_refused(tmp_path: Path) -> None:
    old = _fields() | {"schema": "hardstone.run/1", "plan": []}
    assert "not a run document" in _refused(tmp_path / "run.json", msgspec.json.encode(old))
