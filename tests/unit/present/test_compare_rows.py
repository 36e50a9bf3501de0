"""Rows of a comparison: figures, ratios, marks, and every reason to be grey caused once."""

from __future__ import annotations

import msgspec
import pytest

from hardstone.model import Conditions, Event, Result
from hardstone.present.compare_build import compare_view
from hardstone.present.compare_rows import CONTRADICTS, EQUALS_TICK, equals_tick
from hardstone.subjects import Amount, MeasuredRun, Missing, published_system
from tests.unit.present.made_systems import (
    CE7,
    LINUX_RT,
    QNX,
    cell_beside,
    cells_at,
    labelled,
    run_with,
    spread,
    switching,
)
from tests.unit.stats.make import instrument, result, series

SWITCH = "THR-P-SLS/2/switch"


def amount(value: float | None, **bound: float) -> Amount:
    return Amount("ns", "max", "made up", value=value, **bound)


def test_a_cell_has_mean_and_worst_of_the_run() -> None:
    cell = cell_beside(switching([100, 200, 600]), QNX, SWITCH)
    assert isinstance(cell.mean, Amount) and cell.mean.value == 300
    assert isinstance(cell.worst, Amount) and cell.worst.value == 600
    assert cell.predictability == 2.0


@pytest.mark.slow
def test_a_slower_run_is_higher_and_an_equal_one_is_not() -> None:
    first = switching(spread(500, 1, 80_000))
    slower = cell_beside(switching(spread(700, 2, 80_000)), first, SWITCH).ratio
    equal = cell_beside(switching(spread(500, 3, 80_000)), first, SWITCH).ratio
    faster = cell_beside(switching(spread(300, 4, 80_000)), first, SWITCH).ratio
    assert slower is not None and slower.outcome == "higher"
    assert slower.ratio == pytest.approx(1.4, rel=0.03)
    assert equal is not None and equal.outcome == "no difference seen"
    assert faster is not None and faster.outcome == "lower"


def test_the_reference_and_published_systems_have_no_ratio() -> None:
    view = compare_view([switching(spread(500)), QNX, switching(spread(500, 2))])
    assert [one.ratio is not None for one in cells_at(view, SWITCH)] == [False, False, True]
    view = compare_view([QNX, switching(spread(500)), switching(spread(500, 2))])
    assert [one.ratio for one in cells_at(view, SWITCH)] == [None, None, None]


def test_the_median_is_shown_where_two_distributions_are_compared() -> None:
    runs = [switching(spread(500, 1)), switching(spread(700, 2))]
    view = compare_view([*runs, QNX])
    (row,) = [one for test in view.tests for one in test.rows if one.address == SWITCH]
    assert row.more == ("p50",)
    assert row.cells[0].more == (runs[0].held()[0].amount("p50"),)
    assert row.cells[1].more == (runs[1].held()[0].amount("p50"),)
    assert isinstance(row.cells[2].more[0], Missing)
    (row,) = [
        one
        for test in compare_view([runs[0], QNX]).tests
        for one in test.rows
        if one.address == SWITCH
    ]
    assert row.more == ()


def test_no_published_statistic_is_lost() -> None:
    found = published_system("solaris-latstat")
    view = compare_view([found, QNX])
    (row,) = [one for test in view.tests for one in test.rows if test.test == "TMR-P-LAT"]
    assert row.more == ("p99.9999",)
    (tail,) = row.cells[0].more
    assert isinstance(tail, Amount) and tail.value == 13_000


def test_what_is_missing_says_why() -> None:
    denied = result("MUT-P-ARN", series=[], status="denied", reason="no right to lock memory")
    view = compare_view([QNX, run_with(denied)])
    run = cells_at(view, "MUT-P-ARN/inherit/acquire")[1]
    assert isinstance(run.mean, Missing)
    assert run.mean.reason == "denied: no right to lock memory"
    absent = cells_at(view, "MUT-P-ARC/inherit/acquire")[1].mean
    assert absent == Missing("not run", "hardstone run MUT-P-ARC")
    view = compare_view([switching(spread(500), 17), QNX])
    assert cells_at(view, "THR-P-SLS/17/switch")[1].mean == Missing("not published")
    assert cells_at(view, SWITCH)[0].mean == Missing("no values")


