"""Tables of whole numbers, from the lines of a stream to the document of a run."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from hardstone.campaign import Campaign
from hardstone.errors import InputError
from hardstone.model import Event, Result, RunDocument, Table
from hardstone.stats.joined_results import joined_results
from hardstone.store import Store
from hardstone.store.documents import encode_document, parse_document
from hardstone.store.thin import with_fewer_tables
from hardstone.stream import StreamReader
from tests.process.store.fake_probe import stream
from tests.process.store.test_recovery import left_behind, recovered
from tests.process.targets import sample
from tests.unit.stats import make
from tests.unit.test_campaign import FIRST, Recorded
from tests.unit.test_campaign import make as plan_of

TEST = "TMR-P-LAT"
HEADER = stream(TEST, 9)[0]
FRAME = Table(
    name="frame", data={"step_ns": 1_000_000}, columns={"x_um": [1, -2, 3], "y_um": [0, 0, 9]}
)


def line(**changed: object) -> bytes:
    fields = {"type": "table", "name": "frame", "data": FRAME.data, "columns": FRAME.columns}
    return msgspec.json.encode(fields | changed)


def fed(*lines: bytes) -> StreamReader:
    reader = StreamReader(TEST)
    for one in (HEADER, *lines):
        reader.feed(one)
    return reader


def with_tables(*lines: bytes) -> list[bytes]:
    """A whole stream that has them before its series."""
    header, series, result, footer = stream(TEST, 9)
    counts = msgspec.json.decode(footer)
    counts["lines"] += len(lines)
    return [header, *lines, series, result, msgspec.json.encode(counts)]


def document(tables: list[Table]) -> RunDocument:
    return make.document(results=[make.result(tables=tables)])


def read(result: RunDocument) -> RunDocument:
    return parse_document(msgspec.json.encode(result), "the run")


def test_tables_come_back_in_their_order() -> None:
    reader = StreamReader(TEST)
    for one in with_tables(line(), line(name="blocks", data={}, columns={"step": []})):
        reader.feed(one)
    result = reader.finish()
    assert (reader.problem, result.complete) == (None, True)
    assert result.tables == [FRAME, Table(name="blocks", columns={"step": []})]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (line(columns={"x_um": [1, 2], "y_um": [1]}), "its columns have from 1 to 2 rows"),
        (line(columns={}), "it has no columns"),
        (line(columns={"x_um": [0] * 16_385}), "length <= 16384"),
        (line(columns={f"c{n}": [] for n in range(65)}), "length <= 64"),
        (line(columns={"x_um": [1.5]}), "Expected `int`"),
        (line(columns={"x_um": [None]}), "Expected `int`"),
        (line(columns={"x_um": [2**63]}), "9223372036854775807"),
        (line(columns=[[1]]), "Expected `object`"),
        (line(name="x" * 5000), "length <= 4096"),
        (line(name=7), "Expected `str`"),
        (line(data={"nested": {"x": 1}}), "$.data"),
        (line(data={f"k{n}": 1 for n in range(65)}), "length <= 64"),
    ],
    ids=range(12),
)
def test_an_impossible_table_breaks_the_stream(bad: bytes, words: str) -> None:
    reader = fed(line(), bad, line())
    assert reader.problem is not None
    assert reader.problem.startswith("line 3") and words in reader.problem
    result = reader.finish()
    assert (result.status, result.tables) == ("failed", [FRAME])


def test_a_flood_of_tables_is_ended() -> None:
    reader = fed(*([line(columns={"x_um": []})] * 4097))
    assert reader.problem == "line 4098: more than 4096 lines of the kind table"
    assert len(reader.finish().tables) == 4096


def test_a_flood_of_rows_is_ended() -> None:
    """It counts as values of a stream."""
    row = line(columns={f"c{n}": [0] * 16_384 for n in range(6)})
    reader = fed(*([row] * 62))
    assert reader.problem == "line 63: the stream holds more than 6000000 values"


def test_a_document_with_tables_is_stored() -> None:
    before = document([FRAME])
    assert read(before).results[0].tables == [FRAME]
    assert encode_document(read(before)) == encode_document(before)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (Table(name="frame", columns={"x": [1, 2], "y": [1]}), "from 1 to 2 rows"),
        (Table(name="frame"), "no columns"),
        (Table(name="frame", columns={"x": [0] * 16_385}), "length <= 16384"),
    ],
)
def test_a_document_with_an_impossible_table_is_refused(table: Table, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(document([table]))


def test_a_document_with_too_many_tables_is_refused() -> None:
    with pytest.raises(InputError, match="length <= 4096"):
        read(document([Table(name="frame", columns={"x": []})] * 4097))


def test_a_run_with_more_than_a_document_holds_loses_the_last_tables_and_tells() -> None:
    results = [make.result(tables=[FRAME] * 3) for _ in range(3)]
    before = make.document(results=results)
    assert with_fewer_tables(before, 54) is before
    after = with_fewer_tables(before, 29)  # of six numbers each
    assert [len(one.tables) for one in after.results] == [3, 1, 0]
    told = [(one.name, one.data) for result in after.results for one in result.events]
    assert told == [
        ("tables_not_stored", {"dropped_count": 2}),
        ("tables_not_stored", {"dropped_count": 3}),
    ]
    assert with_fewer_tables(after, 29) is after


def test_joined_recordings_keep_the_tables_of_both() -> None:
    first, second = make.result(tables=[FRAME]), make.result(tables=[FRAME, FRAME])
    both = joined_results(first, second, 1_000_000_000, Event(name="joined", text=""))
    assert both.tables[0] == FRAME
    assert [one.data.get("part") for one in both.tables] == [None, 2, 2]
    assert [one.columns for one in both.tables] == [FRAME.columns] * 3
    third = joined_results(both, first, 2_000_000_000, Event(name="joined", text=""))
    assert [one.data.get("part") for one in third.tables] == [None, 2, 2, 3]


def test_joined_tables_stay_within_the_bounds_of_a_document() -> None:
    full = Table(name="t", data={f"k{n}": n for n in range(64)}, columns={"x": []})
    first = make.result(tables=[full] * 3000)
    both = joined_results(first, first, 1_000_000_000, Event(name="joined", text=""))
    found = read(make.document(results=[both])).results[0].tables
    assert len(found) == 4096 and found[-1] == full


def test_tables_that_had_come_when_the_tool_was_killed_are_kept(store: Store) -> None:
    """Without its recording: that is gone."""
    result = recovered(store, left_behind(store, lines=with_tables(line())[:2]))
    assert (result.status, result.complete, result.tables) == ("failed", False, [FRAME])


def test_the_tables_of_a_recording_are_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recording has all of them; fewer had come."""
    monkeypatch.setattr(
        "tests.process.store.fake_probe.stream", lambda *_: with_tables(line(), line())
    )
    result = recovered(store, left_behind(store, lines=with_tables(line())[:2], recorded=9))
    assert (result.status, result.tables) == ("measured", [FRAME, FRAME])


def _hung(tmp_path: Path, store: Store, lines: list[str]) -> Result:
    path = sample.scenario(tmp_path, {FIRST: [{"hang": True}]}, dump=lines)
    target = Recorded(path)
    return Campaign(target, store).run(plan_of((FIRST,)), target.facts()).document.results[0]


def test_the_tables_of_a_probe_that_hung_are_read(tmp_path: Path, store: Store) -> None:
    header, *rest = sample.stream(FIRST)
    result = _hung(tmp_path, store, [header, line().decode(), *rest])
    assert (result.status, result.tables) == ("timeout", [FRAME])


def test_tables_without_a_series_are_read_too(tmp_path: Path, store: Store) -> None:
    header, *_ = sample.stream(FIRST)
    result = _hung(tmp_path, store, [header, line().decode()])
    assert (result.status, result.series, result.tables) == ("timeout", [], [FRAME])
