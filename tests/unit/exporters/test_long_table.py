"""Runs as long tables: the rows, read by csv and by pyarrow."""

from __future__ import annotations

import csv
import io

import msgspec
import pytest

from hardstone.exporters.long_table import export_csv, export_parquet, labels_text, series_buckets
from hardstone.exporters.registry import Wanted
from hardstone.model import Conditions, Imported, Loss, RunDocument, Stopped, Verdict
from tests.imported import bare, cyclictest, imported_run, only_mean
from tests.unit.stats import make

parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
arrow_csv = pytest.importorskip("pyarrow.csv", reason="pyarrow is not installed")
FIGURES, BUCKETS = Wanted(), Wanted(table="buckets")


def rows_of(*documents: RunDocument, wanted: Wanted = FIGURES) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(export_csv(documents, wanted).content.decode())))


def figures_of(document: RunDocument) -> dict[str, str]:
    return {row["statistic"]: row["value"] for row in rows_of(document)}


def test_each_figure_is_a_row_with_its_place_and_conditions() -> None:
    series = msgspec.structs.replace(
        make.series(range(1, 1001)), labels={"part": "total", "cpu": 3}
    )
    where = Conditions(load="heavy", cpu_config="shielded", cpu=3, policy="fifo", priority=98)
    rows = rows_of(make.document(results=[make.result(series=[series], conditions=where)]))
    places = {tuple(row[name] for name in ("series", "labels", "address")) for row in rows}
    assert places == {("wakeup", "cpu=3,part=total", "TMR-P-LAT/total/3/wakeup")}
    conditions = ("load", "cpu_config", "preemption", "cpu", "policy", "priority", "trust", "tool")
    found = {tuple(row[name] for name in conditions) for row in rows}
    assert found == {("heavy", "shielded", "", "3", "fifo", "98", "full", "hardstone")}
    assert [row["statistic"] for row in rows] == [
        *("count", "min", "mean", "stddev", "p50", "p50_low", "p50_high", "p90", "p90_low"),
        *("p90_high", "p99", "p99_low", "p99_high", "max", "underflow", "overflow"),
    ]
    assert {row["unit"] for row in rows} == {"ns", "count"}
    figures = {row["statistic"]: row["value"] for row in rows}
    assert (figures["count"], figures["min"], figures["max"]) == ("1000", "1", "1000")
    assert figures["mean"] == "500.5" and figures["p50"] == "500"
    assert int(figures["p99_low"]) < int(figures["p99"]) < int(figures["p99_high"])


@pytest.mark.parametrize("wanted", [FIGURES, BUCKETS], ids=["figures", "buckets"])
def test_points_of_a_sweep_are_rows_of_their_own(wanted: Wanted) -> None:
    verdict = Verdict(name="held", passed=True, evidence="")
    results = [
        make.result("SIM-S-RT", params={"masses": [size, 9], "solver": "a,b"}, verdicts=[verdict])
        for size in (16, 32, 32)
    ]
    lone = make.result("SIM-S-RT", conditions=Conditions(load="none", cpu_config="shared"))
    rows = rows_of(make.document(results=[results[0], lone, *results[1:]]), wanted=wanted)
    values = {"value", "count"}
    keys = [tuple(row[name] for name in row if name not in values) for row in rows]
    assert len(keys) >= 12 and len(set(keys)) == len(keys)
    assert list(dict.fromkeys((row["load"], row["number"], row["params"]) for row in rows)) == [
        ("heavy", "1", "masses=16\\,9,solver=a\\,b"),
        ("none", "1", ""),
        ("heavy", "2", "masses=32\\,9,solver=a\\,b"),
        ("heavy", "3", "masses=32\\,9,solver=a\\,b"),
    ]


def test_what_is_missing_is_empty_and_never_0() -> None:
    one = figures_of(make.document(results=[make.result(values=[7])]))
    assert one["stddev"] == "" and "p50" not in one
    none = figures_of(make.document(results=[make.result(values=[])]))
    assert none["count"] == "0" and none["min"] == none["mean"] == none["max"] == ""


def test_a_quantile_past_the_buckets_is_a_bound_of_another_name() -> None:
    series = make.series([*[100] * 500, *[10**9] * 500], limit=1000)
    figures = figures_of(make.document(results=[make.result(series=[series])]))
    assert "p90" not in figures and figures["p90_above"] == "100" and figures["p90_high"] == ""
    assert figures["overflow"] == "500"


def test_verdicts_are_rows_and_a_test_without_figures_has_one() -> None:
    results = [
        make.result("SEM-B-REL", series=[], verdicts=[Verdict(name="x", passed=True, evidence="")]),
        make.result("SEM-P-SIG", status="denied", reason="no rights", series=[]),
    ]
    passed, denied = rows_of(make.document(results=results))
    assert (passed["series"], passed["statistic"], passed["unit"]) == ("x", "verdict", "bool")
    assert passed["value"] == "1" and passed["address"] == "SEM-B-REL/x"
    assert (denied["status"], denied["note"]) == ("denied", "no rights")
    assert denied["statistic"] == denied["value"] == ""


def test_figures_that_cannot_be_true_say_so() -> None:
    result = make.result()
    result.series[0].count = 7
    assert {row["note"] for row in rows_of(make.document(results=[result]))} == {"cannot be true"}