# Every reason to be grey


def test_contradictory_figures_are_grey_and_marked() -> None:
    wrong = labelled([100, 200, 300], "switch", threads=2)
    wrong.mean = 900.0
    view = compare_view([switching(spread(500)), run_with(result("THR-P-SLS", series=[wrong]))])
    cell = cells_at(view, SWITCH)[1]
    assert cell.is_grey and cell.ratio is None and CONTRADICTS in cell.marks
    assert CONTRADICTS not in cells_at(view, SWITCH)[0].marks


@pytest.mark.parametrize("realtime", [True, False])
def test_threads_that_were_not_real_time_are_grey(realtime: bool) -> None:
    conditions = Conditions(load="heavy", cpu_config="shared", policy="fifo", realtime=realtime)
    cell = cell_beside(
        switching(spread(500), conditions=conditions), switching(spread(500)), SWITCH
    )
    assert cell.is_grey is not realtime
    assert (cell.why == "measured without real-time scheduling") is not realtime
    assert (cell.ratio is None) is not realtime


def test_nothing_is_divided_by_a_reference_that_is_not_real_time() -> None:
    conditions = Conditions(load="heavy", cpu_config="shared", policy="other", realtime=False)
    first = switching(spread(500), conditions=conditions)
    cell = cell_beside(switching(spread(500)), first, SWITCH)
    assert cell.ratio is None


def responding(operations: int, block_ns: int = 10_000_000) -> Result:
    return result(
        "RSP-P-FIX",
        series=[labelled(spread(10_000_000, operations), "time", kind="add")],
        calibrated={"add_operations": operations},
        params={"block_ns": block_ns},
    )


def test_other_calibrated_work_is_grey() -> None:
    first, address = run_with(responding(1000)), "RSP-P-FIX/add/time"
    other = cell_beside(run_with(responding(1200)), first, address)
    assert other.is_grey and other.why.startswith("other work: 1\N{NO-BREAK SPACE}200 operations")
    assert not cell_beside(run_with(responding(1000)), first, address).is_grey


def test_a_parameter_of_the_study_that_the_run_has_not_is_grey() -> None:
    lynx, address = published_system("lynx", "heavy"), "RSP-P-FIX/add/time"
    short = run_with(responding(1000, 1_000_000))
    for pair in ((lynx, short), (short, lynx)):
        assert "block 1 ms, in the study block 10 ms" in cell_beside(*pair, address).why
    assert not cell_beside(lynx, run_with(responding(1000)), address).is_grey


def test_another_block_between_runs_is_grey() -> None:
    address = "RSP-P-FIX/add/time"
    cell = cell_beside(run_with(responding(1000, 1_000_000)), run_with(responding(1000)), address)
    assert cell.why == "measured with block 1 ms, the reference with block 10 ms"


def test_another_interval_between_runs_is_grey() -> None:
    def every(interval_ns: int) -> Result:
        series = [labelled(spread(500), "wakeup", part="total", cpu=1)]
        return result("TMR-P-LAT", series=series, params={"interval_ns": interval_ns})

    first, address = run_with(every(1_000_000)), "TMR-P-LAT/total/wakeup"
    cell = cell_beside(run_with(every(10_000)), first, address)
    assert cell.why == "measured with interval 10 us, the reference with interval 1 ms"
    assert not cell_beside(run_with(every(1_000_000)), first, address).is_grey


