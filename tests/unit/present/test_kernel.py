"""What is said of the operations of the kernel, and of preemption off and on; and what is not."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from hardstone.model import Result, Scalar
from hardstone.present.kernel_history import history_line, kernel_history
from hardstone.present.kernel_summary import kernel_lines
from hardstone.present.kernel_table import KernelTable, kernel_table, rate_text
from hardstone.present.preemption_sides import Figure
from hardstone.present.preemption_table import (
    INDISTINCT,
    NO_INTERVAL,
    PreemptionRow,
    PreemptionTable,
    preemption_table,
    preemption_table_of,
    ratios_of,
)
from hardstone.stats.kernel_operations import kernel_time_of
from tests.unit.stats import make
from tests.unit.stats.blocked import dispatch, idle, kernel_result, result, with_reference_at_work

PERCENT = "\N{NO-BREAK SPACE}%"


def table(found: Result) -> KernelTable:
    shown = kernel_table(found)
    assert shown is not None
    return shown


@cache
def usual() -> KernelTable:
    return table(kernel_result())


def line(found: Result) -> str:
    """Of the one screen."""
    ((who, text),) = kernel_lines(make.document(results=[found, make.result()]))
    assert who == "KRN-P-PRE"
    return text


def without_reference(found: Result) -> Result:
    found.series = [one for one in found.series if one.labels["operation"] != "none"]
    return found


def has_note(found: KernelTable, begin: str) -> bool:
    return any(note.startswith(begin) for note in found.notes)


def test_rows_are_worst_first_with_hps_three_figures_and_intervals() -> None:
    found = usual()
    row = found.rows[0]
    assert row.operation == "exit" and [one.rank for one in found.rows] == ["1", "2=", "2="]
    assert (found.whole.operation, found.whole.rank) == ("all", "")
    assert found.reference is not None and found.reference.operation == "reference"
    assert (found.level, found.rate_above) == ("p99", "2 us")
    assert all(one.endswith(" us") for one in (row.length_90, row.length_99, row.worst))
    intervals = (row.interval_90, row.interval_99, row.interval, row.rate_interval)
    assert all(" to " in one for one in intervals)
    assert row.rate.endswith(" /s") and row.kernel_share == f"95{PERCENT}"
    text = line(kernel_result())
    assert text.startswith("worst at p99: exit (")
    assert f"of kernel time 90{PERCENT} in sections < " in text


def test_what_cannot_be_told_is_said() -> None:
    notes = " ".join(usual().notes)
    assert "Nothing shorter than " in notes and " is told from the idle latency" in notes
    assert "Too rare to have been seen" in notes and "1 ms: 0.75" in notes  # 3 / (4000 x 1 ms)
    assert "not distinguishable" in notes
    assert table(kernel_result(is_short=True)).whole.length_90.startswith("< ")
    few = table(kernel_result(count=300)).rows[0]
    assert (few.length_99, few.interval_99) == ("-", "")


def test_a_missing_reference_is_said() -> None:
    shown = table(without_reference(kernel_result()))
    assert any("reference (operation none)" in note for note in shown.notes)
    row = shown.rows[0]
    assert (shown.rate_above, row.rate, row.length_90) == ("", "-", "-") and row.quantile != "-"
    found = without_reference(alike())
    text = line(found)
    assert text.startswith("worst at p99: map (") and ", without a reference)" in text
    found.series.insert(0, dispatch("none", [5_000] * 200))
    assert has_note(table(found), "The reference has too few releases for p99")


def test_a_reference_of_other_processes_is_said_and_gives_no_rates_and_sections() -> None:
    found = table(with_reference_at_work(kernel_result(), still=0.585, waited=0.66))
    (note,) = [one for one in found.notes if one.startswith("The reference is that of other")]
    assert f"before 58{PERCENT} of its values" in note
    assert f"for 66{PERCENT} of its time" in note and "no rates" in note
    assert not any("missing" in one or "is told from the idle" in one for one in found.notes)
    assert found.reference is not None
    rows = [*found.rows, found.whole, found.reference]
    told = {(row.rate, row.rate_interval, row.length_90, row.length_99) for row in rows}
    assert told == {("-", "", "-", "-")}
    assert [row.rank for row in found.rows] == ["1", "2=", "2="]
    text = line(with_reference_at_work(kernel_result(), still=0.9))
    assert text.startswith("worst at p99: exit (") and "of kernel time" not in text


def test_residuals_that_do_not_fall_give_no_rate() -> None:
    """Each wake-up from the operation takes 8 us more, and nothing blocks for less."""
    found = kernel_result()
    late = np.random.default_rng(1).integers(18_000, 20_000, 1000).tolist()
    found.series = [one for one in found.series if one.labels["operation"] != "exit"]
    found.series.append(dispatch("exit", late))
    shown = table(found)
    (row,) = [row for row in shown.rows if row.operation == "exit"]
    assert (row.rate, row.rate_interval, row.length_90, row.length_99) == ("-", "", "-", "-")
    assert row.quantile != "-" and row.worst != "-"
    assert has_note(shown, "No rate and no sections of exit: ")


def test_kernel_time_that_does_not_fit_is_said() -> None:
    shown = table(kernel_result(share=None))
    assert has_note(shown, "Time in the kernel not counted: ")
    assert shown.whole.length_90 == "-" and shown.whole.rate != "-"
    assert has_note(table(kernel_result(share=0.01)), "Blocked for longer than in the kernel: ")
    assert not has_note(usual(), "Blocked for longer")
    other = kernel_result()
    other.events[0].data["waited_ns"] = 4_000_000_000
    assert has_note(table(other), "Other processes had the CPU for up to 40")
    assert not has_note(usual(), "Other processes")


def test_a_reference_that_is_late_itself_is_said() -> None:
    rng = np.random.default_rng(1)
    wide = idle(rng, 2_000)
    wide[:60] += 20_000  # 3 %, all beyond three deviations
    found = result({"fork": idle(rng, 2_000)}, {"fork": 0.9}, reference=wide)
    assert any("releases of the reference are above" in note for note in table(found).notes)


@pytest.mark.slow
def test_traced_sections_stand_beside_the_estimate() -> None:
    section = dispatch("exit", [1_000] * 90 + [200_000] * 10, "section")
    section.labels["kind"] = "preempt"
    found = kernel_result()
    found.series.append(section)
    (row,) = table(found).traced
    assert (row.operation, row.kind, row.count) == ("exit", "preempt", "100")
    assert row.length_99 == row.longest == "200 us"
    assert row.estimated_99 == usual().rows[0].length_99


def test_hps_figures_are_those_of_the_study() -> None:
    found = kernel_history()
    assert found.machine == "HP-UX/RT on HP 9000 Series 800" and found.short == "HP 1987"
    assert found.off == {"time_90": 40e6, "time_99": 129e6, "max": 1127e6}
    assert found.on == {"time_90": 1.4e6, "time_99": 3.4e6, "max": 14.6e6}
    assert found.improvement == {"time_90": 28, "time_99": 37, "max": 77}
    assert "preemption off 90 % 40 ms, 99 % 129 ms, longest 1127 ms" in history_line(None)
    assert history_line("emulated") == "HP 1987 is not shown: emulated."


def alike(**others: np.ndarray) -> Result:
    """`map` and `pipe` are as the reference, or earlier."""
    rng = np.random.default_rng(7)
    found = {"map": idle(rng, 2_000), "pipe": idle(rng, 2_000) - 1_000} | others
    return result(found, {}, reference=idle(rng, 2_000))


def test_what_is_like_the_reference_is_marked_and_never_called_the_worst() -> None:
    late = alike(exit=idle(np.random.default_rng(8), 2_000) + 5_000)
    found = table(late)
    ranks = [(row.rank, row.operation) for row in found.rows]
    assert ranks == [("1", "exit"), ("~", "map"), ("~", "pipe")]
    assert (found.whole.rank, found.reference and found.reference.rank) == ("", "")
    (note,) = [one for one in found.notes if one.startswith("~: not distinguishable from the ref")]
    assert "rank: map, pipe." in note and "exit" not in note
    assert not any("Too few releases" in one for one in found.notes)
    text = line(late)
    assert text.startswith("worst at p99: exit (") and "map" not in text and "pipe" not in text
    text = line(alike())
    assert text.startswith("at p99 no operation is distinguishable from the reference")
    assert "worst" not in text


def test_rates_have_two_digits() -> None:
    texts = [rate_text(rate) for rate in (0, 0.034, 3.46, 34.6, 346, 34_600)]
    assert texts == ["0 /s", "0.034 /s", "3.5 /s", "35 /s", "350 /s", "35000 /s"]


# Preemption off and on

Facts = dict[str, Scalar]
OFF: Facts = {"kernel.preemption": "none", "kernel.cmdline": "quiet preempt=none"}
ON: Facts = {"kernel.preemption": "full", "kernel.cmdline": "quiet preempt=full"}


@cache
def blocked(seed: int = 1, is_short: bool = False) -> Result:
    """Only read."""
    return kernel_result(seed, is_short=is_short)


@cache
def improved() -> PreemptionTable:
    return preemption_table([blocked()], [blocked(2, True)], (OFF, ON))


@cache
def turned() -> PreemptionTable:
    return preemption_table([blocked(2, True)], [blocked()], (ON, OFF))


def twice(on: Result | None = None, facts: tuple[Facts, Facts] = (OFF, ON)) -> PreemptionTable:
    return preemption_table([blocked()], [on or blocked(2)], facts)


def row(found: PreemptionTable, figure: str = "99 %", operation: str = "all") -> PreemptionRow:
    (one,) = [one for one in found.rows if (one.operation, one.figure) == (operation, figure)]
    return one


@pytest.mark.slow
def test_it_has_hps_rows_and_columns_and_those_of_each_operation_worst_first() -> None:
    found = improved()
    whole = [one for one in found.rows if one.operation == "all"]
    assert [(one.figure, one.published) for one in whole] == [
        ("90 %", ("40 ms", "1.4 ms", "28")),
        ("99 %", ("129 ms", "3.4 ms", "37")),
        ("worst observed", ("1127 ms", "14.6 ms", "77")),
    ]
    assert found.published == "HP 1987: HP-UX/RT on HP 9000 Series 800"
    assert (found.off, found.on, found.unlike) == ("none", "full", [])
    names = list(dict.fromkeys(one.operation for one in found.rows))
    assert names[:2] == ["all", "exit"] and sorted(names[2:]) == ["exec", "fork"]
    assert all(not one.published for one in found.rows if one.operation != "all")


@pytest.mark.slow
def test_the_improvement_is_the_ratio_and_a_bound_of_a_bound() -> None:
    found = row(improved(), operation="exit")
    assert 20 < float(found.improvement) < 60  # 300 us, and 3 us exponential
    assert found.doubt == ""
    bound = row(improved(), "90 %", "exit")
    assert bound.on.startswith("< ") and bound.improvement.startswith("> ")
    assert row(turned(), "90 %", "exit").improvement.startswith("< ")
    short = [blocked(2, True)]
    none = row(preemption_table(short, short), "90 %", "exit")
    assert (none.improvement, none.limits) == ("-", [])


@pytest.mark.slow
def test_the_improvement_has_the_ratios_that_both_intervals_allow() -> None:
    off, on = (kernel_time_of(one) for one in (blocked(), blocked(2, True)))
    assert off and on and off.whole.blocking and on.whole.blocking
    first, second = off.whole.blocking.lengths[0.99], on.whole.blocking.lengths[0.99]
    assert first and second and first.high_ns and second.high_ns and second.low_ns
    found = row(improved())
    low, high = found.improvement_interval.split(" to ")
    assert float(low) == pytest.approx(first.low_ns / second.high_ns, rel=0.05)
    assert float(high) == pytest.approx(first.high_ns / second.low_ns, rel=0.05)
    assert float(low) < float(found.improvement) < float(high)
    assert found.limits == [found.improvement_interval]
    assert row(improved(), "90 %").improvement_interval.endswith(" to unbounded")  # on from 0
    assert row(turned(), "90 %").improvement_interval.startswith("0 to ")


def figure(low: float, high: float | None) -> Figure:
    return Figure(400.0, "400 ns", "", low, high)


@pytest.mark.parametrize(
    ("off", "on", "expected"),
    [
        (figure(157, 7200), figure(9.68, 136), "1.2 to 744"),  # as the how-to shows
        (figure(200, None), figure(50, 100), "2.0 to unbounded"),
        (figure(200, 500), figure(50, None), "0 to 10"),
        (figure(200, 500), figure(0, 100), "2.0 to unbounded"),
        (figure(0, None), figure(0, None), "0 to unbounded"),
    ],
)
def test_the_ratios_of_two_intervals(off: Figure, on: Figure, expected: str) -> None:
    assert ratios_of(off, on) == expected


@pytest.mark.slow
def test_a_maximum_has_an_interval_over_repeated_results_only() -> None:
    one = row(improved(), "worst observed", "exit")
    assert one.improvement != "-" and (one.limits, one.off_interval) == ([NO_INTERVAL], "")
    off = [blocked(), blocked(2)]
    found = preemption_table(off, [blocked(2)], (OFF, ON))
    repeated = row(found, "worst observed", "fork")
    series = [one for result in off for one in result.series if one.labels["operation"] == "fork"]
    assert repeated.off == f"{max(one.max or 0 for one in series) / 1000:.0f} us"
    assert " to " in repeated.off_interval and repeated.on_interval == ""
    assert "results: 2 off, 1 on" in found.unlike
    both = row(preemption_table(off, off, (OFF, ON)), "worst observed", "exit")
    assert " to " in both.improvement_interval


@pytest.mark.slow
def test_the_same_twice_is_within_the_intervals_and_has_no_improvement() -> None:
    found = row(twice())
    low, high = map(float, found.improvement_interval.split(" to "))
    assert low < 1 < high
    assert (found.doubt, found.limits) == (INDISTINCT, [found.improvement_interval, INDISTINCT])
    assert twice() == twice()


OLD, NEW = OFF | {"kernel.release": "6.12"}, ON | {"kernel.release": "6.13"}


@pytest.mark.slow
def test_what_differs_beyond_the_model_is_said() -> None:
    loaded = kernel_result(2)
    loaded.conditions.load = "storm"
    found = twice(loaded, (OLD, NEW))
    assert found.unlike == ["load: heavy off, storm on", "kernel.release: 6.12 off, 6.13 on"]
    (line,) = twice(facts=(OFF, ON | {"kernel.cmdline": "quiet nohz=off preempt=full"})).unlike
    assert "kernel.cmdline: " in line
    assert twice(facts=(OFF, OFF)).unlike == ["the preemption model is none on both sides"]
    uneven = twice(kernel_result(2, count=2_000))
    assert any("more usually show a larger worst observed" in note for note in uneven.notes)


@pytest.mark.slow
def test_times_of_different_kinds_are_not_divided_and_path_lengths_are() -> None:
    counted: Facts = {"virtual.time": "instructions"}
    found = twice(facts=(OFF, ON | counted))
    assert {one.improvement for one in found.rows} == {"-"}
    assert any("different kinds" in note for note in found.notes)
    found = twice(facts=(OFF | counted, ON | counted))
    assert row(found).improvement != "-"
    assert any("path lengths" in line for line in found.unlike)


@pytest.mark.slow
def test_a_side_without_figures_says_why() -> None:
    found = twice(Result(test="KRN-P-PRE", status="denied", reason="no right to switch"))
    assert found.notes == ["on: denied: no right to switch"]
    assert row(found).on == row(found).improvement == "-"
    none = preemption_table([], [])
    assert (none.notes, none.rows) == (["off: no result", "on: no result"], [])
    found = twice(with_reference_at_work(kernel_result(2), waited=0.7))
    assert row(found).on == row(found).improvement == "-"
    assert row(found, "worst observed").on != "-"
    (note,) = [one for one in found.notes if one.startswith("on: no sections: ")]
    assert "most of the reference" in note


@pytest.mark.slow
def test_two_runs_make_a_table() -> None:
    off = make.document(results=[make.result(), blocked()], system=OFF)
    assert preemption_table_of(off, make.document(results=[blocked(2, True)], system=ON)).rows
