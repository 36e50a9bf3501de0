"""Rows of a comparison: figures, ratios, marks, every reason to be grey caused once, and which rows
are decisive. What stands in the cells is in golden/cells.txt."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hardstone.comparison.assemble import compare_view
from hardstone.comparison.grey import beside
from hardstone.comparison.rows import Medians, equals_tick
from hardstone.comparison.view import ComparedCell
from hardstone.figure_text import amount_text, ratio_words
from hardstone.kernel.results import kernel_time_of
from hardstone.model import Conditions, Event, Result
from hardstone.stats.two_runs import compare_quantile, quantile_ends
from hardstone.systems.criteria import FoundFigure, find_figure, rated_figures
from hardstone.systems.published import Address, figures_of
from hardstone.systems.subjects import Amount, MeasuredRun, Missing, Subject, published_system
from tests.unit.comparison.made_systems import (
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
from tests.unit.golden import assert_as_stored
from tests.unit.kernel.blocked import kernel_result
from tests.unit.stats.make import instrument, result, series

SWITCH, MANY = "THR-P-SLS/2/switch", "THR-P-SLS/97/switch"
BLOCK, IRQ = "RSP-P-FIX/add/time", "IRQ-P-LAT/external/latency"
PERIOD = "IRQ-S-SUS/{}/minimal_period"
MUTEX = "MUT-P-ARN/inherit/acquire"
LYNX = published_system("lynx", "heavy")
Pair = tuple[Subject, ...]
Cases = Iterator[tuple[str, str, Pair]]


def amount(value: float | None, **bound: float) -> Amount:
    return Amount("ns", "max", "made up", value=value, **bound)


def figure(one: Amount | Missing) -> str:
    if isinstance(one, Amount):
        return amount_text(one)
    return f"{one.reason} ({one.remedy})" if one.remedy else one.reason


def told(one: ComparedCell) -> str:
    parts = [" / ".join(map(figure, (one.mean, one.worst, *one.more.values())))]
    parts += [f"worst over mean {one.predictability:.4g}"] if one.predictability else []
    parts += [" ".join(ratio_words(one.ratio))] if one.ratio else []
    parts += [f"grey: {one.why}"] if one.is_grey else []
    parts += [f"the worst is grey: {one.worst_why}"] if one.worst_why else []
    return "; ".join([*parts, *one.marks, *one.notes])


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


def interrupted(*sources: str, name: str = "delivery") -> MeasuredRun:
    series = [labelled(spread(900), name, source=one) for one in sources]
    return run_with(result("IRQ-P-LAT", series=series))


def latencies(*worst_by_cpu: int) -> MeasuredRun:
    found = [
        labelled([1000, 2000, worst], "wakeup", part="total", cpu=cpu)
        for cpu, worst in enumerate(worst_by_cpu)
    ]
    return run_with(result(series=found))


def real_time(is_real_time: bool) -> MeasuredRun:
    where = Conditions(load="heavy", cpu_config="shared", policy="fifo", realtime=is_real_time)
    return switching(spread(500), conditions=where)


def semaphores(kernel: str) -> MeasuredRun:
    one = labelled(spread(3000), "context_switch", kind="unnamed", scope="thread")
    return run_with(result("SEM-P-RTP", series=[one]), system={"kernel.name": kernel})


def figures() -> Cases:
    usual, other = switching(spread(500)), switching(spread(500, 2))
    yield "mean and worst", SWITCH, (switching([100, 200, 600]), QNX)
    many = switching(spread(500, 1, 80_000))
    for name, median in (("slower", 700), ("equal", 500), ("faster", 300)):
        yield name, SWITCH, (many, switching(spread(median, 2, 80_000)))
    yield "a published system has no ratio", SWITCH, (usual, QNX, other)
    yield "nothing is divided by a published system", SWITCH, (QNX, usual, other)
    tail = published_system("solaris-latstat")
    yield "no published statistic is lost", "TMR-P-LAT", (tail, QNX)
    denied = result("MUT-P-ARN", series=[], status="denied", reason="no right to lock memory")
    for address in (MUTEX, "MUT-P-ARC/inherit/acquire"):
        yield "what was not measured", address, (QNX, run_with(denied))
    for address in (SWITCH, "THR-P-SLS/17/switch"):
        yield "what is missing", address, (switching(spread(500), 17), QNX)
    for address in (SWITCH, "THR-P-SLS/128/switch", "CLK-P-DUR/tick"):
        yield "the maxima of a study that equal its tick", address, (QNX, CE7, LINUX_RT)
    yield "bounds have no predictability", MUTEX, (QNX, CE7)
    yield "rates have it", "MSG-P-THR/mq/8192/thread/throughput", (QNX, published_system("lynx"))
    yield "of a period it is none", PERIOD.format("external"), (CE7, QNX)
    for median in (60, 6_000):
        close = switching(spread(median), instrument=instrument(median=20))
        yield f"{median} ns beside the cost of the clock", SWITCH, (QNX, close)
    for others in (latencies(7_000), tail):
        wakeups = (latencies(5_000, 90_000), others)
        yield "wake-up on the worst CPU of each", "TMR-P-LAT", wakeups


def refusals() -> Cases:
    """Why a cell is grey, and beside it what is not."""
    usual = switching(spread(500))
    wrong = labelled([100, 200, 300], "switch", threads=2)
    wrong.mean = 900.0
    unreadable = labelled(spread(500), "switch", threads=2)
    unreadable.histogram.layout = "linear"
    for one in (wrong, unreadable):
        run = run_with(result("THR-P-SLS", series=[one]))
        yield "figures that contradict each other", SWITCH, (usual, run)
    yield "real-time", SWITCH, (usual, real_time(True))
    yield "not real-time", SWITCH, (usual, real_time(False))
    yield "a reference that is not real-time", SWITCH, (real_time(False), usual)
    work = run_with(responding(1000))
    yield "equal work", BLOCK, (work, run_with(responding(1000)))
    yield "other work", BLOCK, (work, run_with(responding(1200)))
    yield "another block", BLOCK, (work, run_with(responding(1000, 1_000_000)))
    yield (
        "another interval",
        "TMR-P-LAT/total/wakeup",
        tuple(run_with(every(one)) for one in (1_000_000, 1_000_000, 10_000)),
    )
    yield (
        "fewer interrupts",
        PERIOD.format("ipi"),
        tuple(run_with(sustaining(one)) for one in (1_000_000, 1_000_000, 10_000)),
    )
    short = run_with(responding(1000, 1_000_000))
    yield "another block than in the study", BLOCK, (short, LYNX)
    yield "a study with another block", BLOCK, (LYNX, short)
    yield "the block of the study", BLOCK, (work, LYNX)
    for kernel in ("Linux", "QNX"):
        place = "SEM-P-RTP/unnamed/thread/context_switch"
        yield f"a semaphore of {kernel}", place, (semaphores(kernel), LYNX)
    delivered, ipi = interrupted("timer", "ipi"), interrupted("ipi")
    yield "delivery beside latency", IRQ, (QNX, delivered, CE7)
    yield "latency beside delivery", IRQ, (delivered, QNX)
    yield "latency", IRQ, (interrupted("external", name="latency"), QNX)
    yield "delivery twice, and latency", IRQ, (ipi, interrupted("ipi"), QNX)
    yield "a reference without a figure", IRQ, (published_system("lynx"), QNX, ipi)
    for size in (20_000, 19_000, 10_000):
        yield f"{size} values", SWITCH, (usual, switching(spread(500, 2, size)))
    runs = map(run_with, map(responding, (1000, 1000, 12)))
    yield "work, without that of the reference", BLOCK, (usual, *runs)
    few = labelled(spread(500), "switch", threads=97)
    fewer = run_with(result("THR-P-SLS", series=[few], params={"threads": [2, 128]}))
    yield "more threads", MANY, (fewer, QNX)
    yield "fewer threads", MANY, (QNX, fewer)


@pytest.mark.slow
def test_what_stands_in_the_cells(request: pytest.FixtureRequest) -> None:
    texts = {}
    for name, address, systems in (*figures(), *refusals()):
        view = compare_view(list(systems))
        decisive = [one.cells for one in view.decisive if one.address.startswith(f"{address}/")]
        cells = decisive[0] if decisive else cells_at(view, address)
        lines = [f"{number}: {told(one)}" for number, one in enumerate(cells, 1)]
        texts[f"{name} [{address}, {len(texts)}]"] = "\n".join(lines)
    assert_as_stored(request, "cells.txt", texts)


# Marks and numbers


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


def searched(*steps: tuple[str, int, bool]) -> MeasuredRun:
    """A run of IRQ-S-SUS: (source, period, whether it was sustained); no series without one."""
    counts = dict.fromkeys(("late_count", "merged_count"), 0)
    events, found = [], []
    for source, period_ns, passed in steps:
        data = {"interrupts_count": 300, "lost_count": 0 if passed else 5, **counts}
        flags = {"is_source_limited": False, "passed": passed, "source": source}
        fields = {**data, **flags, "period_ns": period_ns}
        events.append(Event(name="sustained_step", text="a step", data=fields))  # type: ignore[arg-type]
        values = [period_ns] if passed else []
        found.append(labelled(values, "minimal_period", source=source))
    return run_with(result("IRQ-S-SUS", series=found, events=events))


@pytest.mark.parametrize("others", [[], [QNX]])
def test_the_summary_and_the_rating_take_the_same_source(others: list[Subject]) -> None:
    """Beside a study and beside another run: never the better of two sources."""
    run = searched(("ipi", 32_300, True), ("timer", 100_000, False))
    criterion = next(one for one in rated_figures("interrupts") if one.test == "IRQ-S-SUS")
    rated = find_figure(run, criterion, "min")
    assert isinstance(rated, FoundFigure) and rated.amount.above == 100_000
    subjects = [run, *(others or [searched(("ipi", 40_000, True), ("timer", 90_000, True))])]
    (row,) = [one for one in compare_view(subjects).decisive if "IRQ-S-SUS" in one.address]
    cell = row.cells[0]
    assert isinstance(cell.worst, Amount) and cell.worst.above == 100_000
    assert any("timer" in note for note in cell.notes)
    if not others:
        assert "external" not in row.address and "ipi" not in row.address
        assert isinstance(row.cells[1].worst, Amount) and row.cells[1].worst.value == 90_000


def test_a_hand_over_by_a_mutex_stands_in_no_row_of_semaphores() -> None:
    """Xenomai's 1282 ns are those of a pthread mutex."""
    kinds = [
        labelled([5_000] * 20, "shuffle", kind=kind, scope="thread")
        for kind in ("unnamed", "mutex")
    ]
    run = run_with(result("SEM-P-SHF", series=kinds))
    xenomai, linux = published_system("xenomai"), published_system("linux")
    view = compare_view([run, xenomai, linux])
    one, mutex, semaphore = cells_at(view, "SEM-P-SHF/unnamed/thread/shuffle")
    assert isinstance(one.worst, Amount) and isinstance(semaphore.worst, Amount)
    assert mutex.worst == Missing("published of mutex only")
    one, mutex, semaphore = cells_at(view, "SEM-P-SHF/mutex/thread/shuffle")
    assert isinstance(one.worst, Amount) and isinstance(mutex.worst, Amount)
    assert mutex.worst.value == 1282 and not mutex.is_grey
    assert semaphore.worst == Missing("published of unnamed only")


