"""A cause is named where its counter of that second could have made the value, and only there; and
the task that ran before a value."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from hardstone.model import Event, Interval, Result, Trace, Worst
from hardstone.stats.causes import (
    TICK_NS,
    Lateness,
    Task,
    counts_of,
    is_rare,
    is_watched,
    latenesses,
    not_watched,
    ran_before,
)
from tests.unit.stats import make, recorded
from tests.unit.stats.recorded import (
    BAD,
    LAST,
    QUIET,
    SECOND_NS,
    VALUE_NS,
    at,
    second,
    whole,
    with_cause,
)

FLOOD = {"interrupts_count": 9000, "busiest_count": 7000}
THROTTLED = {"throttled_ns": 40_000_000, "throttled_count": 1}
MS = 1_000_000
HOT = {"thermal_throttled_ns": 400 * MS, "thermal_throttled_count": 1}
STOLEN = QUIET | {"steal_ns": 10 * MS}
LIMITED = {count: QUIET | {"throttled_ns": count * 30 * MS, "throttled_count": count}
           for count in (10, 11)}  # fmt: skip
ON_64_CPUS = QUIET | {"throttled_ns": 12_800 * MS, "throttled_count": 10}
ALWAYS_STOLEN = QUIET | {"steal_ns": 30 * MS, "run_delay_ns": 30 * MS}


def worst_of(result: Result) -> Lateness:
    return latenesses(result, 1)[0]


def kinds(result: Result) -> list[str]:
    return [one.kind for one in worst_of(result).causes]


def beside(
    bad: dict[str, int],
    usual: dict[str, int] = QUIET,
    *,
    others: int = 0,
    others_have: dict[str, int] | None = None,
    value_ns: int = VALUE_NS,
    is_whole: bool = True,
) -> Result:
    """A value in the second BAD with the counters `bad`, beside `others` that are listed, and a
    whole measurement of `usual` ones."""
    listed = [second(BAD, usual | bad)]
    listed += [second(one, others_have or usual) for one in range(others)]
    intervals = [*listed, whole(listed, usual)] if is_whole else listed
    return recorded.result([at(BAD, value_ns)], intervals)


def of_policy(result: Result, policy: str) -> Result:
    for series in result.series:
        series.labels["policy"] = policy
    return result


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        ("steal", {"steal_ns": 10 * MS}),
        ("throttled", THROTTLED),
        ("heat", HOT),
        ("heat", {"thermal_throttled_count": 1}),
        ("delay", {"run_delay_ns": 2_900_000}),
        ("minor_faults", {"minor_faults_count": 3}),
        ("major_faults", {"major_faults_count": 1}),
        ("migrations", {"migrations_count": 1}),
        ("interrupts", FLOOD),
    ],
)
def test_an_injected_cause_is_named_first(kind: str, changed: dict[str, int]) -> None:
    found, *others = latenesses(with_cause(**changed), 3)
    assert found.causes[0].kind == kind
    assert found.worst.value_ns == VALUE_NS
    assert found.compared_ns == (LAST + 1 - 3) * SECOND_NS
    # The quiet seconds of the same result have none.
    assert [one.causes for one in others] == [[], []]


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (with_cause(), []),
        # twice the usual, but less than half of the value beyond it
        (with_cause(run_delay_ns=1_800_000), []),
        (with_cause(throttled_ns=900_000, throttled_count=1), []),
        (with_cause(interrupts_count=2100), []),  # a few more, but no flood
        (with_cause(50 * MS, steal_ns=10 * MS), []),
        (with_cause(19 * MS, steal_ns=10 * MS), ["steal"]),
        (with_cause(50 * MS, minor_faults_count=3), []),
        (with_cause(900 * MS, migrations_count=1), []),
        # no usual is taken from seconds in which the kernel's counter went back
        (beside(FLOOD, others=3, others_have={"interrupts_count": -9000}, is_whole=False), []),
        # what every second has
        (beside({"run_delay_ns": 40 * MS}, QUIET | {"run_delay_ns": 30 * MS}), []),
        (beside({"minor_faults_count": 6}, QUIET | {"minor_faults_count": 5}), []),
        # what explains the delay that comes with it
        (with_cause(**THROTTLED, run_delay_ns=40 * MS), ["throttled"]),
        (with_cause(40 * MS, run_delay_ns=25 * MS, steal_ns=40 * MS), ["steal"]),
        (with_cause(40 * MS, run_delay_ns=25 * MS, migrations_count=4), ["migrations", "delay"]),
        # a limit on time-shared threads makes no real-time thread late: what kept it is named
        (with_cause(policy="fifo", **THROTTLED, run_delay_ns=40 * MS), ["delay"]),
        (with_cause(policy="rr", **THROTTLED, run_delay_ns=40 * MS), ["delay"]),
        (with_cause(policy="fifo", **THROTTLED), []),
        (with_cause(policy="rr", **THROTTLED), []),
        (with_cause(policy=None, **THROTTLED), ["throttled"]),  # not known
        # threads of a variant have a policy of their own
        (of_policy(with_cause(policy="fifo", **THROTTLED), "other"), ["throttled"]),
        (of_policy(with_cause(policy="fifo", **THROTTLED), "run"), []),
        (of_policy(with_cause(policy="other", **THROTTLED), "rr"), []),
        (of_policy(with_cause(policy="other", **THROTTLED), "deadline"), []),
    ],
)
def test_a_cause_is_named_where_it_explains_the_value(result: Result, expected: list[str]) -> None:
    assert kinds(result) == expected


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (beside({"steal_ns": 50 * MS}, STOLEN, others=5), [("steal", 0)]),
        # beyond the usual, but not beyond what that varies by
        (beside({"steal_ns": 50 * MS}, STOLEN, others=5, others_have=QUIET), [("steal", 10)]),
        (beside({"steal_ns": 40 * MS}, ALWAYS_STOLEN), [("steal", 30)]),
        (beside({"run_delay_ns": 40 * MS}, ALWAYS_STOLEN), [("steal", 30)]),
        # what only that second has comes first
        (beside({"migrations_count": 1}, ALWAYS_STOLEN), [("migrations", 0), ("steal", 30)]),
        (beside({"run_delay_ns": 90 * MS}, ALWAYS_STOLEN), [("delay", 0), ("steal", 30)]),
        # it explains no more than it took
        (beside({}, ALWAYS_STOLEN, value_ns=60 * MS), [("steal", 30)]),
        (beside({}, ALWAYS_STOLEN, value_ns=61 * MS), []),
        (beside({}, LIMITED[10], value_ns=600 * MS), [("throttled", 300)]),
        (beside({}, LIMITED[10], value_ns=601 * MS), []),
        (beside(LIMITED[11], LIMITED[10], others=4, value_ns=200 * MS), [("throttled", 300)]),
        # a group that is always throttled is late by that: 30 ms each time, or the sum of 15 CPUs
        (beside({}, LIMITED[10], value_ns=2 * MS), [("throttled", 300)]),
        (beside({}, LIMITED[10], value_ns=50_000), []),
        # of 64 CPUs for 20 ms of 100 ms: 12.8 s in each second
        (beside({}, ON_64_CPUS, value_ns=20 * MS), [("throttled", 12_800)]),
        # slowed down for heat in each second, and only in that of the value
        (beside({}, QUIET | HOT, value_ns=2 * MS), [("heat", 400)]),
        (beside({}, QUIET | HOT, value_ns=801 * MS), []),
        (beside({"thermal_throttled_ns": 900 * MS}, QUIET | HOT, value_ns=800 * MS), [("heat", 0)]),
        (beside(HOT, is_whole=False), [("heat", 0)]),
        (beside({"thermal_throttled_count": 1}, is_whole=False), [("heat", 0)]),
        (beside({"thermal_throttled_count": 0}, is_whole=False), []),
        # nothing to compare with, and nothing is needed
        (beside({"steal_ns": 10 * MS}, is_whole=False), [("steal", 0)]),
        (beside({"steal_ns": 10 * MS}, is_whole=False, value_ns=21 * MS), []),
    ],
)
def test_what_an_undisturbed_system_has_not_is_named_also_where_all_seconds_have_it(
    result: Result, expected: list[tuple[str, int]]
) -> None:
    """With its average of a second in ms, 0 where the rest of the run has less."""
    causes = worst_of(result).causes
    assert [(one.kind, round(one.constant_ns / MS)) for one in causes] == expected


def test_causes_have_what_they_explain() -> None:
    both = with_cause(40 * MS, run_delay_ns=25 * MS, migrations_count=4)
    assert [one.most_ns for one in worst_of(both).causes] == [40 * MS, 24_100_000]


def test_the_usual_of_another_cpu_does_not_count() -> None:
    listed = [second(BAD, QUIET | {"migrations_count": 1})]
    other = whole([], QUIET | {"migrations_count": 5}, cpu=0)
    result = recorded.result([at(BAD)], [other, *listed, whole(listed)])
    assert kinds(result) == ["migrations"]
    assert worst_of(result).compared_ns == LAST * SECOND_NS


def test_counters_of_the_machine_are_those_of_each_cpu() -> None:
    listed = [second(BAD, QUIET | {"migrations_count": 1}, cpu=None)]
    found = worst_of(recorded.result([at(BAD)], [*listed, whole(listed, cpu=None)]))
    assert (found.cpu, found.seconds, found.compared_ns) == (1, listed, LAST * SECOND_NS)
    assert [one.kind for one in found.causes] == ["migrations"]


@pytest.mark.parametrize(("cpu", "later"), [(0, 0), (1, 1), (1, -1)])
def test_counters_of_another_cpu_or_second_name_nothing(cpu: int, later: int) -> None:
    bad = QUIET | FLOOD | {"steal_ns": 50 * MS, "migrations_count": 4}
    listed = [second(BAD), second(BAD + later, bad, cpu)]
    mine = [one for one in listed if one.cpu == 1]
    wholes = [whole(mine), whole([one for one in listed if one.cpu != 1], cpu=0)]
    found = worst_of(recorded.result([at(BAD)], [*listed, *wholes]))
    assert found.causes == []
    assert [one.at_ns for one in found.seconds] == [BAD * SECOND_NS]


def test_a_value_over_two_seconds_has_the_counters_of_both() -> None:
    listed = [second(BAD, QUIET | {"run_delay_ns": 700 * MS}), second(BAD + 1)]
    found = worst_of(recorded.result([at(BAD + 1, 900 * MS)], [*listed, whole(listed)]))
    assert len(found.seconds) == 2
    assert [one.kind for one in found.causes] == ["delay"]


@pytest.mark.parametrize(("busiest_count", "busiest"), [(7000, "24: eth0"), (2000, "")])
def test_the_interrupt_that_came_most_often_is_named(busiest_count: int, busiest: str) -> None:
    changed = FLOOD | {"busiest_count": busiest_count}
    (flood,) = worst_of(with_cause(busiest="24: eth0", **changed)).causes
    assert flood.busiest == busiest


def test_seconds_are_compared_with_each_other_where_nothing_else_is_left() -> None:
    found = worst_of(beside({"migrations_count": 1}, others=5, is_whole=False))
    assert [one.kind for one in found.causes] == ["migrations"]
    assert found.compared_ns == 5 * SECOND_NS


def test_the_usual_varies_as_the_rates_below_it() -> None:
    """Listed seconds above it were listed because something raised them."""
    rates = (900, 950, 1000, 1000, 7000, 8000, 9000, 9500, 9900)
    bad = second(BAD, {"run_delay_ns": 5000})
    listed = [bad, *(second(n, {"run_delay_ns": rate}) for n, rate in enumerate(rates))]
    count = counts_of([*listed, whole(listed, {"run_delay_ns": 1000})], [bad], 1)["run_delay_ns"]
    assert (count.seen, count.expected) == (5000, pytest.approx(1000))
    assert count.spread == pytest.approx(1.4826 * 25)


@pytest.mark.parametrize(
    ("rest_ns", "compared_ns", "usual"),
    [(SECOND_NS, SECOND_NS, 0), (SECOND_NS - 1, 3 * SECOND_NS, 14)],
)
def test_half_the_time_of_a_value_is_enough_to_compare_with(
    rest_ns: int, compared_ns: int, usual: int
) -> None:
    """With less that is not listed, the usual is that of the other listed seconds."""
    others = [second(number, {"migrations_count": 7}) for number in range(3)]
    listed = [second(number, {"migrations_count": 2}) for number in (BAD, BAD + 1)] + others
    everything = Interval(at_ns=0, span_ns=5 * SECOND_NS + rest_ns, cpu=1, whole=True)
    everything.counters = {"migrations_count": 25}  # none outside of the listed seconds
    found = worst_of(recorded.result([at(BAD + 1, 900 * MS)], [*listed, everything]))
    assert found.compared_ns == compared_ns
    assert found.counts["migrations_count"].expected == pytest.approx(usual)


def test_the_parts_of_a_resumed_recording_are_one_whole() -> None:
    usual = QUIET | {"migrations_count": 3}
    later = [second(one, usual) for one in (40, 41)]
    listed = [second(BAD, usual)]
    part = Interval(at_ns=40 * SECOND_NS, span_ns=30 * SECOND_NS, cpu=1, whole=True)
    part.counters = {name: 30 * count for name, count in usual.items()}
    assert kinds(recorded.result([at(BAD)], [*listed, whole(listed)])) == ["migrations"]
    found = worst_of(recorded.result([at(BAD)], [*listed, *later, whole(listed), part]))
    assert (found.causes, found.compared_ns) == ([], (30 + 30 - 3) * SECOND_NS)


def test_a_second_alone_is_compared_with_nothing() -> None:
    alone = second(0, QUIET | FLOOD)
    span = Interval(at_ns=0, span_ns=SECOND_NS, cpu=1, whole=True, counters=alone.counters)
    found = worst_of(recorded.result([at(0)], [alone, span]))
    assert (found.seconds, found.counts, found.causes) == ([alone], {}, [])


def test_a_counter_that_is_not_known_is_no_zero() -> None:
    known = {"run_delay_ns": 900_000}
    listed = [second(BAD, known | {"migrations_count": 1})]
    found = worst_of(recorded.result([at(BAD)], [*listed, whole(listed, known)]))
    assert (set(found.counts), found.causes) == ({"run_delay_ns"}, [])


def test_a_moment_is_listed_once() -> None:
    result = with_cause(migrations_count=1)
    result.series += [
        recorded.late([at(BAD, VALUE_NS), at(BAD, VALUE_NS - MS)], part="return"),
        recorded.late([at(BAD, VALUE_NS - 5)], cpu=0),
    ]
    found = [(one.cpu, one.worst.value_ns) for one in latenesses(result, 3)]
    assert found == [(1, VALUE_NS), (0, VALUE_NS - 5), (1, VALUE_NS // 8)]


def test_so_many_values_have_a_rare_cause_as_there_were_events() -> None:
    result = with_cause(minor_faults_count=2)
    there = int((BAD + 0.5) * SECOND_NS)
    values = [VALUE_NS - turn * 1000 for turn in range(5)]
    result.series[0].worst = [
        Worst(value_ns=value_ns, at_ns=there + turn * MS, index=turn)
        for turn, value_ns in enumerate(values)
    ]
    named = [bool(one.causes) for one in latenesses(result)]
    assert named == [True, True, False, False, False]


@pytest.mark.parametrize("expected", [0.001, 0.3, 1.0, 7.5, 300.0, 9_999.0, 10_001.0, 1e12])
def test_events_are_rare_by_the_poisson_distribution(expected: float) -> None:
    middle, spread = int(expected), 1 + int(6 * expected**0.5)
    for events in {*range(middle + 1, middle + spread, max(1, spread // 50)), middle, middle + 1}:
        chance = special.gammainc(events, expected) if events else 1.0
        assert is_rare(events, expected) == (chance < 0.01), events
    assert is_rare(1, 0) and not is_rare(0, 0)


def test_a_negative_value_was_not_late() -> None:
    result = with_cause(steal_ns=10 * MS)
    result.series[0].worst = [at(BAD, 0), at(BAD - 1, -VALUE_NS)]
    assert [one.worst.value_ns for one in latenesses(result)] == [0]


def test_counts_and_derived_values_have_no_cause() -> None:
    result = with_cause(migrations_count=1)
    result.series[0].unit = "count"
    assert latenesses(result, 3) == []


def test_what_was_not_watched_says_why() -> None:
    told = Event(name="not_watched", text="/proc/stat: EACCES")
    result = recorded.result([at(BAD)], [], events=(told,))
    assert is_watched(result) and not_watched(result) == "/proc/stat: EACCES"
    assert worst_of(result).seconds == []
    assert not is_watched(make.result())


def test_a_trace_is_that_of_its_value() -> None:
    end_ns = at(BAD).at_ns
    lines = Trace(at_ns=end_ns, value_ns=VALUE_NS, cpu=1, lines=["a line"])
    others = (
        Trace(at_ns=end_ns, value_ns=VALUE_NS, cpu=0, lines=["of another CPU"]),
        Trace(at_ns=end_ns - 1, value_ns=VALUE_NS, cpu=1, lines=["of another moment"]),
        Trace(at_ns=end_ns, value_ns=VALUE_NS - 1, cpu=1, lines=["of another value"]),
    )
    found = latenesses(recorded.result([at(BAD), at(3, 7)], [], traces=(*others, lines)), 2)
    assert [one.trace for one in found] == [lines, None]


NOISE: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "poisson": lambda rng, n: rng.poisson(200, n),
    "rare": lambda rng, n: rng.poisson(0.05, n),
    "normal": lambda rng, n: rng.normal(1e7, 1e6, n).clip(0),
    "exponential": lambda rng, n: rng.exponential(4e6, n),
}
MOST_FALSE = 0.03  # of the seconds; docs/method.md


def noisy(noise: str, name: str, unit: int = 1) -> Iterator[Lateness]:
    """What is known of 300 seconds chosen without regard to a counter that is noise."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        counted = NOISE[noise](rng, 600).astype(np.int64) // unit * unit
        listed = [second(n, {name: int(counted[n])}) for n in range(0, 600, 20)]
        everything = Interval(at_ns=0, span_ns=600 * SECOND_NS, cpu=1, whole=True)
        everything.counters = {name: int(counted.sum())}
        worst = [at(n, 150_000 - n) for n in range(0, 600, 20)]
        found = latenesses(recorded.result(worst, [*listed, everything]), 30)
        assert len(found) == 30
        yield from found


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize(
    "name", ["run_delay_ns", "interrupts_count", "minor_faults_count", "migrations_count"]
)
def test_noise_alone_is_seldom_named(noise: str, name: str) -> None:
    found = list(noisy(noise, name))
    assert sum(bool(one.causes) for one in found) <= MOST_FALSE * len(found)


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISE)
def test_steal_that_is_noise_is_seldom_said_of_that_second_alone(noise: str) -> None:
    """It is named wherever it can have made the value: an undisturbed system has none."""
    found = list(noisy(noise, "steal_ns", TICK_NS))
    causes = [cause for one in found for cause in one.causes]
    assert len(causes) == sum(one.counts["steal_ns"].seen > 0 for one in found)
    assert sum(not cause.constant_ns for cause in causes) <= MOST_FALSE * len(found)


