"""Documents of runs: written once, read within limits, thinned where they would pass them."""

from __future__ import annotations

import gzip
import json
import stat
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.campaign.campaign import Campaign
from hardstone.errors import InputError
from hardstone.model import Event, Result, RunDocument, Series, Table
from hardstone.stats.join import joined_results
from hardstone.store.documents import (
    encode_document,
    parse_document,
    read_document,
    thinned,
    with_fewer_tables,
    write_document,
)
from hardstone.store.place import new_run_id, open_place
from hardstone.store.store import Store
from hardstone.stream import StreamReader
from hardstone.terminal.whole_run import print_whole
from tests.process.store.fake_probe import Here, stream
from tests.process.targets import sample
from tests.programs import ran
from tests.unit.stats import make
from tests.unit.test_campaign import FIRST, Recorded
from tests.unit.test_campaign import make as plan_of

Fields = dict[str, Any]


def test_a_document_comes_back_as_it_was_and_is_never_rewritten(tmp_path: Path) -> None:
    document, place = make.document(), open_place(tmp_path / "one")
    path = write_document(place, document)
    assert read_document(path) == document
    before = path.read_bytes()
    with pytest.raises(InputError, match="stored already"):
        write_document(place, make.document(name="another"))
    assert path.read_bytes() == before
    assert stat.S_IMODE(path.stat().st_mode) == 0o444
    again = write_document(open_place(tmp_path / "two"), make.document())
    assert again.read_bytes() == before


def test_plain_json_members_and_padding_are_read_as_one(tmp_path: Path) -> None:
    raw = msgspec.json.encode(make.document())
    half = len(raw) // 2
    parts = gzip.compress(raw[:half]) + gzip.compress(raw[half:]) + b"\0" * 600_000
    for content in (raw, parts):
        (tmp_path / "run").write_bytes(content)
        assert read_document(tmp_path / "run") == make.document()


# What is refused


def _fields() -> Fields:
    fields: Fields = msgspec.json.decode(msgspec.json.encode(make.document()))
    return fields


def _refused(path: Path, content: bytes, **limits: int) -> str:
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_document(path, **limits)
    assert str(path) in caught.value.cause
    assert caught.value.remedy
    return str(caught.value)


@contextmanager
def _memory_below(most_bytes: float) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most_bytes
    finally:
        tracemalloc.stop()


def _bad_histogram() -> bytes:
    document = make.document()
    document.results[0].series[0].histogram.buckets = [(5, 1), (4, 2)]
    return msgspec.json.encode(document)


_START = b'{"schema":"hardstone.run/1","x":['
BAD = [
    (b"", "not a run document"),
    (b"\xff\x00", "not a run document"),
    (b"{" * 200_000, "not a run document"),
    (b'{"schema":' + b"[" * 200_000, "not a run document"),
    (b'{"schema":"hardstone.run/1"}', "missing required field"),
    (b'{"schema":"hardstone.run/2"}', "upgrade hardstone"),
    (b'{"schema":"hardstone.stream/1"}', "is not a run document but"),
    (b'{"schema":"cyclictest"}', "is not a run document but"),
    (b"\x1f\x8b\x08garbage", "damaged"),
    (gzip.compress(msgspec.json.encode(make.document()))[:-20], "damaged"),
    (gzip.compress(_START) + b"more", "is damaged"),
    (gzip.compress(_START)[:-4], "its compressed data is cut short"),
    (gzip.compress(b"") * 3000, "more than 64 compressed members"),
    (msgspec.json.encode(make.document(run_id="../../etc/passwd")), "no valid run id"),
    (msgspec.json.encode(_fields() | {"schema": "hardstone.run/1", "plan": []}), "not a run"),
    (_bad_histogram(), "bucket 4 does not ascend"),
]


@pytest.mark.parametrize(("content", "said"), BAD, ids=range(len(BAD)))
def test_what_is_no_document_is_refused_in_words(tmp_path: Path, content: bytes, said: str) -> None:
    assert said in _refused(tmp_path / "run.json.gz", content)


def _series(fields: Fields, count: int) -> None:
    one = fields["results"][0]["series"][0]
    fields["results"][0]["series"] = [one | {"name": f"s{number}"} for number in range(count)]


def _top(**changed: object) -> Callable[[Fields], object]:
    return lambda fields: fields.update(changed)


def _result(**changed: object) -> Callable[[Fields], object]:
    return lambda fields: fields["results"][0].update(changed)


