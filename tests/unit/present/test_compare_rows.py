"""Rows of a comparison: figures, ratios, marks, every reason to be grey caused once, and which rows
are decisive."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hardstone.model import Conditions, Event, Result
from hardstone.present.compare_build import compare_view
from hardstone.present.compare_medians import Medians
from hardstone.present.compare_rows import CONTRADICTS, EQUALS_TICK, equals_tick
from hardstone.present.compare_summary import group_of
from hardstone.stats.kernel_operations import kernel_time_of
from hardstone.stats.two_runs import compare_quantile, quantile_ends
from hardstone.subjects import Amount, MeasuredRun, Missing, Subject, published_system
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
from tests.unit.stats.blocked import kernel_result
from tests.unit.stats.make import instrument, result, series

SWITCH = "THR-P-SLS/2/switch"
BLOCK, IRQ = "RSP-P-FIX/add/time", "IRQ-P-LAT/external/latency"
PERIOD = "IRQ-S-SUS/{}/minimal_period"
SPACE = "\N{NO-BREAK SPACE}"


def amount(value: float | None, **bound: float) -> Amount:
    return Amount("ns", "max", "made up", value=value, **bound)


def greys(address: str, *systems: Subject) -> list[bool]:
    return [one.is_grey for one in cells_at(compare_view(list(systems)), address)]


def test_a_cell_has_mean_and_worst_of_the_run() -> None:
    cell = cell_beside(switching([100, 200, 600]), QNX, SWITCH)
    assert isinstance(cell.mean, Amount) and isinstance(cell.worst, Amount)
    assert (cell.mean.value, cell.worst.value, cell.predictability) == (300, 600, 2.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("median", "outcome"), [(700, "higher"), (500, "no difference seen"), (300, "lower")]
)
def test_a_slower_run_is_higher_and_an_equal_one_is_not(median: int, outcome: str) -> None:
    first, other = switching(spread(500, 1, 80_000)), switching(spread(median, 2, 80_000))
    ratio = cell_beside(other, first, SWITCH).ratio
    assert ratio is not None and ratio.outcome == outcome
    assert ratio.ratio == pytest.approx(median / 500, rel=0.03)


def test_the_reference_and_published_systems_have_no_ratio() -> None:
    view = compare_view([switching(spread(500)), QNX, switching(spread(500, 2))])
    assert [one.ratio is not None for one in cells_at(view, SWITCH)] == [False, False, True]
    view = compare_view([QNX, switching(spread(500)), switching(spread(500, 2))])
    assert [one.ratio for one in cells_at(view, SWITCH)] == [None, None, None]


@pytest.mark.slow
def test_what_is_computed_once_is_what_is_computed_singly() -> None:
    first, other = series(spread(500, 1)), series(spread(560, 2))
    for quantum in (0.0, 40.0):
        ends = [quantile_ends(one, 0.5, quantum=quantum) for one in (first, other)]
        known = compare_quantile(first, other, 0.5, quantum=quantum, ends=(ends[0], ends[1]))
        assert known == compare_quantile(first, other, 0.5, quantum=quantum)
    coarse = instrument()
    coarse.quantum_ns = 52.0
    runs = [switching(spread(500, 1)), switching(spread(560, 2), instrument=coarse)]
    pair = [one.held()[0].series for one in runs]
    assert cell_beside(runs[1], runs[0], SWITCH).ratio == compare_quantile(*pair, 0.5, quantum=52.0)
    for run in (switching(spread(500)), switching([1, 2, 3])):
        held = run.held()[0]
        assert Medians([held]).figure(0) == held.amount("p50")
    kernel = kernel_result()
    alone, full = kernel_time_of(kernel, is_whole_only=True), kernel_time_of(kernel)
    assert alone is not None and full is not None
    assert alone.operations == [] and full.operations
    assert alone.whole.blocking is not None and full.whole.blocking is not None
    assert alone.whole.blocking.lengths == full.whole.blocking.lengths
    assert alone.whole.kernel_share == full.whole.kernel_share


def test_the_median_is_shown_where_two_distributions_are_compared() -> None:
    runs = [switching(spread(500, 1)), switching(spread(700, 2))]
    for systems, more in (([*runs, QNX], ("p50",)), ([runs[0], QNX], ())):
        tests = compare_view(systems).tests
        (row,) = [one for test in tests for one in test.rows if one.address == SWITCH]
        assert row.more == more
        if more:
            medians = [one.held()[0].amount("p50") for one in runs]
            assert [cell.more[0] for cell in row.cells[:2]] == medians
            assert isinstance(row.cells[2].more[0], Missing)


def test_no_published_statistic_is_lost() -> None:
    view = compare_view([published_system("solaris-latstat"), QNX])
    (row,) = [one for test in view.tests for one in test.rows if test.test == "TMR-P-LAT"]
    (tail,) = row.cells[0].more
    assert row.more == ("p99.9999",) and isinstance(tail, Amount) and tail.value == 13_000


def test_what_is_missing_says_why() -> None:
    denied = result("MUT-P-ARN", series=[], status="denied", reason="no right to lock memory")
    view = compare_view([QNX, run_with(denied)])
    run = cells_at(view, "MUT-P-ARN/inherit/acquire")[1]
    assert isinstance(run.mean, Missing) and run.mean.reason == "denied: no right to lock memory"
    absent = cells_at(view, "MUT-P-ARC/inherit/acquire")[1].mean
    assert absent == Missing("not run", "hardstone run MUT-P-ARC")
    view = compare_view([switching(spread(500), 17), QNX])
    assert cells_at(view, "THR-P-SLS/17/switch")[1].mean == Missing("not published")
    assert cells_at(view, SWITCH)[0].mean == Missing("no values")


# Every reason to be grey


def test_contradictory_figures_are_grey_and_marked() -> None:
    wrong = labelled([100, 200, 300], "switch", threads=2)
    wrong.mean = 900.0
    unreadable = labelled(spread(500), "switch", threads=2)
    unreadable.histogram.layout = "linear"
    for one in (wrong, unreadable):
        run = run_with(result("THR-P-SLS", series=[one]))
        usual, cell = cells_at(compare_view([switching(spread(500)), run]), SWITCH)
        assert cell.is_grey and cell.ratio is None and CONTRADICTS in cell.marks
        assert CONTRADICTS not in usual.marks


@pytest.mark.parametrize("realtime", [True, False])
def test_threads_that_were_not_real_time_are_grey(realtime: bool) -> None:
    conditions = Conditions(load="heavy", cpu_config="shared", policy="fifo", realtime=realtime)
    run, other = switching(spread(500), conditions=conditions), switching(spread(500))
    cell = cell_beside(run, other, SWITCH)
    assert cell.is_grey is not realtime
    assert (cell.why == "measured without real-time scheduling") is not realtime
    for one in (cell, cell_beside(other, run, SWITCH)):
        assert (one.ratio is None) is not realtime


def responding(operations: int, block_ns: int = 10_000_000) -> Result:
    return result(
        "RSP-P-FIX",
        series=[labelled(spread(10_000_000, operations), "time", kind="add")],
        calibrated={"add_operations": operations},
        params={"block_ns": block_ns},
    )


def every(interval_ns: int) -> Result:
    series = [labelled(spread(500), "wakeup", part="total", cpu=1)]
    return result("TMR-P-LAT", series=series, params={"interval_ns": interval_ns})


def sustaining(interrupts: int) -> Result:
    counts = dict.fromkeys(("lost_count", "late_count", "merged_count"), 0)
    flags = {"is_source_limited": False, "passed": True, "source": "ipi", "period_ns": 20_000}
    data = {"interrupts_count": interrupts} | counts | flags
    event = Event(name="sustained_step", text="a step", data=data)  # type: ignore[arg-type]
    one = labelled([20_000], "minimal_period", source="ipi")
    return result("IRQ-S-SUS", series=[one], events=[event])


INTERVAL = "measured with interval 10 us, the reference with interval 1 ms"


@pytest.mark.parametrize(
    ("made", "usual", "other", "address", "why"),
    [
        (responding, (1000,), (1200,), BLOCK, f"other work: 1{SPACE}200 operations"),
        (
            responding,
            (1000,),
            (1000, 1_000_000),
            BLOCK,
            "measured with block 1 ms, the reference with block 10 ms",
        ),
        (every, (1_000_000,), (10_000,), "TMR-P-LAT/total/wakeup", INTERVAL),
        (
            sustaining,
            (1_000_000,),
            (10_000,),
            PERIOD.format("ipi"),
            f"sustained for 10{SPACE}000 interrupts",
        ),
    ],
)
def test_a_run_that_was_asked_for_something_else_is_grey(
    made: Callable[..., Result],
    usual: tuple[int, ...],
    other: tuple[int, ...],
    address: str,
    why: str,
) -> None:
    first, second = (run_with(made(*one)) for one in (usual, other))
    cell = cell_beside(second, first, address)
    assert cell.is_grey and cell.why.startswith(why)
    assert not cell_beside(run_with(made(*usual)), first, address).is_grey


def test_a_parameter_of_the_study_that_the_run_has_not_is_grey() -> None:
    lynx, short = published_system("lynx", "heavy"), run_with(responding(1000, 1_000_000))
    for pair in ((lynx, short), (short, lynx)):
        assert "block 1 ms, in the study block 10 ms" in cell_beside(*pair, BLOCK).why
    assert not cell_beside(lynx, run_with(responding(1000)), BLOCK).is_grey


@pytest.mark.parametrize(("system", "is_grey"), [("Linux", True), ("QNX", False)])
def test_a_context_switch_of_kinds_that_do_not_enter_the_kernel(system: str, is_grey: bool) -> None:
    one = labelled(spread(3000), "context_switch", kind="unnamed", scope="thread")
    run = run_with(result("SEM-P-RTP", series=[one]), system={"kernel.name": system})
    address = "SEM-P-RTP/unnamed/thread/context_switch"
    cell = cell_beside(published_system("lynx", "heavy"), run, address)
    assert cell.is_grey is is_grey and ("enters the kernel" in cell.why) is is_grey


def interrupted(*sources: str, name: str = "delivery") -> MeasuredRun:
    series = [labelled(spread(900), name, source=one) for one in sources]
    return run_with(result("IRQ-P-LAT", series=series))


@pytest.mark.slow
def test_delivery_beside_latency_is_grey() -> None:
    run, other = interrupted("timer", "ipi"), interrupted("ipi")
    cells = cells_at(compare_view([QNX, run, CE7]), IRQ)
    assert [one.is_grey for one in cells] == [False, True, False]
    assert cells[1].why == (
        "delivery of interrupts from another CPU, and the reference has interrupts from a device"
    )
    cells = cells_at(compare_view([run, QNX]), IRQ)
    assert [one.is_grey for one in cells] == [False, True]
    assert "delivery of interrupts from another CPU" in cells[0].notes
    assert greys(IRQ, interrupted("external", name="latency"), QNX) == [False, False]
    same = cells_at(compare_view([other, interrupted("ipi"), QNX]), IRQ)
    assert [one.is_grey for one in same] == [False, False, True] and same[1].ratio
    # what stands in, beside a reference without a figure
    assert greys(IRQ, published_system("lynx"), QNX, other) == [False, False, True]


@pytest.mark.parametrize(("size", "is_unlike"), [(20_000, False), (19_000, False), (10_000, True)])
def test_a_worst_of_unlike_counts_alone_is_grey(size: int, is_unlike: bool) -> None:
    cell = cell_beside(switching(spread(500, 2, size)), switching(spread(500)), SWITCH)
    assert bool(cell.worst_why) is is_unlike and not cell.is_grey and cell.ratio is not None


def test_systems_are_set_against_each_other_where_the_reference_has_no_figure() -> None:
    view = compare_view([switching(spread(500)), *map(run_with, map(responding, (1000, 1000, 12)))])
    cells = cells_at(view, BLOCK)
    assert [one.is_grey for one in cells] == [False, False, False, True]
    assert cells[3].why.endswith(f"operations, system 2 1{SPACE}000 operations")
    assert all(one.ratio is None for one in cells)


def test_a_smaller_number_of_threads_is_said_of_the_system_that_had_it() -> None:
    few = labelled(spread(500), "switch", threads=97)
    run = run_with(result("THR-P-SLS", series=[few], params={"threads": [2, 128]}))
    cell = cell_beside(QNX, run, "THR-P-SLS/97/switch")
    assert cell.notes == ("128 threads, the row has 97",)
    assert cell.is_grey and cell.why == "128 threads, the reference 97"
    cell = cell_beside(run, QNX, "THR-P-SLS/97/switch")
    assert not any("threads" in one for one in cell.notes)
    assert cell.is_grey and cell.why == "97 threads, the reference 128"


# Marks and numbers


@pytest.mark.parametrize(
    ("mean", "worst", "tick", "expected"),
    [
        (amount(600), amount(10_600), 10_000, True),
        (amount(600), amount(12_600), 10_000, True),  # the tolerance is 20 %
        (amount(600), amount(12_601), 10_000, False),
        (amount(600), amount(8_600), 10_000, True),
        (amount(600), amount(8_599), 10_000, False),
        (amount(600), amount(10_600), None, False),
        (amount(600), amount(600), 0, False),
        (amount(None, below=100.0), amount(10_000), 10_000, True),
        (amount(600), amount(None, above=10_000.0), 10_000, False),
        (amount(600), Missing("not published"), 10_000, False),
    ],
)
def test_a_worst_equals_the_tick_within_a_fifth(
    mean: Amount, worst: Amount | Missing, tick: float | None, expected: bool
) -> None:
    assert equals_tick(mean, worst, tick) is expected


def test_the_study_s_maxima_that_equal_its_tick_are_marked() -> None:
    view = compare_view([QNX, CE7, LINUX_RT])
    for address, marked in (
        ("THR-P-SLS/128/switch", [True, True, True]),
        ("THR-P-SLS/2/switch", [False, False, True]),
        ("CLK-P-DUR/tick", [False, False, False]),  # the tick itself
    ):
        assert [EQUALS_TICK in one.marks for one in cells_at(view, address)] == marked


@pytest.mark.slow
def test_predictability_of_bounds_rates_and_counts() -> None:
    assert cell_beside(CE7, QNX, "MUT-P-ARN/inherit/acquire").predictability is None
    rate = cell_beside(published_system("lynx"), QNX, "MSG-P-THR/mq/8192/thread/throughput")
    assert isinstance(rate.worst, Amount) and rate.worst.value == 46_200_000  # the least
    assert rate.predictability == pytest.approx(51.6 / 46.2)
    period = cell_beside(QNX, CE7, PERIOD.format("external"))
    assert period.predictability is None
    assert isinstance(period.worst, Amount) and period.worst.value == 15_000  # the period


@pytest.mark.parametrize(("median", "is_close"), [(60, True), (6_000, False)])
def test_a_series_close_to_the_cost_of_the_clock_says_so(median: int, is_close: bool) -> None:
    run = switching(spread(median), instrument=instrument(median=20))
    notes = cell_beside(run, QNX, SWITCH).notes
    assert any("instrument's limit" in one for one in notes) is is_close


# Decisive rows


def addresses(*subjects: Subject) -> list[str]:
    return [one.address for one in compare_view(list(subjects)).decisive]


def test_of_the_study_they_are_those_of_its_summary() -> None:
    pairs = [
        ("SEM-P-ARN/unnamed/thread", "SEM-P-ARC/unnamed/thread/128"),
        ("MUT-P-ARN/inherit", "MUT-P-ARC/inherit"),
    ]
    assert addresses(QNX, CE7, LINUX_RT) == [
        *("CLK-P-DUR/tick", "THR-P-SLS/1000/switch", PERIOD.format("external")),
        *(f"{one}/{name}" for pair in pairs for one in pair for name in ("acquire", "release")),
    ]


def test_the_most_threads_that_two_systems_have() -> None:
    assert SWITCH in addresses(switching(spread(500)), QNX)
    alone = addresses(switching(spread(500), 17), switching(spread(500), 23))
    assert alone == ["THR-P-SLS/23/switch"]  # nothing is shared: the most of any


def latencies(*worst_by_cpu: int) -> MeasuredRun:
    found = [
        labelled([1000, 2000, worst], "wakeup", part="total", cpu=cpu)
        for cpu, worst in enumerate(worst_by_cpu)
    ]
    return run_with(result(series=found))


def test_of_wake_up_latency_the_worst_cpu_of_each_system() -> None:
    first = latencies(5_000, 90_000)
    for other, worst in ((latencies(7_000), 7_000), (published_system("solaris-latstat"), 32_000)):
        view = compare_view([first, other])
        (row,) = [one for one in view.decisive if group_of(one) == "wakeup"]
        found = [one.worst.value for one in row.cells if isinstance(one.worst, Amount)]
        assert found == [90_000, worst]
        assert row.cells[0].notes == ("CPU 1, the worst of 2",)
    assert compare_view([first, latencies(7_000)]).decisive[0].cells[1].notes == ()


def test_unnamed_semaphores_between_threads_are_taken() -> None:
    found = [
        labelled(spread(100), name, kind=kind, scope=scope)
        for kind in ("named", "unnamed")
        for scope in ("process", "thread")
        for name in ("acquire", "release")
    ]
    runs = [run_with(result("SEM-P-ARN", series=found)) for _ in range(2)]
    place = "SEM-P-ARN/unnamed/thread"
    assert addresses(*runs) == [f"{place}/acquire", f"{place}/release"]
    other = result("SEM-P-SIG", series=[labelled([1, 2], "signal_wait")])
    assert addresses(run_with(other), run_with(other)) == []
