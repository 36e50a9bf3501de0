"""What could have made a worst value, from the kernel's counters of its second and what was
traced before it.

Nothing is proven: a cause is what was seen in that second, large enough to have made the value
and beyond what is usual. An undisturbed system has no throttling, no steal and no heat, so these
are compared with 0: a run may have them in every second. docs/method.md has each limit and why.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal, get_args

import msgspec

from hardstone import event_names
from hardstone.model import Interval, Result, Series, Trace, Worst

_LEAST_OTHERS = 4  # fewer values have no spread worth the name
_NORMAL = 1.4826  # a standard deviation by the median distance, of a normal distribution


@dataclass(frozen=True)
class Count:
    """A counter over some seconds: what it counted there, and what it usually does.

    `spread` is a standard deviation of the latter, null where too few seconds are known. Where
    nothing is left to compare with (`is_compared`), `expected` is 0.
    """

    seen: int
    expected: float
    spread: float | None
    is_compared: bool = True

    @property
    def excess(self) -> float:
        return self.seen - self.expected


def counts_of(
    intervals: Sequence[Interval], seconds: Sequence[Interval], cpu: int | None
) -> dict[str, Count]:
    """The counters of `seconds`, which are among `intervals`, each with its usual count.

    The usual is the rate of the whole measurement less all listed seconds. Where nothing is left
    of it, it is the median rate of the other listed seconds. A counter without either is absent.
    """
    own = [one for one in intervals if one.cpu == cpu]
    wholes = [one for one in own if one.whole]  # one of each part of a recording that was resumed
    listed = list({(one.at_ns, one.span_ns): one for one in own if not one.whole}.values())
    others = [one for one in listed if not any(one is second for second in seconds)]
    span_ns = sum(one.span_ns for one in seconds)
    found = {}
    for name in {name for one in seconds for name in one.counters}:
        if not all(name in one.counters for one in seconds):
            continue
        rates = [
            one.counters[name] / one.span_ns
            for one in others
            if one.span_ns > 0
            and one.counters.get(name, -1) >= 0  # one that went back says nothing
        ]
        rate = _rest_rate(wholes, listed, name, span_ns)
        if rate is None and rates:
            rate = median(rates)
        if rate is not None:
            seen = sum(one.counters[name] for one in seconds)
            spread = _spread(rates, rate)
            found[name] = Count(seen, rate * span_ns, None if spread is None else spread * span_ns)
    return found


def compared_ns(intervals: Sequence[Interval], seconds: Sequence[Interval], cpu: int | None) -> int:
    """The length of the time that `counts_of` takes the usual from."""
    own = [one for one in intervals if one.cpu == cpu]
    listed = list({(one.at_ns, one.span_ns): one for one in own if not one.whole}.values())
    left_ns = sum(one.span_ns for one in own if one.whole) - sum(one.span_ns for one in listed)
    if 2 * left_ns >= sum(one.span_ns for one in seconds) > 0:
        return left_ns
    others = (one for one in listed if not any(one is second for second in seconds))
    return sum(one.span_ns for one in others)


def _rest_rate(
    wholes: Sequence[Interval], listed: Sequence[Interval], name: str, span_ns: int
) -> float | None:
    """The rate outside of the listed seconds; None where less than half their length is left."""
    if not wholes or not all(name in one.counters for one in wholes):
        return None
    left_ns = sum(one.span_ns for one in wholes) - sum(one.span_ns for one in listed)
    left = sum(one.counters[name] for one in wholes)
    left -= sum(one.counters.get(name, 0) for one in listed)
    is_left = left_ns > 0 and 2 * left_ns >= span_ns and left >= 0
    return left / left_ns if is_left else None


def _spread(rates: Sequence[float], usual: float) -> float | None:
    """The standard deviation, from the rates below the usual only: the listed seconds were chosen
    for their worst values, and what made those raised the other rates."""
    if len(rates) < _LEAST_OTHERS:
        return None
    below = [usual - rate for rate in rates if rate <= usual]
    return _NORMAL * median(below) if len(below) >= _LEAST_OTHERS else None


# A name may hold anything but a line end, also what looks like the next field. The kernel cuts it
# to 15 characters, some trees to more.
_NAME = r".{0,63}?"
_LINE = re.compile(r"\[(\d+)\] +\d+\.\d+: (.*)", re.DOTALL)
_SWITCH = re.compile(
    rf"sched_switch: prev_comm=({_NAME}) prev_pid=(\d+) prev_prio=(-?\d+) ==> next_pid=(\d+)"
)
_BEGINS, _ENDS, _LOST = "the value begins", "the value ends", "LOST "


@dataclass(frozen=True)
class Task:
    """`priority` as the kernel counts it: below 100 is real-time, 0 is the highest; None: not
    known."""

    name: str
    pid: int
    priority: int | None = None

    @property
    def is_idle(self) -> bool:
        return self.pid == 0


def task_before(worst: Worst, trace: Trace | None) -> Task | None:
    """The task that had the CPU before `worst`, by its trace or by what the probe saw of it."""
    traced = ran_before(trace) if trace else None
    if traced is not None or worst.before_thread is None:
        return traced
    return Task(worst.before or "", worst.before_thread)


def ran_before(trace: Trace) -> Task | None:
    """The task that gave up the CPU in the last switch within the value.

    What ends a value runs then, so it is the switch that ended the wait. None where the lines show
    no switch of that CPU within it, or where events are lost after it. A long excerpt begins after
    the begin of its value.
    """
    before: Task | None = None
    for line in trace.lines:
        event = _LINE.fullmatch(line)
        if event is None or (trace.cpu is not None and int(event[1]) != trace.cpu):
            continue
        if event[2] == _BEGINS or event[2].startswith(_LOST):
            before = None
        elif event[2] == _ENDS:
            return before
        elif found := _SWITCH.fullmatch(event[2]):
            before = Task(found[1], int(found[2]), int(found[3]))
    return None


Kind = Literal[
    "throttled",
    "steal",
    "heat",
    "interrupts",
    "major_faults",
    "minor_faults",
    "migrations",
    "delay",
]
TICK_NS = 10_000_000  # the step in which the kernel counts steal time
_CHANCE = 0.01  # that the usual rate alone counts as much in that second
_MOST_SUMMED = 10_000
_NEGLIGIBLE = 1e-12
_SPREADS = 4
_FLOOD_PER_S = 1000
_SHARE = 0.5  # of the value that a cause must be able to explain
# More than one such event takes; only what cannot have made the value is to be left out.
_MOST_NS = {
    "interrupts": 100_000,
    "major_faults": 1_000_000_000,
    "minor_faults": 1_000_000,
    "migrations": 10_000_000,
}
_RARE: dict[str, Kind] = {
    "major_faults_count": "major_faults",
    "minor_faults_count": "minor_faults",
    "migrations_count": "migrations",
}
# The time throttled is the sum of the group's CPUs, whose number is not known. A throttling that
# comes all the time makes no value that is shorter than its share of one of so many.
_MOST_CPUS = 16
# Bandwidth of a control group limits time-shared threads only: a limit that the load meets makes no
# real-time thread late.
_NOT_LIMITED = ("fifo", "rr", "deadline")
_BANDWIDTH = ("throttled_ns", "throttled_count")
_SLOWED = ("thermal_throttled_ns", "thermal_throttled_count")
# Where two explain as much, the one that says more comes first.
_ORDER: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Cause:
    """`seen` and `usual`: the counter of that second, in ns (`is_time`) or events, and its usual;
    None where there is nothing to compare with.

    `most_ns`: as much of the value as it can explain. `busiest`: the interrupt that came most
    often, where that is one for most of them. `constant_ns`: the rest of the measurement loses
    time so too, this much a second on average; 0: it does not.
    """

    kind: Kind
    seen: int
    usual: float | None
    most_ns: int
    is_time: bool
    busiest: str = ""
    constant_ns: int = 0


class Lateness(msgspec.Struct, frozen=True):
    """One of the worst values of a result with what is known of its second.

    `seconds` is empty where no counters of it exist, and `counts` where nothing can be compared.
    `compared_ns`: the time that the usual is of. `trace`: what the kernel's ring held around it.
    """

    series: Series
    worst: Worst
    cpu: int | None
    seconds: list[Interval]
    counts: dict[str, Count]
    compared_ns: int
    causes: list[Cause]
    trace: Trace | None


def is_watched(result: Result) -> bool:
    """Whether a result says anything about its seconds, even that nobody watched them."""
    if result.intervals or result.traces or not_watched(result) is not None:
        return True
    return any(one.before_thread is not None for series in result.series for one in series.worst)


def not_watched(result: Result) -> str | None:
    """Why no counters exist, in the words of the probe; None where it did not say so."""
    for event in result.events:
        if event.name == event_names.NOT_WATCHED:
            reason = event.data.get("reason")
            return reason if isinstance(reason, str) else event.text
    return None


def latenesses(result: Result, most: int | None = None) -> list[Lateness]:
    """The `most` largest timed values of `result` (None: all listed ones) with their causes, the
    largest first.

    Series that list the same moment of a CPU (each release of a late wake-up, the parts of one)
    are one value: the largest. What is negative was not late.
    """
    timed = [one for one in result.series if one.unit == "ns" and not one.derived]
    values = [
        (series, worst, cpu_of(series, result))
        for series in timed
        for worst in series.worst
        if worst.value_ns >= 0
    ]
    values.sort(key=lambda one: -one[1].value_ns)
    first: dict[tuple[int | None, int], tuple[Series, Worst, int | None]] = {}
    for series, worst, cpu in values:
        if len(first) == most:
            break
        first.setdefault((cpu, worst.at_ns), (series, worst, cpu))
    usuals = _UsualCounters(result)
    ranks: Counter[int] = Counter()  # of values that share their seconds, from 1
    found = []
    for series, worst, cpu in first.values():
        compared = usuals.compared(series, worst, cpu)
        ranks[id(compared)] += 1
        causes = []
        if not compared.is_usual:
            causes = _causes_of(
                worst.value_ns,
                compared.seconds,
                compared.that_apply,
                compared.span_ns,
                ranks[id(compared)],
            )
        found.append(
            Lateness(
                series=series,
                worst=worst,
                cpu=cpu,
                seconds=compared.seconds,
                counts=compared.counts,
                compared_ns=compared.usual_of_ns,
                causes=causes,
                trace=_trace_of(result, worst, cpu),
            )
        )
    return found


def cpu_of(series: Series, result: Result) -> int | None:
    """The CPU that a series was measured on; None where it is not known."""
    cpu = series.labels.get("cpu")
    return cpu if isinstance(cpu, int) else result.conditions.cpu


@dataclass(frozen=True)
class _Compared:
    """Some seconds, with their counters and the usual; `that_apply`: those that can make a
    thread late. `is_usual`: there is no cause, however short the value."""

    seconds: list[Interval]
    counts: dict[str, Count]
    that_apply: Mapping[str, Count]
    usual_of_ns: int
    span_ns: int
    is_usual: bool


class _UsualCounters:
    """The counters of seconds, compared with their usual. Many values share a second: each set of
    seconds is counted once."""

    def __init__(self, result: Result) -> None:
        self._result = result
        self._of_cpu: dict[int | None, list[Interval]] = {}
        for interval in result.intervals:
            self._of_cpu.setdefault(interval.cpu, []).append(interval)
        self._seconds = {
            cpu: [one for one in found if not one.whole and one.span_ns > 0]
            for cpu, found in self._of_cpu.items()
        }
        self._is_of_machine = set(self._of_cpu) <= {None}
        self._known: dict[tuple[int | None, bool, tuple[int, ...]], _Compared] = {}

    def compared(self, series: Series, worst: Worst, cpu: int | None) -> _Compared:
        """The seconds of a value of `cpu`, or of the machine where no other are known."""
        is_limited = is_limited_by_quota(series, self._result)
        of = None if self._is_of_machine else cpu
        begin_ns = worst.at_ns - max(worst.value_ns, 0)
        seconds = [
            one
            for one in self._seconds.get(of, [])
            if one.at_ns <= worst.at_ns and one.at_ns + one.span_ns >= begin_ns
        ]
        key = of, is_limited, tuple(map(id, seconds))
        if key not in self._known:
            self._known[key] = self._counted(seconds, of, is_limited)
        return self._known[key]

    def _counted(self, seconds: list[Interval], of: int | None, is_limited: bool) -> _Compared:
        intervals = self._of_cpu.get(of, [])
        counts = counts_of(intervals, seconds, of)
        # What an undisturbed system does not lose counts without anything to compare it with.
        lost = {
            name: Count(sum(one.counters[name] for one in seconds), 0, None, is_compared=False)
            for name in ("steal_ns", "throttled_ns", *_SLOWED)
            if seconds and all(name in one.counters for one in seconds)
        }
        that_apply = {
            name: one
            for name, one in (lost | counts).items()
            if is_limited or name not in _BANDWIDTH
        }
        span_ns = sum(one.span_ns for one in seconds)
        # Throttling is the one cause that a value can also be too short for.
        throttled = that_apply.get("throttled_ns")
        has_lost_time = throttled is not None and throttled.seen > 0
        return _Compared(
            seconds=seconds,
            counts=counts,
            that_apply=that_apply,
            usual_of_ns=compared_ns(intervals, seconds, of) if counts else 0,
            span_ns=span_ns,
            is_usual=not has_lost_time and not _causes_of(0, seconds, that_apply, span_ns),
        )


def is_limited_by_quota(series: Series, result: Result) -> bool:
    """Whether a CPU quota stops the threads of a series: they are time-shared, as far as is
    known."""
    policy = series.labels.get("policy", "run")
    return (result.conditions.policy if policy == "run" else policy) not in _NOT_LIMITED


def _trace_of(result: Result, worst: Worst, cpu: int | None) -> Trace | None:
    for one in result.traces:
        same_cpu = one.cpu is None or cpu is None or one.cpu == cpu
        if same_cpu and one.at_ns == worst.at_ns and one.value_ns == worst.value_ns:
            return one
    return None


def _causes_of(
    value_ns: int,
    seconds: list[Interval],
    counts: Mapping[str, Count],
    span_ns: int,
    rank: int = 1,
) -> list[Cause]:
    """The causes of a value; empty where none was seen. Those that only this second has come first,
    ordered by how much of the value they can explain."""
    found = [
        *_throttled(value_ns, counts, span_ns),
        *_steal(value_ns, counts, span_ns),
        *_heat(value_ns, counts, span_ns),
        *_interrupts(value_ns, seconds, counts, span_ns),
        *_rare(value_ns, counts, rank),
    ]
    is_explained = any(
        one.kind in ("throttled", "steal")
        and not one.constant_ns
        and one.most_ns >= _SHARE * value_ns
        for one in found
    )
    delay = counts.get("run_delay_ns")
    if (
        not is_explained
        and delay is not None
        and delay.excess >= _SHARE * value_ns
        and _is_beyond(delay)
    ):
        found.append(_cause("delay", delay, delay.excess, value_ns, is_time=True))
    return sorted(
        found, key=lambda one: (one.constant_ns > 0, -one.most_ns, _ORDER.index(one.kind))
    )


def _is_beyond(count: Count) -> bool:
    """Whether a count exceeds the usual by what that varies by; twice the usual where its spread is
    not known."""
    varies = count.expected if count.spread is None else _SPREADS * count.spread
    return count.excess > 0 and count.excess >= varies


def is_rare(events: float, expected: float) -> bool:
    """Whether the usual rate alone counts as many only by chance (Poisson)."""
    if events <= 0 or expected <= 0:
        return events > 0
    if expected > _MOST_SUMMED:
        from scipy import special

        return bool(special.gammainc(events, expected) < _CHANCE)
    if events <= expected:
        return False
    # The terms from `events` on, which fall; few need no scipy, whose import takes longer.
    term = math.exp(events * math.log(expected) - expected - math.lgamma(events + 1))
    tail = 0.0
    while term > _CHANCE * _NEGLIGIBLE:
        tail += term
        events += 1
        term *= expected / events
    return tail < _CHANCE


def _cause(
    kind: Kind,
    count: Count,
    most_ns: float,
    value_ns: int,
    *,
    is_time: bool = False,
    busiest: str = "",
) -> Cause:
    explained_ns = int(min(most_ns, value_ns))
    return Cause(kind, count.seen, count.expected, explained_ns, is_time, busiest)


def _lost(kind: Kind, count: Count, value_ns: int, span_ns: int, is_more: bool) -> Iterator[Cause]:
    """The cause in lost time, which an undisturbed system does not have; `is_more`: more than in
    the rest of the run."""
    if count.seen > 0 and count.seen >= _SHARE * value_ns:
        yield Cause(
            kind,
            count.seen,
            count.expected if count.is_compared else None,
            min(count.seen, value_ns),
            is_time=True,
            constant_ns=0 if is_more else round(count.expected * 1e9 / span_ns),
        )


def _throttled(value_ns: int, counts: Mapping[str, Count], span_ns: int) -> Iterator[Cause]:
    lost, times = counts.get("throttled_ns"), counts.get("throttled_count")
    if lost is not None and lost.seen > 0:
        is_more = _is_beyond(lost) and lost.excess >= _SHARE * value_ns
        each_ns = min(lost.seen, span_ns) / max(times.seen if times else 1, 1)
        if is_more or value_ns >= each_ns / _MOST_CPUS:
            yield from _lost("throttled", lost, value_ns, span_ns, is_more)
    elif times is not None and _is_beyond(times) and is_rare(times.seen, times.expected):
        yield _cause("throttled", times, value_ns, value_ns)


def _steal(value_ns: int, counts: Mapping[str, Count], span_ns: int) -> Iterator[Cause]:
    steal = counts.get("steal_ns")
    if steal is not None:
        is_more = _is_beyond(steal) and steal.excess >= _SHARE * value_ns
        is_more = is_more and is_rare(steal.seen / TICK_NS, steal.expected / TICK_NS)
        yield from _lost("steal", steal, value_ns, span_ns, is_more)


def _heat(value_ns: int, counts: Mapping[str, Count], span_ns: int) -> Iterator[Cause]:
    """The kernel counts a slow-down when it begins, and its time when it ends."""
    slowed, times = map(counts.get, _SLOWED)
    if slowed is not None and slowed.seen > 0:
        is_more = _is_beyond(slowed) and slowed.excess >= _SHARE * value_ns
        yield from _lost("heat", slowed, value_ns, span_ns, is_more)
    elif times is not None and times.seen > 0:
        usual = times.expected if times.is_compared else None
        yield Cause("heat", times.seen, usual, value_ns, is_time=False)


def _rare(value_ns: int, counts: Mapping[str, Count], rank: int) -> Iterator[Cause]:
    """An event makes one value late, so two make the two largest of their second at most."""
    for name, kind in _RARE.items():
        count = counts.get(name)
        if count is None or not _is_beyond(count) or not is_rare(count.seen, count.expected):
            continue
        most_ns = count.excess * _MOST_NS[kind]
        if most_ns >= _SHARE * value_ns and rank <= math.ceil(count.excess):
            yield _cause(kind, count, most_ns, value_ns)


def _interrupts(
    value_ns: int, seconds: list[Interval], counts: Mapping[str, Count], span_ns: int
) -> Iterator[Cause]:
    count = counts.get("interrupts_count")
    if count is None or count.excess < max(_FLOOD_PER_S * span_ns / 1e9, count.expected):
        return
    most_ns = count.excess * _MOST_NS["interrupts"]
    is_far = count.excess >= _SPREADS * max(count.spread or 0.0, count.expected**0.5)
    if is_far and most_ns >= _SHARE * value_ns:
        yield _cause("interrupts", count, most_ns, value_ns, busiest=_busiest(seconds, count))


def _busiest(seconds: list[Interval], count: Count) -> str:
    """The interrupt that makes at least half of those beyond the usual."""
    by_name: dict[str, int] = {}
    for one in seconds:
        if one.busiest:
            times = one.counters.get("busiest_count", 0)
            by_name[one.busiest] = by_name.get(one.busiest, 0) + times
    name = max(by_name, key=lambda key: by_name[key], default="")
    return name if name and by_name[name] >= count.excess / 2 else ""
