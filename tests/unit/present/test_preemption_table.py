"""Kernel preemption off and on: ratios where they may be formed, and what differs."""

from __future__ import annotations

import msgspec
import pytest

from hardstone.model import Result, Scalar
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
from tests.unit.stats.blocked import kernel_result, with_reference_at_work

Facts = dict[str, Scalar]
OFF: Facts = {"kernel.preemption": "none", "kernel.cmdline": "quiet preempt=none"}
ON: Facts = {"kernel.preemption": "full", "kernel.cmdline": "quiet preempt=full"}


@pytest.fixture(scope="module")
def table() -> PreemptionTable:
    return preemption_table([kernel_result()], [kernel_result(2, is_short=True)], (OFF, ON))


def row(table: PreemptionTable, operation: str, figure: str) -> PreemptionRow:
    (found,) = [one for one in table.rows if (one.operation, one.figure) == (operation, figure)]
    return found


def test_it_has_hps_rows_and_columns(table: PreemptionTable) -> None:
    whole = [one for one in table.rows if one.operation == "all"]
    assert [one.figure for one in whole] == ["90 %", "99 %", "worst observed"]
    assert [one.published for one in whole] == [
        ("40 ms", "1.4 ms", "28"),
        ("129 ms", "3.4 ms", "37"),
        ("1127 ms", "14.6 ms", "77"),
    ]
    assert table.published == "HP 1987: HP-UX/RT on HP 9000 Series 800"
    assert (table.off, table.on) == ("none", "full")


def test_each_operation_has_its_rows_worst_of_off_first(table: PreemptionTable) -> None:
    names = list(dict.fromkeys(one.operation for one in table.rows))
    assert names[:2] == ["all", "exit"] and sorted(names[2:]) == ["exec", "fork"]
    assert all(not one.published for one in table.rows if one.operation != "all")


def test_the_improvement_is_the_ratio(table: PreemptionTable) -> None:
    found = row(table, "exit", "99 %")
    assert 20 < float(found.improvement) < 60  # 300 us, and 3 us exponential
    assert found.doubt == ""
    assert row(table, "exit", "worst observed").off_interval == ""


@pytest.mark.slow
def test_a_bound_gives_a_bound(table: PreemptionTable) -> None:
    assert row(table, "exit", "90 %").on.startswith("< ")
    assert row(table, "exit", "90 %").improvement.startswith("> ")
    turned = preemption_table([kernel_result(2, is_short=True)], [kernel_result()], (ON, OFF))
    assert row(turned, "exit", "90 %").improvement.startswith("< ")
    short = [kernel_result(2, is_short=True)]
    assert row(preemption_table(short, short), "exit", "90 %").improvement == "-"


@pytest.mark.slow
def test_the_improvement_has_the_ratios_that_both_intervals_allow(table: PreemptionTable) -> None:
    off, on = (kernel_time_of(one) for one in (kernel_result(), kernel_result(2, is_short=True)))
    assert off and on and off.whole.blocking and on.whole.blocking
    first, second = off.whole.blocking.lengths[0.99], on.whole.blocking.lengths[0.99]
    assert first and second and first.high_ns and second.high_ns and second.low_ns
    found = row(table, "all", "99 %")
    low, high = found.improvement_interval.split(" to ")
    assert float(low) == pytest.approx(first.low_ns / second.high_ns, rel=0.05)
    assert float(high) == pytest.approx(first.high_ns / second.low_ns, rel=0.05)
    assert float(low) < float(found.improvement) < float(high)
    assert found.limits == [found.improvement_interval]


@pytest.mark.slow
def test_an_unbounded_end_leaves_the_ratio_unbounded_or_at_zero(table: PreemptionTable) -> None:
    assert row(table, "all", "90 %").improvement_interval.endswith(" to unbounded")  # on from 0
    turned = preemption_table([kernel_result(2, is_short=True)], [kernel_result()], (ON, OFF))
    assert row(turned, "all", "90 %").improvement_interval.startswith("0 to ")


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
def test_a_maximum_of_one_result_has_no_interval_of_the_improvement(
    table: PreemptionTable,
) -> None:
    found = row(table, "exit", "worst observed")
    assert found.improvement != "-" and found.limits == [NO_INTERVAL]
    several = [kernel_result(seed) for seed in (1, 2)]
    repeated = preemption_table(several, several, (OFF, ON))
    assert " to " in row(repeated, "exit", "worst observed").improvement_interval


def test_no_improvement_has_no_interval() -> None:
    short = [kernel_result(2, is_short=True)]
    found = row(preemption_table(short, short), "exit", "90 %")
    assert (found.improvement, found.limits) == ("-", [])


