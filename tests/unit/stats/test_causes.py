"""A cause is named where its counter of that second could have made the value, and only there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.model import Event, Interval, Result, Trace
from hardstone.stats.causes import Lateness, is_watched, latenesses, not_watched
from hardstone.stats.usual import counts_of
from tests.unit.stats import make, recorded
from tests.unit.stats.recorded import BAD, LAST, QUIET, SECOND_NS, VALUE_NS, at, second, whole

FLOOD = {"interrupts_count": 9000, "busiest_count": 7000}


def worst_of(result: Result) -> Lateness:
    return latenesses(result, 1)[0]


def kinds(result: Result) -> list[str]:
    return [one.kind for one in worst_of(result).causes]


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        ("steal", {"steal_ns": 10_000_000}),
        ("throttled", {"throttled_ns": 40_000_000, "throttled_count": 1}),
        ("delay", {"run_delay_ns": 2_900_000}),
        ("minor_faults", {"minor_faults_count": 3}),
        ("major_faults", {"major_faults_count": 1}),
        ("migrations", {"migrations_count": 1}),
        ("interrupts", FLOOD),
    ],
)
def test_an_injected_cause_is_named_first(kind: str, changed: dict[str, int]) -> None:
    found = worst_of(recorded.with_cause(**changed))
    assert found.causes[0].kind == kind
    assert found.worst.value_ns == VALUE_NS
    assert found.compared_ns == (LAST + 1 - 3) * SECOND_NS
    # The quiet seconds of the same result have none.
    others = latenesses(recorded.with_cause(**changed), 3)[1:]
    assert [one.causes for one in others] == [[], []]


def test_a_quiet_second_names_nothing() -> None:
    assert kinds(recorded.with_cause()) == []


@pytest.mark.parametrize(
    "changed",
    [
        {"run_delay_ns": 1_800_000},  # twice the usual, but less than half of the value beyond it
        {"throttled_ns": 900_000, "throttled_count": 1},
        {"interrupts_count": 2100},  # a few more, but no flood
    ],
)
def test_a_counter_too_small_for_the_value_names_nothing(changed: dict[str, int]) -> None:
    assert kinds(recorded.with_cause(**changed)) == []


def test_steal_too_short_for_the_value_names_nothing() -> None:
    assert kinds(recorded.with_cause(50_000_000, steal_ns=10_000_000)) == []
    assert kinds(recorded.with_cause(19_000_000, steal_ns=10_000_000)) == ["steal"]


def test_steal_that_varies_as_much_names_nothing() -> None:
    usual = QUIET | {"steal_ns": 10_000_000}
    bad = second(BAD, QUIET | {"steal_ns": 50_000_000})
    calm, alike = [second(one) for one in range(5)], [second(one, usual) for one in range(5)]
    for others, expected in ((calm, []), (alike, ["steal"])):
        intervals = [bad, *others, whole([bad, *others], usual)]
        assert kinds(recorded.result([at(BAD)], intervals)) == expected


def test_the_usual_of_another_cpu_does_not_count() -> None:
    listed = [second(BAD, QUIET | {"migrations_count": 1})]
    other = whole([], QUIET | {"migrations_count": 5}, cpu=0)
    result = recorded.result([at(BAD)], [other, *listed, whole(listed)])
    assert kinds(result) == ["migrations"]
    assert worst_of(result).compared_ns == LAST * SECOND_NS


def test_counters_of_the_machine_are_those_of_each_cpu() -> None:
    listed = [second(BAD, QUIET | {"migrations_count": 1}, cpu=None)]
    found = worst_of(recorded.result([at(BAD)], [*listed, whole(listed, cpu=None)]))
    assert found.cpu == 1
    assert (found.seconds, found.compared_ns) == (listed, LAST * SECOND_NS)
    assert [one.kind for one in found.causes] == ["migrations"]


def test_events_too_short_for_the_value_name_nothing() -> None:
    assert kinds(recorded.with_cause(50_000_000, minor_faults_count=3)) == []
    assert kinds(recorded.with_cause(900_000_000, migrations_count=1)) == []


USUALLY_STOLEN = QUIET | {"steal_ns": 30_000_000, "run_delay_ns": 30_000_000}


@pytest.mark.parametrize("changed", [{"steal_ns": 40_000_000}, {"run_delay_ns": 40_000_000}])
def test_what_every_second_has_is_no_cause(changed: dict[str, int]) -> None:
    listed = [second(BAD, USUALLY_STOLEN | changed)]
    assert kinds(recorded.result([at(BAD)], [*listed, whole(listed, USUALLY_STOLEN)])) == []


def test_a_fault_is_no_cause_where_faults_are_usual() -> None:
    usual = QUIET | {"minor_faults_count": 5}
    listed = [second(BAD, usual | {"minor_faults_count": 6})]
    assert kinds(recorded.result([at(BAD)], [*listed, whole(listed, usual)])) == []


def moved(move: Callable[[Interval], Interval]) -> Result:
    """The bad counters, but where `move` puts them; quiet ones stand in their place."""
    bad = QUIET | FLOOD | {"steal_ns": 50_000_000, "migrations_count": 4}
    listed = [second(BAD), move(second(BAD, bad))]
    mine = [one for one in listed if one.cpu == 1]
    wholes = [whole(mine), whole([one for one in listed if one.cpu != 1], cpu=0)]
    return recorded.result([at(BAD)], [*listed, *wholes])


def other_cpu(one: Interval) -> Interval:
    one.cpu = 0
    return one


def beside(seconds: int) -> Callable[[Interval], Interval]:
    def move(one: Interval) -> Interval:
        one.at_ns += seconds * SECOND_NS
        return one

    return move


@pytest.mark.parametrize("move", [other_cpu, beside(1), beside(-1)])
def test_counters_of_another_cpu_or_second_name_nothing(
    move: Callable[[Interval], Interval],
) -> None:
    found = worst_of(moved(move))
    assert found.causes == []
    assert [one.at_ns for one in found.seconds] == [BAD * SECOND_NS]


def test_a_value_over_two_seconds_has_the_counters_of_both() -> None:
    listed = [second(BAD, QUIET | {"run_delay_ns": 700_000_000}), second(BAD + 1)]
    value = at(BAD + 1, 900_000_000)
    found = worst_of(recorded.result([value], [*listed, whole(listed)]))
    assert len(found.seconds) == 2
    assert [one.kind for one in found.causes] == ["delay"]


def test_steal_or_throttling_explains_the_delay_that_comes_with_it() -> None:
    lost = {"throttled_ns": 40_000_000, "throttled_count": 1, "run_delay_ns": 40_000_000}
    assert kinds(recorded.with_cause(**lost)) == ["throttled"]


@pytest.mark.parametrize("policy", ["fifo", "rr"])
def test_a_limit_on_time_shared_threads_makes_no_real_time_thread_late(policy: str) -> None:
    """The load met it: what kept the measuring thread from its CPU is named."""
    lost = {"throttled_ns": 40_000_000, "throttled_count": 1, "run_delay_ns": 40_000_000}
    assert kinds(recorded.with_cause(policy=policy, **lost)) == ["delay"]
    del lost["run_delay_ns"]
    assert kinds(recorded.with_cause(policy=policy, **lost)) == []
    assert kinds(recorded.with_cause(policy=None, **lost)) == ["throttled"]  # not known


def test_throttling_as_usual_explains_no_value_longer_than_it() -> None:
    usual = QUIET | {"throttled_ns": 300_000_000, "throttled_count": 10}
    listed = [second(BAD, usual | {"throttled_ns": 330_000_000, "throttled_count": 11})]
    intervals = [*listed, *(second(one, usual) for one in range(4)), whole(listed, usual)]
    assert kinds(recorded.result([at(BAD, 200_000_000)], intervals)) == []


def test_several_causes_come_in_the_order_of_what_they_explain() -> None:
    result = recorded.with_cause(40_000_000, run_delay_ns=25_000_000, steal_ns=40_000_000)
    assert kinds(result) == ["steal"]
    both = recorded.with_cause(40_000_000, run_delay_ns=25_000_000, migrations_count=4)
    assert kinds(both) == ["migrations", "delay"]
    assert [one.most_ns for one in worst_of(both).causes] == [40_000_000, 24_100_000]


def test_a_group_that_is_always_throttled_is_late_by_that() -> None:
    usual = QUIET | {"throttled_ns": 900_000_000, "throttled_count": 10}
    listed = [second(BAD, usual)]
    intervals = [*listed, whole(listed, usual)]
    assert kinds(recorded.result([at(BAD, 88_000_000)], intervals)) == ["throttled"]
    assert kinds(recorded.result([at(BAD, 50_000)], intervals)) == []


def test_the_interrupt_that_came_most_often_is_named() -> None:
    (flood,) = worst_of(recorded.with_cause(busiest="24: eth0", **FLOOD)).causes
    assert flood.busiest == "24: eth0"
    few = FLOOD | {"busiest_count": 2000}
    (mixed,) = worst_of(recorded.with_cause(busiest="24: eth0", **few)).causes
    assert mixed.busiest == ""


def test_seconds_are_compared_with_each_other_where_nothing_else_is_left() -> None:
    listed = [second(BAD, QUIET | {"migrations_count": 1}), *(second(one) for one in range(5))]
    found = worst_of(recorded.result([at(BAD)], listed))
    assert [one.kind for one in found.causes] == ["migrations"]
    assert found.compared_ns == 5 * SECOND_NS


def test_the_usual_varies_as_the_rates_below_it() -> None:
    """Listed seconds above it were listed because something raised them."""
    rates = (900, 950, 1000, 1000, 7000, 8000, 9000, 9500, 9900)
    others = [second(number, {"run_delay_ns": rate}) for number, rate in enumerate(rates)]
    bad = second(BAD, {"run_delay_ns": 5000})
    listed = [bad, *others]
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
    span_ns = 5 * SECOND_NS + rest_ns
    everything = Interval(at_ns=0, span_ns=span_ns, cpu=1, whole=True)
    everything.counters = {"migrations_count": 25}  # none outside of the listed seconds
    found = worst_of(recorded.result([at(BAD + 1, 900_000_000)], [*listed, everything]))
    assert found.compared_ns == compared_ns
    assert found.counts["migrations_count"].expected == pytest.approx(usual)


def test_the_parts_of_a_resumed_recording_are_one_whole() -> None:
    usual = QUIET | {"migrations_count": 3}
    later = [second(one, usual) for one in (40, 41)]
    listed = [second(BAD, QUIET | {"migrations_count": 3})]
    part = Interval(at_ns=40 * SECOND_NS, span_ns=30 * SECOND_NS, cpu=1, whole=True)
    part.counters = {name: 30 * count for name, count in usual.items()}
    first, both = [*listed, whole(listed)], [*listed, *later, whole(listed), part]
    assert kinds(recorded.result([at(BAD)], first)) == ["migrations"]
    assert kinds(recorded.result([at(BAD)], both)) == []
    found = worst_of(recorded.result([at(BAD)], both))
    assert found.compared_ns == (30 + 30 - 3) * SECOND_NS


def test_a_second_alone_is_compared_with_nothing() -> None:
    alone = second(0, QUIET | FLOOD)
    span = Interval(at_ns=0, span_ns=SECOND_NS, cpu=1, whole=True, counters=alone.counters)
    found = worst_of(recorded.result([at(0)], [alone, span]))
    assert (found.seconds, found.counts, found.causes) == ([alone], {}, [])


def test_a_counter_that_is_not_known_is_no_zero() -> None:
    known = {"run_delay_ns": 900_000}
    listed = [second(BAD, known | {"migrations_count": 1})]
    found = worst_of(recorded.result([at(BAD)], [*listed, whole(listed, known)]))
    assert set(found.counts) == {"run_delay_ns"}
    assert found.causes == []


def test_a_moment_is_listed_once() -> None:
    result = recorded.with_cause(migrations_count=1)
    again = recorded.late([at(BAD, VALUE_NS), at(BAD, VALUE_NS - 1_000_000)], part="return")
    result.series.append(again)
    other = recorded.late([at(BAD, VALUE_NS - 5)], cpu=0)
    result.series.append(other)
    found = [(one.cpu, one.worst.value_ns) for one in latenesses(result, 3)]
    assert found == [(1, VALUE_NS), (0, VALUE_NS - 5), (1, VALUE_NS // 8)]


def test_counts_and_derived_values_have_no_cause() -> None:
    result = recorded.with_cause(migrations_count=1)
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
    elsewhere = Trace(at_ns=end_ns, value_ns=VALUE_NS, cpu=0, lines=["another"])
    before = Trace(at_ns=end_ns - 1, value_ns=VALUE_NS, cpu=1, lines=["of another moment"])
    other = Trace(at_ns=end_ns, value_ns=VALUE_NS - 1, cpu=1, lines=["of another value"])
    traces = (elsewhere, before, other, lines)
    found = latenesses(recorded.result([at(BAD), at(3, 7)], [], traces=traces), 2)
    assert [one.trace for one in found] == [lines, None]


NOISE: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "poisson": lambda rng, n: rng.poisson(200, n),
    "rare": lambda rng, n: rng.poisson(0.05, n),
    "normal": lambda rng, n: rng.normal(1e7, 1e6, n).clip(0),
    "exponential": lambda rng, n: rng.exponential(4e6, n),
}
MOST_FALSE = 0.03  # of the seconds; docs/method.md


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize(
    "name",
    ["run_delay_ns", "interrupts_count", "minor_faults_count", "migrations_count", "steal_ns"],
)
def test_noise_alone_is_seldom_named(noise: str, name: str) -> None:
    rng = np.random.default_rng(3)
    named = runs = 0
    for _ in range(20):
        counted = NOISE[noise](rng, 600).astype(np.int64)
        if name == "steal_ns":
            counted = counted // 10_000_000 * 10_000_000
        listed = [second(n, {name: int(counted[n])}) for n in range(0, 600, 20)]
        sums = {name: int(counted.sum())}
        span_ns = 600 * SECOND_NS
        everything = Interval(at_ns=0, span_ns=span_ns, cpu=1, whole=True, counters=sums)
        worst = [at(n, 150_000 - n) for n in range(0, 600, 20)]
        found = latenesses(recorded.result(worst, [*listed, everything]), 30)
        runs += len(found)
        named += sum(bool(one.causes) for one in found)
    assert runs == 600
    assert named <= MOST_FALSE * runs


@pytest.mark.slow
@given(
    value_ns=st.integers(1, 10**10),
    counted=st.dictionaries(st.sampled_from(sorted(QUIET)), st.integers(0, 10**12)),
)
def test_equal_seconds_name_nothing(value_ns: int, counted: dict[str, int]) -> None:
    """Whatever the counters are: what every second has made no value late."""
    counted = {key: one for key, one in counted.items() if not key.startswith("throttled")}
    listed = [second(one, counted) for one in range(6)]
    result = recorded.result([at(3, value_ns)], [*listed, whole(listed, counted)])
    assert all(one.causes == [] for one in latenesses(result, 3))