@pytest.mark.parametrize(("system", "is_grey"), [("Linux", True), ("QNX", False)])
def test_a_context_switch_of_kinds_that_do_not_enter_the_kernel(system: str, is_grey: bool) -> None:
    one = labelled(spread(3000), "context_switch", kind="unnamed", scope="thread")
    run = run_with(result("SEM-P-RTP", series=[one]), system={"kernel.name": system})
    cell = cell_beside(
        published_system("lynx", "heavy"), run, "SEM-P-RTP/unnamed/thread/context_switch"
    )
    assert cell.is_grey is is_grey and ("enters the kernel" in cell.why) is is_grey


def interrupted(*sources: str, name: str = "delivery") -> Result:
    return result("IRQ-P-LAT", series=[labelled(spread(900), name, source=one) for one in sources])


def test_delivery_beside_latency_is_grey() -> None:
    address = "IRQ-P-LAT/external/latency"
    run = run_with(interrupted("timer", "ipi"))
    cells = cells_at(compare_view([QNX, run, CE7]), "IRQ-P-LAT/external/latency")
    assert [one.is_grey for one in cells] == [False, True, False]
    assert cells[1].why == (
        "delivery of interrupts from another CPU, and the reference has interrupts from a device"
    )
    cells = cells_at(compare_view([run, QNX]), "IRQ-P-LAT/external/latency")
    assert [one.is_grey for one in cells] == [False, True]
    assert "delivery of interrupts from another CPU" in cells[0].notes
    device = run_with(interrupted("external", name="latency"))
    assert not any(one.is_grey for one in cells_at(compare_view([device, QNX]), address))


def test_two_runs_with_the_same_source_may_be_compared() -> None:
    runs = [run_with(interrupted("ipi")) for _ in range(2)]
    cells = cells_at(compare_view([*runs, QNX]), "IRQ-P-LAT/external/latency")
    assert [one.is_grey for one in cells] == [False, False, True] and cells[1].ratio


def test_what_stands_in_is_grey_beside_a_reference_without_a_figure() -> None:
    cells = cells_at(
        compare_view([published_system("lynx"), QNX, run_with(interrupted("ipi"))]),
        "IRQ-P-LAT/external/latency",
    )
    assert [one.is_grey for one in cells] == [False, False, True]


def sustaining(interrupts: int) -> Result:
    data: dict[str, object] = {
        "source": "ipi",
        "period_ns": 20_000,
        "interrupts_count": interrupts,
        "lost_count": 0,
        "late_count": 0,
        "merged_count": 0,
        "is_source_limited": False,
        "passed": True,
    }
    event = Event(name="sustained_step", text="a step", data=data)  # type: ignore[arg-type]
    one = labelled([20_000], "minimal_period", source="ipi")
    return result("IRQ-S-SUS", series=[one], events=[event])


def test_periods_sustained_for_unlike_numbers_of_interrupts_are_grey() -> None:
    first, address = run_with(sustaining(1_000_000)), "IRQ-S-SUS/ipi/minimal_period"
    less = cell_beside(run_with(sustaining(10_000)), first, address)
    assert less.is_grey and less.why.startswith("sustained for 10\N{NO-BREAK SPACE}000 interrupts")
    assert not cell_beside(run_with(sustaining(1_000_000)), first, address).is_grey


def test_the_worst_of_a_sustained_period_is_the_period() -> None:
    cell = cell_beside(QNX, CE7, "IRQ-S-SUS/external/minimal_period")
    assert isinstance(cell.worst, Amount) and cell.worst.value == 15_000


@pytest.mark.parametrize(("size", "is_unlike"), [(20_000, False), (19_000, False), (10_000, True)])
def test_a_worst_of_unlike_counts_alone_is_grey(size: int, is_unlike: bool) -> None:
    first = switching(spread(500))
    cell = cell_beside(switching(spread(500, 2, size)), first, SWITCH)
    assert bool(cell.worst_why) is is_unlike and not cell.is_grey and cell.ratio is not None


# Marks and numbers