@pytest.mark.slow
def test_the_same_twice_is_within_the_intervals_and_has_no_improvement() -> None:
    table = preemption_table([kernel_result(1)], [kernel_result(2)], (OFF, ON))
    found = row(table, "all", "99 %")
    assert found.doubt == INDISTINCT
    low, high = map(float, found.improvement_interval.split(" to "))
    assert low < 1 < high
    assert found.limits == [found.improvement_interval, INDISTINCT]


@pytest.mark.slow
def test_equal_results_give_the_same_table_twice() -> None:
    def once() -> PreemptionTable:
        return preemption_table([kernel_result()], [kernel_result(2)], (OFF, ON))

    assert once() == once()


@pytest.mark.slow
def test_repeated_results_show_their_range() -> None:
    off = [kernel_result(seed) for seed in (1, 2, 3)]
    table = preemption_table(off, [kernel_result(4)], (OFF, ON))
    found = row(table, "fork", "worst observed")
    worst = max(
        series.max or 0
        for result in off
        for series in result.series
        if series.labels["operation"] == "fork"
    )
    assert found.off == f"{worst / 1000:.0f} us" and " to " in found.off_interval
    assert found.on_interval == ""
    assert "results: 3 off, 1 on" in table.unlike


def changed(result: Result, **conditions: object) -> Result:
    own = msgspec.structs.replace(result.conditions, **conditions)
    return msgspec.structs.replace(result, conditions=own)


@pytest.mark.slow
def test_what_differs_beyond_the_model_is_said(table: PreemptionTable) -> None:
    assert table.unlike == []
    other = changed(kernel_result(2), load="storm")
    facts = ON | {"kernel.release": "6.13"}
    found = preemption_table([kernel_result()], [other], (OFF | {"kernel.release": "6.12"}, facts))
    assert found.unlike == ["load: heavy off, storm on", "kernel.release: 6.12 off, 6.13 on"]


@pytest.mark.slow
def test_another_word_on_the_command_line_is_said() -> None:
    facts = ON | {"kernel.cmdline": "quiet nohz=off preempt=full"}
    found = preemption_table([kernel_result()], [kernel_result(2)], (OFF, facts))
    assert len(found.unlike) == 1 and "kernel.cmdline: " in found.unlike[0]


@pytest.mark.slow
def test_the_same_model_on_both_sides_is_said() -> None:
    found = preemption_table([kernel_result()], [kernel_result(2)], (OFF, OFF))
    assert found.unlike == ["the preemption model is none on both sides"]


@pytest.mark.slow
def test_times_of_different_kinds_are_not_divided() -> None:
    counted = ON | {"virtual.time": "instructions"}
    found = preemption_table([kernel_result()], [kernel_result(2)], (OFF, counted))
    assert {one.improvement for one in found.rows} == {"-"}
    assert any("different kinds" in note for note in found.notes)


@pytest.mark.slow
def test_path_lengths_are_divided_by_path_lengths_and_said_to_be() -> None:
    counted: Facts = {"virtual.time": "instructions"}
    found = preemption_table([kernel_result()], [kernel_result(2)], (OFF | counted, ON | counted))
    assert row(found, "all", "99 %").improvement != "-"
    assert any("path lengths" in line for line in found.unlike)


def test_a_side_without_figures_says_why() -> None:
    denied = Result(test="KRN-P-PRE", status="denied", reason="no right to switch")
    found = preemption_table([kernel_result()], [denied], (OFF, ON))
    assert found.notes == ["on: denied: no right to switch"]
    assert row(found, "all", "99 %").on == "-" and row(found, "all", "99 %").improvement == "-"
    assert preemption_table([], []).notes == ["off: no result", "on: no result"]
    assert preemption_table([], []).rows == []


def test_a_side_whose_reference_is_of_others_has_no_lengths_and_says_why() -> None:
    on = with_reference_at_work(kernel_result(2), waited=0.7)
    found = preemption_table([kernel_result()], [on], (OFF, ON))
    assert row(found, "all", "99 %").on == "-" and row(found, "all", "99 %").improvement == "-"
    assert row(found, "all", "worst observed").on != "-"
    (note,) = [one for one in found.notes if one.startswith("on: no sections: ")]
    assert "most of the reference" in note


@pytest.mark.slow
def test_unequal_counts_are_said() -> None:
    found = preemption_table([kernel_result()], [kernel_result(2, count=2_000)], (OFF, ON))
    assert any("more usually show a larger worst observed" in note for note in found.notes)


@pytest.mark.slow
def test_two_runs_make_a_table() -> None:
    off = make.document(results=[make.result(), kernel_result()], system=OFF)
    on = make.document(results=[kernel_result(2, is_short=True)], system=ON)
    assert preemption_table_of(off, on).rows