# ---- the task that ran before ----

BEGINS, ENDS = "[001] 812.004000000: the value begins", "[001] 812.009000000: the value ends"
LOST = "[001] 812.006000000: LOST 12 EVENTS"
HOG = Task("hog", 77, 49)


def line(prev: str = "hog", pid: int = 77, cpu: int = 1, prio: int = 49) -> str:
    return (
        f"[{cpu:03}] 812.004711123: sched_switch: prev_comm={prev} prev_pid={pid} "
        f"prev_prio={prio} ==> next_pid=80"
    )


def before(*lines: str, cpu: int | None = 1) -> Task | None:
    return ran_before(Trace(at_ns=1, value_ns=1, cpu=cpu, lines=list(lines)))


@pytest.mark.parametrize(
    ("lines", "task"),
    [
        ((line("a"), BEGINS, line("b"), line(), ENDS, line("hardstone-probe")), HOG),
        ((line(), BEGINS, ENDS), None),
        ((line(), ENDS), HOG),  # a long value begins before its excerpt
        ((BEGINS, line(), LOST, ENDS), None),  # a switch may be among lost events
        ((BEGINS, LOST, line(), ENDS), HOG),
        ((BEGINS, line(), LOST.replace("[001]", "[000]"), ENDS), HOG),
        ((BEGINS, line()), None),
        ((BEGINS, line("hardstone-probe", 5), ENDS), Task("hardstone-probe", 5, 49)),
        ((BEGINS, line(), line("other", cpu=0), ENDS), HOG),
        ((BEGINS, line("other", cpu=0), ENDS), None),
    ],
)
def test_it_is_the_task_of_the_last_switch_within_the_value(
    lines: tuple[str, ...], task: Task | None
) -> None:
    assert before(*lines) == task


def test_any_cpu_counts_where_that_of_the_value_is_not_known() -> None:
    assert before(BEGINS, line("other", cpu=0), ENDS, cpu=None) is not None


@pytest.mark.parametrize("name", ["a b", "irq/24-eth0", "x prev_pid=3", "[001] 1.0: y", "=> ==> z"])
def test_a_name_may_look_like_a_field(name: str) -> None:
    assert before(BEGINS, line(name), ENDS) == Task(name, 77, 49)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# tracer: nop",
        line().replace("next_pid", "next"),
        line().replace("sched_switch", "sched_wakeup"),
        line() + " more=1",
        "x" + line(),
    ],
)
def test_other_lines_name_nobody(text: str) -> None:
    assert before(BEGINS, text, ENDS) is None


@pytest.mark.slow
@given(st.lists(st.text(max_size=200), max_size=4))
def test_any_text_is_read(lines: list[str]) -> None:
    assert before(*lines, ENDS) is None
