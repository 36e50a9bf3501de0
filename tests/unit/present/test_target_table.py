"""The table of several targets: what its cells say, and what it does not say."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

import pytest
from rich.cells import cell_len

from hardstone.model import ClockCheck, Conditions, RunDocument, Trust, Verdict
from hardstone.present.target_table import TargetTable, target_table
from hardstone.present.wording import format_value
from hardstone.terminal.beside_targets import print_target_table
from tests.unit.stats import make

EMULATED = {"virtual.emulated": True}
COUNTED = EMULATED | {"virtual.time": "instructions"}
VALUES = range(10_000, 12_000)


def run(
    target: str, values: Sequence[int] = VALUES, test: str = "TMR-P-LAT", **changed: object
) -> RunDocument:
    plan = make.plan_of([], target=target)
    fields: dict[str, object] = {"results": [make.result(test, values)], "plan": plan}
    return make.document(**(fields | changed))


def cells(table: TargetTable, label: str) -> list[tuple[str, str]]:
    """(text, ratio) of the first row called `label`."""
    row = next(row for row in table.rows if row.label == label)
    return [(cell.text, cell.ratio) for cell in row.cells]


def ratios(table: TargetTable) -> set[str]:
    return {cell.ratio for row in table.rows for cell in row.cells}


def shown(table: TargetTable, columns: int = 80) -> str:
    stream = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        print_target_table(table, stream)
    return stream.getvalue()


def test_figures_with_their_ratios_to_the_first() -> None:
    table = target_table([run("lab:a"), run("lab:b", [3 * value for value in VALUES])])
    assert [column.lines for column in table.columns] == [["lab:a"], ["lab:b"]]
    assert [row.label for row in table.rows] == [
        "TMR-P-LAT", "wakeup, total", "count", "median", "p99", "worst observed",
    ]  # fmt: skip
    assert cells(table, "count") == [("2\u00a0000", ""), ("2\u00a0000", "")]
    assert cells(table, "worst observed") == [("12.0 us", ""), ("36.0 us", "x3.0")]
    assert cells(table, "median")[1][1] == cells(table, "p99")[1][1] == "x3.0"


def test_a_long_name_goes_on_further_in() -> None:
    series = make.series(list(VALUES), "context_switch")
    series.labels = {"kind": "futex", "scope": "between processes of one group"}
    result = make.result("SEM-P-RTP", series=[series])
    lines = shown(target_table([run("a", results=[result]), run("b", results=[result])]))
    first, *more = [line for line in lines.splitlines() if re.match(" +[a-z]", line)][:4]
    assert first.startswith(" context") and all(line.startswith("  ") for line in more)
    assert "processes" in " ".join(more)


def test_the_first_target_has_no_ratio_to_itself() -> None:
    table = target_table([run("lab:a"), run("lab:a"), run("lab:a")])
    assert [ratio for _, ratio in cells(table, "worst observed")] == ["", "x1.0", "x1.0"]
    assert [column.short for column in table.columns] == ["#1", "#2", "#3"]
    assert [column.legend for column in table.columns] == ["lab:a"] * 3


def test_few_or_unlike_values_have_no_p99_and_no_ratio_of_the_worst() -> None:
    few = range(100, 200)
    assert "p99" not in [one.label for one in target_table([run("a", few), run("b", few)]).rows]
    table = target_table([run("a", few), run("b")])
    assert cells(table, "p99") == [("-", ""), ("12.0 us", "")]
    table = target_table([run("a"), run("b", range(10_000, 14_000))])
    assert cells(table, "worst observed")[1][1] == ""
    assert cells(table, "median")[1][1] == "x1.1"
    assert any("counts differ" in note for note in table.notes)


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ({}, EMULATED, "b: no ratio: it is emulated"),
        (EMULATED, {}, "b: no ratio: it is not emulated"),
        (EMULATED, COUNTED, "b: no ratio: it counts instructions in place of time"),
        (COUNTED, {"virtual.emulated": None}, "b: no ratio: it may be emulated"),
    ],
)
def test_kinds_of_time_are_never_divided(
    first: dict[str, object], second: dict[str, object], said: str
) -> None:
    table = target_table([run("a", system=first), run("b", system=second)])
    assert ratios(table) == {""}
    assert table.notes[0].startswith(said)
    assert not any(note.startswith("x: ") for note in table.notes)


@pytest.mark.parametrize("system", [EMULATED, COUNTED])
def test_one_kind_of_time_is_divided(system: dict[str, object]) -> None:
    table = target_table([run("a", system=system), run("b", system=system)])
    assert "x1.0" in ratios(table)
    assert {column.kind for column in table.columns} < {"(emulated)", "(instructions)"}
    table = target_table([run("a"), run("b", system=system), run("c")])
    assert [ratio for _, ratio in cells(table, "median")] == ["", "", "x1.0"]


def test_what_a_mark_in_the_headings_means_is_said_once() -> None:
    systems: list[dict[str, object]] = [{}, EMULATED, EMULATED, COUNTED]
    notes = target_table([run(f"t{n}", system=one) for n, one in enumerate(systems)]).notes
    marks = [note.partition(" ")[0] for note in notes if note.startswith("(")]
    assert marks == ["(emulated)", "(instructions)"]
    assert not any(note.startswith("(") for note in target_table([run("a"), run("b")]).notes)


def test_a_clock_that_ran_wrong_has_no_ratio_and_the_reason() -> None:
    check = ClockCheck(host_ns=10**9, target_ns=10**10, uncertainty_ns=0)
    untrusted = Trust(grade="untrustworthy", reasons=["the clock\x1b is wrong"])
    table = target_table([run("a"), run("b", clock_check=check, trust=untrusted)])
    assert ratios(table) == {""}
    assert "b: no ratio: the target's clock ran 10 times as fast" in table.notes[0]
    assert any(note.startswith("b is not trustworthy: the clock") for note in table.notes)
    assert "\x1b" not in shown(table)


def fixed(target: str, operations: int) -> RunDocument:
    series = make.series(list(VALUES))
    series.labels = {"kind": "add"}
    work = {"add_operations": operations}
    return run(target, results=[make.result("RSP-P-FIX", series=[series], calibrated=work)])


def test_unequal_work_has_no_ratio() -> None:
    table = target_table([fixed("a", 700), fixed("b", 710)])
    assert ratios(table) == {""}
    assert cells(table, "work") == [("700 operations", ""), ("710 operations", "")]
    assert any(note.endswith(": RSP-P-FIX") and "unequal work" in note for note in table.notes)
    assert "x1.0" in ratios(target_table([fixed("a", 700), fixed("b", 700)]))


def test_contradictory_figures_and_counts_are_not_divided() -> None:
    broken = run("b")
    broken.results[0].series[0].count += 1
    table = target_table([run("a"), broken])
    assert ratios(table) == {""}
    assert cells(table, "worst observed")[1][0].endswith("!")
    assert any(note.startswith("! ") for note in table.notes)
    counts = run("a"), run("b")
    for one in counts:
        one.results[0].series[0].unit = "count"
    assert ratios(target_table(counts)) == {""}


def test_of_a_throughput_the_least_is_the_worst() -> None:
    one = run("a")
    series = one.results[0].series[0]
    series.unit = "bytes_per_s"
    assert series.min is not None and series.min != series.max
    worst = cells(target_table([one, run("b")]), "worst observed")[0][0]
    assert worst == format_value(series.min, "bytes_per_s")


def test_what_was_not_measured_is_said_in_its_column() -> None:
    denied = [make.result(status="denied", series=[]), make.result("SEM-P-SIG")]
    table = target_table([run("a"), run("b", results=denied)])
    assert cells(table, "TMR-P-LAT") == [("", ""), ("denied", "")]
    assert cells(table, "SEM-P-SIG") == [("not run", ""), ("", "")]
    assert cells(table, "median")[1] == ("-", "")


def claims(target: str, *passed: bool) -> RunDocument:
    named = zip(("order", "held"), passed, strict=False)
    verdicts = [Verdict(name=name, passed=one, evidence="e") for name, one in named]
    return run(target, results=[make.result("SEM-B-REL", VALUES, verdicts=verdicts)])


def test_of_a_behaviour_the_failed_claims_are_rows() -> None:
    table = target_table([claims("a", True, True), claims("b", False, True), claims("c", True)])
    held = [text for text, _ in cells(table, "SEM-B-REL")]
    assert held == ["2 of 2 hold", "1 of 2 hold", "1 of 1 hold"]
    assert [text for text, _ in cells(table, "order")] == ["pass", "FAIL", "pass"]
    assert [row.label for row in table.rows] == ["SEM-B-REL", "order"]


@pytest.mark.slow
def test_many_series_of_many_tests_stay_readable() -> None:
    series = [make.series([n + 1], f"s{n}") for n in range(50)]
    results = [make.result(f"T{number}-P-X", series=series) for number in range(30)]
    table = target_table([run("a", results=results), run("b", results=results)])
    rows = [row.label for row in table.rows]
    assert rows.count("49 more series") == 30
    assert len(rows) <= 30 * 6


NAMES = {
    "plain": ["local", "lab:debian-rt"],
    "settings": ["lab:debian,preempt=none,deterministic", "lab:debian,preempt=full,deterministic"],
    "common": [
        f"lab:debian,cpus=2,memory=1024M,preempt={one},accel=tcg,append=a"
        for one in ("none", "full")
    ],
    "sixty": ["lab:" + 56 * "a", "lab:" + 55 * "a" + "b"],
    "wide": ["lab:" + "\u4e00" * 56, "lab:" + "\u4e00" * 55 + "\u4e01"],
    "append": ["lab:a,append=" + 400 * "x ", "lab:a,append=" + 400 * "x,"],
    "hostile": ["fake:\x1b[2J\u202e[bold]\n", "fake:\r\n</td>"],
    "many": [f"lab:kernel-{n},cpus=4,memory=2048M,preempt=full,accel=tcg" for n in range(7)],
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("columns", [80, 60, 200])
def test_eighty_columns_hold_the_table(names: list[str], columns: int) -> None:
    table = target_table([run(name) for name in names])
    lines = shown(table, columns).splitlines()
    legends = [line for line in lines if re.match(r"#\d: ", line)]
    assert all(cell_len(line) <= columns for line in lines if line not in legends)
    assert len(legends) in (0, len(names))
    text = "\n".join(lines)
    assert not {"\x1b", "\r", "\u202e"} & set(text)
    # Every figure is whole, and every target is told apart.
    assert text.count("12.0 us") >= 2 * len(names)
    assert len({tuple(column.lines) for column in table.columns}) == len(names)


def test_a_series_of_unlike_cpus_is_not_named_after_one() -> None:
    first, second = run("a"), run("b")
    for one, cpu in ((first, 1), (second, 0)):
        one.results[0].series[0].labels = {"part": "total", "cpu": cpu}
    assert "wakeup, total" in [row.label for row in target_table([first, second]).rows]
    assert "wakeup, total, cpu 1" in [row.label for row in target_table([first, first]).rows]


def test_settings_that_all_have_are_left_out_of_long_headings() -> None:
    columns = target_table([run(name) for name in NAMES["common"]]).columns
    assert [column.lines for column in columns] == [
        ["#1", "lab:debian,", "preempt=none"],
        ["#2", "lab:debian,", "preempt=full"],
    ]
    assert [column.legend for column in columns] == NAMES["common"]


def test_a_load_with_a_long_name_is_told_in_full() -> None:
    loads = ["none", "stress-ng:--cpu 2 --vm 1 --vm-bytes 100M --timeout 10"]
    results = [make.result(conditions=Conditions(load=load, cpu_config="shared")) for load in loads]
    table = target_table([run("a", results=results), run("b", results=results)])
    cut = next(row.label for row in table.rows if "stress-ng" in row.label)
    assert loads[1] not in cut
    assert any(note.endswith(f": {loads[1]}") for note in table.notes)