FIELDS: list[tuple[Callable[[Fields], object], str]] = [
    (_top(name="x" * 5000), "length <= 4096 - at `$.name`"),
    (_top(advice=["x" * 70_000]), "length <= 65536 - at `$.advice"),
    (lambda fields: fields["system"].update({"x" * 5000: 1}), "length <= 4096"),
    (_result(duration_ns=10**30), "- at `$.results[0].duration_ns`"),
    (_result(duration_ns=4 * 10**18), "- at `$.results[0].duration_ns`"),
    (_result(environment={"steal_ns": 2**63}), "<= 9223372036854775807"),
    (_top(started_utc="1677-09-21T00:12:43Z"), "not a time between 1970"),
    (_top(started_utc="2200-01-01T00:00:00Z"), "not a time between 1970"),
    (_top(finished_utc="yesterday"), "'yesterday' is not a time"),
    (_result(started_utc="1969-12-31T23:59:59Z"), "not a time between 1970 and 2200"),
    (lambda fields: _series(fields, 16_385), "length <= 16384 - at `$.results[0].series`"),
    (_result(tables=[{"name": "t", "columns": {"x": []}}] * 4097), "length <= 4096"),
]


@pytest.mark.parametrize(("change", "said"), FIELDS, ids=range(len(FIELDS)))
def test_a_field_beyond_its_bounds_is_named(
    tmp_path: Path, change: Callable[[Fields], object], said: str
) -> None:
    fields = _fields()
    change(fields)
    raw = json.dumps(fields).encode()  # which writes integers of any size
    assert said in _refused(tmp_path / "run.json", raw)


def test_a_machine_whose_clock_is_not_set_is_no_damage(store: Store) -> None:
    at = "1970-01-01T00:01:00Z"
    run_id = new_run_id(datetime.fromisoformat(at))
    document = make.document(run_id=run_id, started_utc=at, finished_utc="2026-11-21T03:22:00Z")
    document.results[0].started_utc = at
    with store.journal(document, Here()) as journal:
        journal.finish(document)
    assert [entry.id for entry in store.runs()] == [run_id]
    assert store.load("last") == document


BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    "blanks": (lambda: gzip.compress(b" " * 2_500_000, 1) * 60, "more than 134217728 bytes"),
    "values": (lambda: gzip.compress(_START + b"1," * 12_000_001, 1), "more than 12000000 values"),
    "objects": (lambda: gzip.compress(_START + b"{}," * 1_000_001, 1), "more than 1000000 objects"),
    "fields": (lambda: gzip.compress(_START + b":" * 5_000_001, 1), "more than 5000000 fields"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_before_it_is_decoded(tmp_path: Path, bomb: str) -> None:
    made, said = BOMBS[bomb]
    content = made()
    with _memory_below(300 * 2**20):  # twice the limit, while what was read grows
        assert said in _refused(tmp_path / "run.json.gz", content)


def test_no_more_is_read_or_unpacked_than_the_limit(tmp_path: Path) -> None:
    with _memory_below(10_000_000):
        packed = gzip.compress(b" " * 2_000_000) * 20
        for content in (packed, b" " * 1_000_001):
            said = _refused(tmp_path / "run", content, limit_bytes=1_000_000)
            assert "than 1000000 bytes" in said


def test_an_unknown_field_takes_no_memory(tmp_path: Path) -> None:
    odd = _fields() | {"schema": "hardstone.run/1", "x": "@"}
    raw = msgspec.json.encode(odd).replace(b'"@"', b"[" + b"[]," * 500_000 + b"1]")
    (tmp_path / "run.json").write_bytes(raw)
    with _memory_below(10 * len(raw)):
        assert read_document(tmp_path / "run.json").name == "evening"


def test_results_are_counted_before_they_are_decoded(tmp_path: Path) -> None:
    raw = msgspec.json.encode(_fields() | {"results": _fields()["results"] * 16_385})
    with _memory_below(1.5 * len(raw)):  # what was read, and next to nothing
        said = _refused(tmp_path / "run.json", raw)
    assert "length <= 16384 - at `$.results`" in said


READ = """
import resource, sys
from pathlib import Path
from hardstone.store.documents import read_document
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**26, used + 2**26))
print(read_document(Path(sys.argv[1])).name)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="there is no /proc")
def test_a_small_document_takes_little_memory(store: Store) -> None:
    path = write_document(open_place(store.path), make.document())
    command = [sys.executable, "-c", READ, str(path)]
    done = ran(command)
    assert (done.returncode, done.stdout) == (0, "evening\n"), done.stderr


# What is shown in part


def test_many_series_and_reasons_are_shown_in_part(capsys: pytest.CaptureFixture[str]) -> None:
    fields = _fields()
    _series(fields, 1000)
    fields["trust"]["reasons"] = [f"reason {number}" for number in range(1000)]
    print_whole(_read(fields))
    out = capsys.readouterr().out
    assert "201 more series, in the report and with --json" in " ".join(out.split())
    assert "and 800 more, in the report" in out
    assert "reason 199" in out and "reason 200" not in out


# Maxima of hours

MAXIMA = st.lists(st.none() | st.integers(0, 99), max_size=40)


def _run_of(*maxima: list[int | None]) -> RunDocument:
    document = make.document()
    one = document.results[0].series[0]
    document.results[0].series = [msgspec.structs.replace(one, maxima_per_s=m) for m in maxima]
    return document


def _series_of(document: RunDocument) -> list[Series]:
    return document.results[0].series


@given(st.lists(MAXIMA, min_size=1, max_size=5), st.integers(5, 60))
def test_each_maximum_is_that_of_its_longer_interval(
    maxima: list[list[int | None]], most: int
) -> None:
    before = _run_of(*maxima)
    after = thinned(before, most)
    assert sum(len(one.maxima_per_s) for one in _series_of(after)) <= max(most, len(maxima))
    for was, now in zip(_series_of(before), _series_of(after), strict=True):
        times = now.maxima_interval_ns // was.maxima_interval_ns
        assert times & (times - 1) == 0
        assert len(now.maxima_per_s) == -(-len(was.maxima_per_s) // times)
        for at, value in enumerate(now.maxima_per_s):
            part = was.maxima_per_s[at * times : (at + 1) * times]
            assert value == max((one for one in part if one is not None), default=None)


def test_the_longest_pay_first_and_what_fits_stays_as_it_was() -> None:
    document = _run_of([1, None, 3], [4])
    assert thinned(document, 4) is document
    short, long = _series_of(thinned(_run_of([1, 2], [1, 9, 3, 4, 5, 6, 7, 8]), 6))
    assert (short.maxima_per_s, long.maxima_per_s) == ([1, 2], [9, 4, 6, 8])
    assert long.maxima_interval_ns == 2 * short.maxima_interval_ns
    # series that end a second apart keep one interval
    of_series = _series_of(thinned(_run_of(*([7] * end for end in range(99, 104))), 330))
    assert {one.maxima_interval_ns for one in of_series} == {2_000_000_000}


@pytest.mark.slow  # six million values
def test_a_run_beyond_the_limits_of_a_document_is_stored_and_read(tmp_path: Path) -> None:
    maxima: list[int | None] = [None] * (1 << 19)
    path = write_document(open_place(tmp_path), _run_of(*[maxima] * 12))
    lengths = [len(series.maxima_per_s) for series in _series_of(read_document(path))]
    assert lengths == [1 << 18] * 12


# Tables of whole numbers

TEST = "TMR-P-LAT"
FRAME = Table(
    name="frame", data={"step_ns": 1_000_000}, columns={"x_um": [1, -2, 3], "y_um": [0, 0, 9]}
)


def table_line(**changed: object) -> bytes:
    fields = {"type": "table", "name": "frame", "data": FRAME.data, "columns": FRAME.columns}
    return msgspec.json.encode(fields | changed)


def with_tables(*lines: bytes) -> list[bytes]:
    """A whole stream that has them before its series."""
    header, series, result, footer = stream(TEST, 9)
    counts = msgspec.json.decode(footer)
    counts["lines"] += len(lines)
    return [header, *lines, series, result, msgspec.json.encode(counts)]


def _fed(*lines: bytes) -> StreamReader:
    reader = StreamReader(TEST)
    for one in lines:
        reader.feed(one)
    return reader


def _read(document: object) -> RunDocument:
    return parse_document(msgspec.json.encode(document), "the run")


def _with(tables: list[Table]) -> RunDocument:
    return make.document(results=[make.result(tables=tables)])


def test_tables_come_back_in_their_order() -> None:
    others = table_line(name="blocks", data={}, columns={"step": []})
    reader = _fed(*with_tables(table_line(), others))
    result = reader.finish()
    assert (reader.problem, result.complete) == (None, True)
    assert result.tables == [FRAME, Table(name="blocks", columns={"step": []})]
    before = _with([FRAME])
    assert _read(before).results[0].tables == [FRAME]
    assert encode_document(_read(before)) == encode_document(before)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"columns": {"x_um": [1, 2], "y_um": [1]}}, "from 1 to 2 rows"),
        ({"columns": {}}, "no columns"),
        ({"columns": {"x_um": [0] * 16_385}}, "length <= 16384"),
        ({"columns": {f"c{n}": [] for n in range(65)}}, "length <= 64"),
        ({"columns": {"x_um": [1.5]}}, "Expected `int`"),
        ({"columns": {"x_um": [None]}}, "Expected `int`"),
        ({"columns": {"x_um": [2**63]}}, "9223372036854775807"),
        ({"columns": [[1]]}, "Expected `object`"),
        ({"name": "x" * 5000}, "length <= 4096"),
        ({"name": 7}, "Expected `str`"),
        ({"data": {"nested": {"x": 1}}}, ".data["),
        ({"data": {f"k{n}": 1 for n in range(65)}}, "length <= 64"),
    ],
    ids=range(12),
)
def test_an_impossible_table_breaks_a_stream_and_a_document(bad: Fields, words: str) -> None:
    line = table_line(**bad)
    reader = _fed(stream(TEST, 9)[0], table_line(), line, table_line())
    assert reader.problem is not None
    assert reader.problem.startswith("line 3") and words in reader.problem
    result = reader.finish()
    assert (result.status, result.tables) == ("failed", [FRAME])
    fields = _fields()
    fields["results"][0]["tables"] = [msgspec.json.decode(line)]
    with pytest.raises(InputError) as caught:
        _read(fields)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("line", "count", "problem"),
    [
        ({"columns": {"x_um": []}}, 4097, "line 4098: more than 4096 lines of the kind table"),
        (
            {"columns": {f"c{n}": [0] * 16_384 for n in range(6)}},
            62,
            "line 63: the stream holds more than 6000000 values",
        ),
    ],
    ids=["tables", "rows"],
)
def test_a_flood_of_tables_is_ended(line: Fields, count: int, problem: str) -> None:
    reader = _fed(stream(TEST, 9)[0], *[table_line(**line)] * count)
    assert reader.problem == problem
    assert len(reader.finish().tables) == count - 1


def test_a_run_with_more_than_a_document_holds_loses_the_last_tables_and_tells() -> None:
    before = make.document(results=[make.result(tables=[FRAME] * 3) for _ in range(3)])
    assert with_fewer_tables(before, 54) is before
    after = with_fewer_tables(before, 29)  # of six numbers each
    assert [len(one.tables) for one in after.results] == [3, 1, 0]
    told = [(one.name, one.data) for result in after.results for one in result.events]
    assert told == [
        ("tables_not_stored", {"dropped_count": 2}),
        ("tables_not_stored", {"dropped_count": 3}),
    ]
    assert with_fewer_tables(after, 29) is after


def _joined(first: Result, second: Result) -> Result:
    return joined_results(first, second, 1_000_000_000, Event(name="joined", text=""))


def test_joined_recordings_keep_the_tables_of_both() -> None:
    first, second = make.result(tables=[FRAME]), make.result(tables=[FRAME, FRAME])
    both = _joined(first, second)
    assert both.tables[0] == FRAME
    assert [one.data.get("part") for one in both.tables] == [None, 2, 2]
    assert [one.columns for one in both.tables] == [FRAME.columns] * 3
    assert [one.data.get("part") for one in _joined(both, first).tables] == [None, 2, 2, 3]
    full = Table(name="t", data={f"k{n}": n for n in range(64)}, columns={"x": []})
    many = make.result(tables=[full] * 3000)
    found = _read(make.document(results=[_joined(many, many)])).results[0].tables
    assert len(found) == 4096 and found[-1] == full


@pytest.mark.parametrize("has_series", [True, False])
def test_the_tables_of_a_probe_that_hung_are_read(
    tmp_path: Path, store: Store, has_series: bool
) -> None:
    header, *rest = sample.stream(FIRST)
    lines = [header, table_line().decode(), *(rest if has_series else [])]
    path = sample.scenario(tmp_path, {FIRST: [{"hang": True}]}, dump=lines)
    target = Recorded(path)
    outcome = Campaign(target, store).run(plan_of((FIRST,)), target.facts())
    result = outcome.document.results[0]
    assert (result.status, result.tables) == ("timeout", [FRAME])
    assert bool(result.series) == has_series