def test_a_semaphore_that_inherits_stands_beside_none_without_an_owner() -> None:
    """LynxOS's own semaphore inherits a priority; the one of MUT-P-INV has no owner."""
    said = {one.address.labels["protocol"] for one in figures_of("MUT-P-INV") if one.value}
    assert "semaphore" not in said and "inherit" in said


def test_a_test_that_no_run_declares_has_no_title() -> None:
    view = compare_view([QNX, CE7])
    assert view.tests and {one.title for one in view.tests} == {""}


# What is said of a figure of a run that stands beside a published one

TO_THREAD = Address("IRQ-P-TLT", ("to_thread",), {"source": "external"})
DISPATCH = Address("IRQ-P-DLT", ("dispatch",), {"source": "external"})
PAIR = Address("SEM-P-SIG", ("signal_wait",), {"kind": "unnamed", "scope": "thread"})


@pytest.mark.parametrize(
    ("address", "system", "said"),
    [
        (TO_THREAD, "Linux", "from the entry of the handler"),
        (TO_THREAD, "Other", "from the entry of the handler"),
        (DISPATCH, "Linux", ""),
        (PAIR, "Linux", "enters the kernel only when"),
        (PAIR, "Other", ""),
    ],
)
def test_a_caveat(address: Address, system: str, said: str) -> None:
    (one,) = beside(address, {"kernel.name": system})
    assert one.address == address and not one.refused
    assert said in one.note and bool(one.note) == bool(said)
