"""Made-up results with a worst value in one second and counters of that second and others."""

from __future__ import annotations

from collections.abc import Mapping

from hardstone.model import Conditions, Event, Interval, Result, Series, Trace, Worst
from tests.unit.stats import make

SECOND_NS = 1_000_000_000
VALUE_NS = 2_000_000
BAD, LAST = 10, 29
QUIET = {
    "steal_ns": 0,
    "interrupts_count": 1200,
    "timer_interrupts_count": 1000,
    "busiest_count": 1000,
    "run_delay_ns": 900_000,
    "minor_faults_count": 0,
    "major_faults_count": 0,
    "migrations_count": 0,
    "involuntary_switches_count": 40,
    "throttled_count": 0,
    "throttled_ns": 0,
}
Counters = Mapping[str, int]


def second(
    number: int, counters: Counters = QUIET, cpu: int | None = 1, busiest: str = "LOC"
) -> Interval:
    return Interval(
        at_ns=number * SECOND_NS,
        span_ns=SECOND_NS,
        cpu=cpu,
        counters=dict(counters),
        busiest=busiest,
    )


def whole(listed: list[Interval], quiet: Counters = QUIET, cpu: int | None = 1) -> Interval:
    """Over the whole measurement: the listed seconds, and quiet ones for the rest."""
    rest = LAST + 1 - len(listed)
    sums = {
        name: count * rest + sum(one.counters.get(name, 0) for one in listed)
        for name, count in quiet.items()
    }
    span_ns = (LAST + 1) * SECOND_NS
    return Interval(at_ns=0, span_ns=span_ns, cpu=cpu, whole=True, counters=sums)


def at(number: int, value_ns: int = VALUE_NS) -> Worst:
    return Worst(value_ns=value_ns, at_ns=int((number + 0.5) * SECOND_NS), index=number)


def late(worst: list[Worst], cpu: int = 1, **labels: str | int) -> Series:
    found = make.series([one.value_ns for one in worst])
    found.worst, found.labels = worst, {"part": "total", "cpu": cpu, **labels}
    return found


def result(
    worst: list[Worst],
    intervals: list[Interval],
    *,
    cpu: int = 1,
    events: tuple[Event, ...] = (),
    traces: tuple[Trace, ...] = (),
    policy: str | None = "other",
) -> Result:
    """By a time-shared thread, to which every cause applies."""
    return make.result(
        series=[late(worst, cpu)],
        intervals=intervals,
        events=list(events),
        traces=list(traces),
        conditions=Conditions(
            load="none", cpu_config="shared", policy=policy, realtime=policy != "other"
        ),
    )


def with_cause(
    value_ns: int = VALUE_NS, busiest: str = "LOC", policy: str | None = "other", **changed: int
) -> Result:
    """A value in the second BAD, whose counters are changed, and two quiet ones listed."""
    listed = [second(BAD, QUIET | changed, busiest=busiest), *(second(one) for one in (3, 20))]
    worst = [at(BAD, value_ns), at(3, value_ns // 8), at(20, value_ns // 9)]
    return result(worst, [*listed, whole(listed)], policy=policy)


def with_many(count: int) -> Result:
    """As with_cause, and `count` lesser values, each with a task that ran before it."""
    found = with_cause(migrations_count=1)
    found.series[0].worst += [
        Worst(
            value_ns=1000 - number,
            at_ns=number + 1,
            index=number,
            before=f"task-{number + 3}",
            before_thread=100 + number,
        )
        for number in range(count)
    ]
    return found