def test_values_of_a_stopped_program_are_rows_of_their_own() -> None:
    series = msgspec.structs.replace(make.series([1, 2]), stopped=Stopped(count=3, worst=10**9))
    figures = figures_of(make.document(results=[make.result(series=[series])]))
    assert (figures["count"], figures["stopped"], figures["stopped_max"]) == (
        "2",
        "3",
        "1000000000",
    )


def test_times_that_are_not_those_of_hardware_say_so() -> None:
    counted = {"virtual.time": "instructions"}
    (note,) = {row["note"] for row in rows_of(make.document(system=counted))}
    assert note == "time is an instruction count: not comparable with hardware"
    other = msgspec.structs.replace(make.series([1]), unit="count")
    counts = make.document(system=counted, results=[make.result(series=[other])])
    assert {row["note"] for row in rows_of(counts)} == {""}


def test_losses_of_an_imported_file_are_noted() -> None:
    imported = Imported(
        tool="cyclictest",
        version=None,
        format="text",
        file="x",
        sha256="0",
        size_bytes=1,
        losses=[Loss(what="overflow", text="-"), Loss(what="mean", text="-", series="other")],
    )
    row, *_ = rows_of(make.document(imported=imported))
    assert row["tool"] == "cyclictest" and row["note"] == "not in the imported file: overflow"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1+1", "@SUM(A1)"])
def test_no_cell_is_a_formula(text: str) -> None:
    series = msgspec.structs.replace(make.series([1, 2, 3], name=text), labels={text: "a"})
    document = make.document(results=[make.result(text, series=[series])])
    for row in rows_of(document):
        assert row["test"] == row["series"] == f"'{text}"
        assert all(not cell.startswith(("=", "+", "-", "@")) for cell in row.values())


def test_labels_are_in_one_order_and_can_be_parsed() -> None:
    series = msgspec.structs.replace(make.series([1]), labels={"z": "a,b=c\\", "a": 1})
    assert labels_text(series) == "a=1,z=a\\,b\\=c\\\\"


def test_buckets_and_the_values_outside_of_them_add_up_to_the_count() -> None:
    series = make.series([-5, 3, 3, 5000, 10**9], limit=10_000)
    rows = rows_of(make.document(results=[make.result(series=[series])]), wanted=BUCKETS)
    found = [(row["lower"], row["upper"], row["count"]) for row in rows]
    assert found == [("", "-1", "1"), ("3", "3", "2"), ("5000", "5003", "1"), ("5004", "", "1")]


def test_dropped_values_have_a_bucket_without_a_count() -> None:
    found = [*series_buckets(cyclictest([3000, 4000, 9000], buckets=6, is_cut=True))]
    assert [(one.lower, one.upper, one.values) for one in found] == [
        (3000, 3999, 1),
        (4000, 4999, 1),
        (6000, None, None),
    ]


def test_values_without_a_distribution_are_in_one_open_bucket() -> None:
    (one,) = series_buckets(bare(20))
    assert (one.lower, one.upper, one.values) == (None, None, 20)
    (one,) = series_buckets(only_mean())
    assert (one.lower, one.upper, one.values) == (None, None, None)


def test_a_file_of_another_tool_gives_no_figure_that_it_does_not_hold() -> None:
    cut = figures_of(imported_run(cyclictest(range(0, 10**6, 50), buckets=6, is_cut=True)))
    assert not any(name.startswith("p") for name in cut)
    alone = figures_of(imported_run(only_mean()))
    assert (alone["count"], alone["mean"]) == ("", "1200")
    for series in (bare(20), only_mean()):  # nothing lies outside of buckets that do not exist
        assert not figures_of(imported_run(series)).keys() & {"underflow", "overflow"}
    assert cut["count_at_least"] == "120" and cut["overflow"] == "" and "count" not in cut
    assert figures_of(imported_run(bare(most=None)))["max"] == ""
    counted = figures_of(imported_run(cyclictest(range(0, 10**6, 50), buckets=6)))
    assert counted["p90_above"] == "5999" and counted["step"] == "1000"
    assert "p90" not in counted and counted["p90_high"] == ""


@pytest.mark.parametrize("wanted", [FIGURES, BUCKETS], ids=["figures", "buckets"])
def test_parquet_has_the_rows_of_the_csv(wanted: Wanted) -> None:
    runs = [
        make.document(results=[make.result(values=range(1000)), make.result("X", series=[])]),
        make.document(run_id="20261122T032200Z-1a2b3d", results=[make.result(values=[-1, 2])]),
    ]
    table = parquet.read_table(io.BytesIO(export_parquet(runs, wanted).content))
    text = arrow_csv.read_csv(
        io.BytesIO(export_csv(runs, wanted).content),
        convert_options=arrow_csv.ConvertOptions(
            column_types={
                one.name: getattr(one.type, "value_type", one.type) for one in table.schema
            },
            strings_can_be_null=True,
        ),
    )
    assert table.num_rows > 20 and table.to_pylist() == text.to_pylist()
    assert len(set(table["run"].to_pylist())) == 2


def test_an_empty_table_has_its_columns() -> None:
    empty = make.document(results=[])
    table = parquet.read_table(io.BytesIO(export_parquet([empty], FIGURES).content))
    assert table.num_rows == 0 and table.column_names[-3:] == ["statistic", "unit", "value"]
    assert rows_of(empty) == []
