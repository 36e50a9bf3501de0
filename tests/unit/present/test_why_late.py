"""Worst values with what was seen in their seconds, and what took the CPU, in words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hardstone.model import Event, Result, Trace
from hardstone.present.measured_tables import COLUMNS, noise_line, noise_tables
from hardstone.present.why_late import all_causes, late_values
from hardstone.report import charts
from hardstone.report.drawing import render
from hardstone.stats.noise import gap_points, with_noise
from hardstone.terminal.one_screen import print_screen
from hardstone.terminal.whole_run import print_whole
from tests.unit.golden import assert_as_stored
from tests.unit.report.media import flat, printed, sketched
from tests.unit.stats import make, recorded
from tests.unit.stats.made_gaps import Machine, result_of
from tests.unit.stats.recorded import BAD, QUIET, VALUE_NS, at, second, whole


def late(**changed: int) -> Result:
    return recorded.with_cause(busiest="24: eth0", **changed)


def causes() -> Iterator[tuple[str, Result]]:
    yield "a migration", late(migrations_count=1)
    yield "page faults", late(minor_faults_count=3)
    yield "throttling", late(throttled_count=2, throttled_ns=40_000_000)
    yield "interrupts", late(interrupts_count=9000, busiest_count=7000)
    yield "steal time", late(steal_ns=10_000_000)
    hot = {"thermal_throttled_count": 1, "thermal_throttled_ns": 400_000_000}
    yield "slowed down because of heat", late(**hot)
    yield "slowed down because of heat, its time not known", late(thermal_throttled_count=2)
    yield "waiting for the CPU", late(run_delay_ns=2_900_000)
    yield "none seen", late()
    listed = [second(BAD, {"throttled_count": 1})]
    timeless = [*listed, whole(listed, {"throttled_count": 0})]
    yield "throttling without its time", recorded.result([at(BAD)], timeless)
    for data in ({}, {"reason": "no /proc/stat"}):
        told = Event(name="not_watched", text="/proc/stat: EACCES", data=data)
        yield f"not watched {data}", recorded.result([at(BAD)], [], events=(told,))
    for name, usual in (
        ("steal time in every second", {"steal_ns": 30_000_000}),
        ("a CPU quota", {"throttled_count": 10, "throttled_ns": 300_000_000}),
        ("slowed down because of heat in every second", hot),
    ):
        for more in ({}, {"migrations_count": 1}):
            listed = [second(BAD, QUIET | usual | more)]
            found = recorded.result([at(BAD)], [*listed, whole(listed, QUIET | usual)])
            yield f"{name}, {more}", found
    alone = [second(BAD, QUIET | {"steal_ns": 10_000_000})]
    yield "steal time, nothing to compare with", recorded.result([at(BAD)], alone)
    listed = [second(3)]
    yield "not that second", recorded.result([at(BAD)], [*listed, whole(listed)])
    alone = [second(BAD, QUIET | {"migrations_count": 9})]
    yield "nothing to compare with", recorded.result([at(BAD)], alone)


def ran_before() -> Iterator[tuple[str, Result]]:
    """The trace is believed first; the probe tells it where there is none."""
    for before in ("", "other"):
        for priority in (49, 120, -1):
            lines = [SWITCH.format(priority), "[001] 812.005: the value ends"]
            trace = Trace(at_ns=at(BAD).at_ns, value_ns=VALUE_NS, cpu=1, lines=lines)
            worst = at(BAD)
            worst.before, worst.before_thread = before, 5
            found = recorded.result([worst], [], traces=(trace,))
            yield f"traced, priority {priority}, the probe says {before!r}", found
    odd = "a\x1b[31m\u202eb"
    for name, thread in (("hog", 77), ("swapper/1", 0), (odd, 7), ("", 7)):
        result = recorded.with_cause()
        worst = result.series[0].worst[1]
        worst.before, worst.before_thread = name, thread
        yield f"the probe says {name!a} {thread}", result
        yield f"the same without counters: {name!a}", recorded.result([worst], [])


SWITCH = "[001] 812.004: sched_switch: prev_comm=hog prev_pid=77 prev_prio={} ==> next_pid=80"


@pytest.mark.slow
def test_a_cause_is_said_as_seen(request: pytest.FixtureRequest) -> None:
    texts = {
        name: "\n".join(
            f"{one.cause}; before: {one.before}; trace: {one.trace}" for one in late_values(result)
        )
        for name, result in (*causes(), *ran_before())
    }
    assert_as_stored(request, "causes.txt", texts)
    assert late_values(make.result()) == [] and all_causes(make.document(), 1) == []


def test_all_worst_values_are_covered() -> None:
    """Those of which the same is said share a line."""
    result = recorded.with_cause(migrations_count=1)
    listed = result.series[0].worst
    listed += [at(3, 1000 + number) for number in range(20)]
    for number, one in enumerate(listed[3:]):
        one.at_ns += number + 1
    listed[10].before, listed[10].before_thread = "hog", 77
    document = make.document(results=[result])
    told = [text.replace("\N{NO-BREAK SPACE}", " ") for _, text in all_causes(document, 1)]
    assert told[0] == "2 ms at 10.50 s, CPU 1: likely: 1 migration in that second (normally 0)"
    assert told[1].startswith("21 values from 1 us to 250 us: no cause found")
    assert told[2].endswith("no cause found; before it, hog (pid 77) ran")
    assert (len(told), len(late_values(result))) == (3, 23)


def test_a_step_of_a_coarse_clock_was_not_late() -> None:
    result = recorded.with_cause(migrations_count=1)
    assert late_values(result)
    result.test = "CLK-B-RES"
    assert late_values(result) == [] and all_causes(make.document(results=[result]), 1) == []


# What took the CPU


@pytest.fixture(scope="module")
def guest() -> Result:
    """A guest's tick on its host's."""
    machine = Machine(40, seconds=6)
    machine.comb(1000, 10_600, every=(4, 28_300))
    machine.noise(50, 2_000)
    return with_noise(result_of(machine.windows(timer_hz=250)))


@pytest.fixture(scope="module")
def quiet() -> Result:
    machine = Machine(41, seconds=3)
    machine.noise(50, 2_000)
    return with_noise(result_of(machine.windows(timer_hz=0)))


@pytest.mark.slow
def test_a_row_for_each_comb_and_one_for_the_rest(guest: Result) -> None:
    (table,) = noise_tables(guest)
    assert [row.what for row in table.rows] == [
        *("tick of the host", "tick of this kernel", "no period")
    ]
    assert all(len(row.cells) == len(COLUMNS) for row in table.rows)
    assert table.rows[0].rate == "1000 Hz"
    told = " ".join(table.remarks)
    assert "The tick of this kernel comes with the tick of the host at 1000 Hz: 17." in told
    assert "ppm against what the kernel states" in told
    assert "The kernel counted 248.4 timer interrupts a second" in told  # 62 in most windows
    rest = int(table.rows[-1].gaps.replace("\N{NO-BREAK SPACE}", ""))
    assert guest.noise[0].combs[0].count + rest == guest.noise[0].merged_count
    guest.noise = [*guest.noise, *guest.noise]
    assert [one.title[:12] for one in noise_tables(guest)] == ["recording 1:", "recording 2:"]
    guest.noise.pop()


@pytest.mark.slow
def test_no_tick_is_said(quiet: Result) -> None:
    (table,) = noise_tables(quiet)
    assert table.remarks[0].startswith("No tick found: no gaps recur with the kernel's tick")
    assert noise_line(quiet).startswith("no tick found; gaps take ")
    assert noise_line(Result(test="CLK-P-DUR", status="denied")) == ""


@pytest.mark.slow
def test_terminal_and_report_have_it(guest: Result, quiet: Result) -> None:
    document = make.document(results=[guest])
    assert "tick of this kernel" in flat(printed(print_whole, document))
    assert "tick 250 Hz" in flat(printed(print_screen, document))
    page = sketched(document)
    for text in ("What took the CPU: ", "tick of the host", "Gaps and the tick"):
        assert text in page
    for result, has_tick in ((guest, True), (quiet, False)):
        points = gap_points(result, most=200)
        assert "<svg" in render(charts.phase_chart(points, has_tick=has_tick))