@pytest.mark.parametrize(
    ("mean", "worst", "tick", "expected"),
    [
        (600, 10_600, 10_000, True),
        (600, 12_600, 10_000, True),  # the tolerance is 20 %
        (600, 12_601, 10_000, False),
        (600, 8_600, 10_000, True),
        (600, 8_599, 10_000, False),
        (600, 10_600, None, False),
        (600, 600, 0, False),
    ],
)
def test_a_worst_equals_the_tick_within_a_fifth(
    mean: float, worst: float, tick: float | None, expected: bool
) -> None:
    assert equals_tick(amount(mean), amount(worst), tick) is expected


def test_bounds_and_gaps_beside_the_tick() -> None:
    assert equals_tick(amount(None, below=100.0), amount(10_000), 10_000)
    assert not equals_tick(amount(600), amount(None, above=10_000.0), 10_000)
    assert not equals_tick(amount(600), Missing("not published"), 10_000)


def test_the_study_s_maxima_that_equal_its_tick_are_marked() -> None:
    view = compare_view([QNX, CE7, LINUX_RT])

    def marked(address: str) -> list[bool]:
        return [EQUALS_TICK in one.marks for one in cells_at(view, address)]

    assert marked("THR-P-SLS/128/switch") == [True, True, True]
    assert marked("THR-P-SLS/2/switch") == [False, False, True]
    assert marked("CLK-P-DUR/tick") == [False, False, False]  # the tick itself


@pytest.mark.slow
def test_predictability_of_bounds_rates_and_counts() -> None:
    assert cell_beside(CE7, QNX, "MUT-P-ARN/inherit/acquire").predictability is None
    lynx = published_system("lynx")
    rate = cell_beside(lynx, QNX, "MSG-P-THR/mq/8192/thread/throughput")
    assert isinstance(rate.worst, Amount) and rate.worst.value == 46_200_000  # the least
    assert rate.predictability == pytest.approx(51.6 / 46.2)
    assert cell_beside(QNX, CE7, "IRQ-S-SUS/external/minimal_period").predictability is None


@pytest.mark.parametrize(("median", "is_close"), [(60, True), (6_000, False)])
def test_a_series_close_to_the_cost_of_the_clock_says_so(median: int, is_close: bool) -> None:
    run = switching(spread(median), instrument=instrument(median=20))
    notes = cell_beside(run, QNX, SWITCH).notes
    assert any("instrument's limit" in one for one in notes) is is_close


def with_fewer_threads() -> MeasuredRun:
    one = labelled(spread(500), "switch", threads=97)
    return run_with(result("THR-P-SLS", series=[one], params={"threads": [2, 128]}))


def test_a_smaller_number_of_threads_is_said_of_the_system_that_had_it() -> None:
    run, address = with_fewer_threads(), "THR-P-SLS/97/switch"
    cell = cell_beside(QNX, run, address)
    assert cell.notes == ("128 threads, the row has 97",)
    assert cell.is_grey and cell.why == "128 threads, the reference 97"
    cell = cell_beside(run, QNX, address)
    assert not any("threads" in one for one in cell.notes)
    assert cell.is_grey and cell.why == "97 threads, the reference 128"


def test_systems_are_set_against_each_other_where_the_reference_has_no_figure() -> None:
    view = compare_view([switching(spread(500)), *map(run_with, map(responding, (1000, 1000, 12)))])
    cells = cells_at(view, "RSP-P-FIX/add/time")
    assert [one.is_grey for one in cells] == [False, False, False, True]
    assert cells[3].why.endswith("operations, system 2 1\N{NO-BREAK SPACE}000 operations")
    assert all(one.ratio is None for one in cells)


def test_an_unreadable_histogram_has_no_ratio() -> None:
    wrong = series(spread(500), "switch")
    wrong = msgspec.structs.replace(wrong, labels={"threads": 2})
    wrong.histogram.layout = "linear"
    view = compare_view([switching(spread(500)), run_with(result("THR-P-SLS", series=[wrong]))])
    assert cells_at(view, SWITCH)[1].ratio is None and cells_at(view, SWITCH)[1].is_grey
