"""What is said of the operations of the kernel, and of preemption off and on; and what is not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from hardstone.kernel.results import kernel_time_of
from hardstone.kernel.screen import show_table
from hardstone.kernel.tables import (
    history_line,
    kernel_history,
    kernel_lines,
    kernel_table,
    rate_text,
)
from hardstone.model import Result, Scalar
from hardstone.preemption.screen import show_pair
from hardstone.preemption.tables import (
    Figure,
    PreemptionPair,
    PreemptionRow,
    PreemptionTable,
    pairs_of,
    preemption_table,
    ratios_of,
)
from hardstone.terminal.console import make_console
from tests.unit.golden import assert_as_stored
from tests.unit.kernel.blocked import dispatch, idle, kernel_result, result, with_reference_at_work
from tests.unit.report.media import printed
from tests.unit.stats import make

WIDE = 110


def shown(found: Result) -> str:
    """The table of the operations, below its line of the one screen."""
    document = make.document(results=[found, make.result()])
    ((who, text),) = kernel_lines(document)
    assert who == "KRN-P-PRE"
    table = kernel_table(found)
    assert table is not None
    print_it = lambda _, out: show_table(make_console(out), table, "")  # noqa: E731
    return f"{text}\n{printed(print_it, document, WIDE)}"


def alike(**others: np.ndarray) -> Result:
    """`map` and `pipe` are as the reference, or earlier."""
    rng = np.random.default_rng(7)
    found = {"map": idle(rng, 2_000), "pipe": idle(rng, 2_000) - 1_000} | others
    return result(found, {}, reference=idle(rng, 2_000))


def without(operation: str, found: Result, *added: np.ndarray) -> Result:
    """`found` without the series of an operation, or with `added` in its place."""
    found.series = [one for one in found.series if one.labels["operation"] != operation]
    found.series += [dispatch(operation, one) for one in added]
    return found


def kernels() -> Iterator[tuple[str, Result]]:
    yield "three operations", kernel_result()
    yield "few releases", kernel_result(count=300)
    yield "short sections", kernel_result(is_short=True)
    yield "without a reference", without("none", kernel_result())
    yield "alike, without a reference", without("none", alike())
    yield "few releases of the reference", without("none", alike(), np.full(200, 5_000))
    at_work = with_reference_at_work(kernel_result(), still=0.585, waited=0.66)
    yield "a reference of other processes", at_work
    # each wake-up from the operation takes 8 us more, and nothing blocks for less
    late = np.random.default_rng(1).integers(18_000, 20_000, 1000)
    yield "residuals that do not fall", without("exit", kernel_result(), late)
    yield "kernel time that is not counted", kernel_result(share=None)
    yield "blocked for longer than in the kernel", kernel_result(share=0.01)
    waited = kernel_result()
    waited.events[0].data["waited_ns"] = 4_000_000_000
    yield "other processes had the CPU", waited
    rng = np.random.default_rng(1)
    wide = idle(rng, 2_000)
    wide[:60] += 20_000  # 3 %, all beyond three deviations
    odd = result({"fork": idle(rng, 2_000)}, {"fork": 0.9}, reference=wide)
    yield "a reference that is late itself", odd
    section = dispatch("exit", [1_000] * 90 + [200_000] * 10, "section")
    section.labels["kind"] = "preempt"
    traced = kernel_result()
    traced.series.append(section)
    yield "traced sections", traced
    yield "alike", alike()
    yield "one is worse", alike(exit=idle(np.random.default_rng(8), 2_000) + 5_000)


@pytest.mark.slow
def test_operations_of_the_kernel(request: pytest.FixtureRequest) -> None:
    assert_as_stored(request, "kernel.txt", {name: shown(one) for name, one in kernels()})


def test_hps_figures_are_those_of_the_study() -> None:
    found = kernel_history()
    assert found.machine == "HP-UX/RT on HP 9000 Series 800" and found.short == "HP 1987"
    assert found.off == {"time_90": 40e6, "time_99": 129e6, "max": 1127e6}
    assert found.on == {"time_90": 1.4e6, "time_99": 3.4e6, "max": 14.6e6}
    assert found.improvement == {"time_90": 28, "time_99": 37, "max": 77}
    said = "preemption off (not preemptible) 90 % 40 ms, 99 % 129 ms, longest 1127 ms"
    assert said in history_line(None) and said in history_line("emulated")
    assert "Not compared" not in history_line(None)
    assert "Not compared: emulated." in history_line("emulated")


def test_rates_have_two_digits() -> None:
    texts = [rate_text(rate) for rate in (0, 0.034, 3.46, 34.6, 346, 34_600)]
    assert texts == ["0 /s", "0.034 /s", "3.5 /s", "35 /s", "350 /s", "35000 /s"]


# Preemption off and on

Facts = dict[str, Scalar]
OFF: Facts = {"kernel.preemption": "none", "kernel.cmdline": "quiet preempt=none"}
ON: Facts = {"kernel.preemption": "full", "kernel.cmdline": "quiet preempt=full"}
COUNTED: Facts = {"virtual.time": "instructions"}


@cache
def blocked(seed: int = 1, is_short: bool = False) -> Result:
    """Only read."""
    return kernel_result(seed, is_short=is_short)


@cache
def hundred() -> Result:
    return kernel_result(count=100, share=0.5)


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


def switches() -> Iterator[tuple[str, PreemptionTable]]:
    short, loaded = blocked(2, True), kernel_result(2)
    loaded.conditions.load = "storm"
    yield "improved", improved()
    yield "the reverse", turned()
    yield "short on both sides", preemption_table([short], [short])
    yield "100 releases", preemption_table([hundred()], [hundred()], (OFF, ON))
    yield "two results off", preemption_table([blocked(), blocked(2)], [blocked(2)], (OFF, ON))
    yield "two results each", preemption_table([blocked(), blocked(2)], [blocked(), blocked(2)])
    yield (
        "other releases",
        twice(loaded, (OFF | {"kernel.release": "6.12"}, ON | {"kernel.release": "6.13"})),
    )
    yield (
        "other boot lines",
        twice(facts=(OFF, ON | {"kernel.cmdline": "quiet nohz=off preempt=full"})),
    )
    yield "the same model", twice(facts=(OFF, OFF))
    yield "fewer releases", twice(kernel_result(2, count=2_000))
    yield "times of different kinds", twice(facts=(OFF, ON | COUNTED))
    yield "path lengths", twice(facts=(OFF | COUNTED, ON | COUNTED))
    yield "denied", twice(Result(test="KRN-P-PRE", status="denied", reason="no right to switch"))
    yield "no results", preemption_table([], [])
    yield (
        "a reference of other processes",
        twice(with_reference_at_work(kernel_result(2), waited=0.7)),
    )


def shown_pair(pair: PreemptionPair) -> str:
    return printed(lambda _, out: show_pair(make_console(out), pair), make.document(), WIDE)


@pytest.mark.slow
def test_preemption_off_and_on(request: pytest.FixtureRequest) -> None:
    texts = {name: shown_pair(PreemptionPair("", one)) for name, one in switches()}
    assert_as_stored(request, "preemption.txt", texts)
    assert twice() == twice()
    low, high = map(float, row(twice()).improvement_interval.split(" to "))
    assert low < 1 < high


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
def test_a_row_without_figures_says_how_many_releases_it_needs() -> None:
    """With 100 releases the rows of 90 % and 99 % were left out in silence."""
    found = preemption_table([hundred()], [hundred()])
    one = row(found, "99 %", "exit")
    assert (one.off, one.off_interval) == ("-", "needs 2\N{NO-BREAK SPACE}000 values, has 100")
    assert (one.on, one.on_interval) == ("-", "needs 2\N{NO-BREAK SPACE}000 values, has 100")
    assert row(found, "90 %", "exit").on_interval == "needs 200 values, has 100"
    few = preemption_table([kernel_result(count=50)], [kernel_result(count=50)])
    assert row(few).off_interval == "reference needs 100 values, has 50"


@pytest.mark.slow
def test_two_runs_make_a_table() -> None:
    off = make.document(results=[make.result(), blocked()], system=OFF)
    (pair,) = pairs_of(off, make.document(results=[blocked(2, True)], system=ON))
    assert pair.table.rows
