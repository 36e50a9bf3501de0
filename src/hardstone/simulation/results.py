"""Results of the tire: their names, variants with their counts, and each measured point of
(masses, threads, solver, policy).

Where two sources of one count contradict each other, the larger count of missed steps holds.

The documents are untrusted: a figure that cannot be is left out, and `problems` says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import NamedTuple

import msgspec

from hardstone import event_names
from hardstone.errors import InputError
from hardstone.model import DataValue, Result, RunDocument, Series
from hardstone.stats.conditions import condition_of
from hardstone.stats.quantiles import is_printable, quantile
from hardstone.units import whole_number

REAL_TIME, REAL_FAST = TESTS = event_names.TIRE_TESTS
MISSED = "missed"
LATENESS = "lateness"
STEP_TIME = "step_time"
TOTAL_TIME = "total_time"
SIMULATION, COSTS = event_names.TIRE
DELAYED = "delayed_on_purpose"
PAUSED = "real_fast_paused"  # the only thread did not have the CPU
OUT_OF_STEP = "simulation_out_of_step"  # one thread far ahead, which ended it
NAME_CHARACTERS = 32  # of a solver, a policy and a code, as shown


_MOST_COUNT = 2**53


class Deadlines(msgspec.Struct, kw_only=True, frozen=True):
    """Steps of SIM-S-RT: `missed_count` of `released_count` were late or not finished.

    `lateness_max_ns` is that of the steps whose end is known. None: not known, or it does not
    exist. `first_missed_count` counts from 1.
    """

    released_count: int | None
    missed_count: int | None
    first_missed_count: int | None
    lateness_max_ns: int | None


class StepTime(msgspec.Struct, kw_only=True, frozen=True):
    """From the begin of a step's first thread to the end of its last one.

    `p99_ns` is given where at least 10 values lie beyond it.
    """

    count: int
    mean_ns: float
    p99_ns: int | None
    max_ns: int


class Total(msgspec.Struct, kw_only=True, frozen=True):
    """The time of a whole simulation of SIM-P-RF, over its repeats."""

    repeats_count: int
    mean_ns: float
    min_ns: int
    max_ns: int


class Work(msgspec.Struct, kw_only=True, frozen=True):
    """What all threads of a variant did together. None: not known."""

    steps_count: int | None = None
    cpu_ns: int | None = None
    voluntary_count: int | None = None
    involuntary_count: int | None = None
    operations_count: int | None = None
    blocked_count: int | None = None
    cpus_count: int | None = None
    code: str | None = None


class Counts:
    """The counts of one variant, from its event and its series."""

    def __init__(self, series: Mapping[str, Series], data: Mapping[str, DataValue]) -> None:
        self._series, self._data = series, data
        self.problems: list[str] = []
        self._released = self._get("released_count")
        self._missed = self._largest_missed()

    def deadlines(self) -> Deadlines:
        """Its released, missed and late steps."""
        late = self._series.get(LATENESS)
        first = self._get("first_missed_count")
        return Deadlines(
            released_count=self._released,
            missed_count=self._missed,
            first_missed_count=first if self._missed and first else None,
            lateness_max_ns=late.max if late and late.max is not None and late.max >= 0 else None,
        )

    def work(self) -> Work:
        """What its threads did, without counts that contradict each other."""
        operations = self._get("semaphore_operations_count")
        blocked = self._get("semaphore_blocked_count")
        if operations is not None and blocked is not None and blocked > operations:
            self._odd(f"{blocked} of {operations} semaphore operations blocked")
            operations = blocked = None
        code = self._data.get("code")
        return Work(
            steps_count=self._get("steps_count"),
            cpu_ns=self._get("cpu_ns"),
            voluntary_count=self._get("voluntary_count"),
            involuntary_count=self._get("involuntary_count"),
            operations_count=operations,
            blocked_count=blocked,
            cpus_count=self._get("cpus_count"),
            code=code[:NAME_CHARACTERS] if isinstance(code, str) else None,
        )

    def _largest_missed(self) -> int | None:
        """The largest of all counts of missed steps, so that a contradiction never flatters."""
        series, late = self._series.get(MISSED), self._series.get(LATENESS)
        said = {
            "its event": self._get("missed_count"),
            "its series": _sum_of(series) if series else None,
        }
        known = {name: one for name, one in said.items() if one is not None}
        if len(set(known.values())) > 1:
            self._odd("missed steps: " + ", ".join(f"{n} by {who}" for who, n in known.items()))
        if late and late.count > max(known.values(), default=0):
            self._odd(f"{late.count} late steps, but fewer were counted as missed")
            known["its lateness"] = late.count
        missed = max(known.values(), default=None)
        if missed is not None and self._released is not None and missed > self._released:
            self._odd(f"{missed} missed steps of {self._released} released")
            self._released = None
        return missed

    def _get(self, name: str) -> int | None:
        if name not in self._data:
            return None
        value = count_of(self._data[name])
        if value is None:
            self._odd(f"{name} is no count")
        return value

    def _odd(self, text: str) -> None:
        if text not in self.problems:
            self.problems.append(text)


def step_time_of(series: Series | None) -> StepTime | None:
    """None without values, and where they cannot be durations."""
    if series is None or not _has_durations(series):
        return None
    return StepTime(
        count=series.count,
        mean_ns=series.mean or 0.0,
        p99_ns=_p99(series),
        max_ns=series.max or 0,
    )


def total_of(series: Series | None) -> Total | None:
    """None without values, and where they cannot be durations."""
    if series is None or not _has_durations(series) or not series.mean:
        return None
    return Total(
        repeats_count=series.count,
        mean_ns=series.mean,
        min_ns=series.min or 0,
        max_ns=series.max or 0,
    )


def _has_durations(series: Series) -> bool:
    low, mean, high = series.min, series.mean, series.max
    if series.count <= 0 or low is None or mean is None or high is None:
        return False
    return 0 <= low <= mean * (1 + 1e-9) and mean <= high * (1 + 1e-9)


def _p99(series: Series) -> int | None:
    if not is_printable(0.99, series.count):
        return None
    try:
        found = quantile(series.histogram, 0.99)
    except InputError:  # the histogram is damaged; the top of a report says so
        return None
    if found is None or found.value is None or series.max is None:
        return None
    return min(found.value, series.max)


def _sum_of(series: Series) -> int | None:
    """The sum of all values; of a measurement that was resumed each part has one."""
    if series.count <= 0 or series.mean is None or series.min is None or series.min < 0:
        return None
    total = series.mean * series.count
    return round(total) if 0 <= total < _MOST_COUNT else None


def count_of(value: DataValue) -> int | None:
    """A count that can be; None for everything else."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_COUNT:
        return value
    return None


MOST_MASSES = 4_000_000
MOST_THREADS = 256
_MOST_VARIANTS = 256


class Variant(NamedTuple):
    masses: int
    threads: int
    solver: str
    policy: str


def counted_of(result: Result) -> dict[Variant, dict[str, DataValue]]:
    """The data of the events `simulation`; counts of one variant that was resumed are added up."""
    found: dict[Variant, dict[str, DataValue]] = {}
    for event in result.events:
        if event.name != SIMULATION:
            continue
        data = event.data
        key = _key(
            data.get("masses_count"),
            data.get("threads_count"),
            data.get("solver"),
            data.get("policy"),
        )
        if key is None:
            continue
        known = found.get(key)
        found[key] = dict(data) if known is None else _added(known, data)
    return found


def _added(one: Mapping[str, DataValue], other: Mapping[str, DataValue]) -> dict[str, DataValue]:
    """Sums of the counts of both; what one of them does not know, the sum does not."""
    summed: dict[str, DataValue] = {}
    for name in one.keys() & other.keys():
        first, second = count_of(one[name]), count_of(other[name])
        if name in ("masses_count", "threads_count", "cpus_count") or first is None:
            summed[name] = one[name]
        elif second is not None and name != "first_missed_count":
            summed[name] = first + second
    return summed


def timed_of(result: Result) -> dict[Variant, dict[str, Series]]:
    """The series of each variant by their names."""
    found: dict[Variant, dict[str, Series]] = {}
    for series in result.series:
        labels = series.labels
        key = _key(
            labels.get("masses"),
            labels.get("threads"),
            labels.get("solver"),
            labels.get("policy"),
        )
        if key is not None:
            found.setdefault(key, {}).setdefault(series.name, series)
    return found


def requested_of(result: Result) -> Iterator[Variant]:
    """The variants that a result without values was asked for."""
    params = result.params
    lists = [params.get(name) for name in ("masses", "threads", "solver", "policy")]
    choices = [one if isinstance(one, list) else [one] for one in lists]
    real_policy = result.conditions.policy or "run"
    for masses, threads, solver, policy in islice(product(*choices), _MOST_VARIANTS):
        key = _key(masses, threads, solver, real_policy if policy == "run" else policy)
        if key is not None:
            yield key


def _key(masses: object, threads: object, solver: object, policy: object) -> Variant | None:
    """None where these are not those of a simulation."""
    mass_count, thread_count = _whole(masses), _whole(threads)
    if mass_count is None or not 0 < mass_count <= MOST_MASSES:
        return None
    if thread_count is None or not 0 < thread_count <= MOST_THREADS:
        return None
    if not isinstance(solver, str) or not isinstance(policy, str) or not solver or not policy:
        return None
    return Variant(mass_count, thread_count, solver[:NAME_CHARACTERS], policy[:NAME_CHARACTERS])


def _whole(value: object) -> int | None:
    """A label may be text: "400"."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return whole_number(value)
    return value if isinstance(value, int) else None


MOST_POINTS = 8192
_DEFAULT_STEP_NS = 10_000_000


class Curve(NamedTuple):
    """What the points of one curve over the masses have in common."""

    test: str
    solver: str
    policy: str
    threads: int
    load: str
    cpu_config: str
    preemption: str
    step_ns: int
    period_ns: int
    simulated_s: int


class Point(msgspec.Struct, kw_only=True, frozen=True):
    """One variant of one result. None: not known, or it does not exist.

    `is_whole`: measured to its end. `is_delayed`: a step was made late on purpose, so its misses
    say nothing about the system. `simulated_s` is that of SIM-P-RF, 0 for SIM-S-RT. `has_frames`:
    it was asked for pictures. `paused_ns`: the only thread of SIM-P-RF did not have the CPU, by
    real-time throttling or other work. `deadlines` are those of SIM-S-RT, `total` is that of
    SIM-P-RF. `result` is the place of the result in the document.
    """

    test: str
    masses: int
    threads: int
    solver: str
    policy: str
    load: str
    cpu_config: str
    preemption: str
    step_ns: int
    period_ns: int
    simulated_s: int
    status: str
    reason: str | None
    remedy: str | None
    command: str | None
    is_whole: bool
    is_delayed: bool
    is_realtime: bool | None
    has_frames: bool
    paused_ns: int | None
    result: int
    deadlines: Deadlines | None = None
    step_time: StepTime | None = None
    total: Total | None = None
    work: Work = Work()
    problems: tuple[str, ...] = ()

    @property
    def curve(self) -> Curve:
        """The curve that it belongs to."""
        return Curve(
            test=self.test,
            solver=self.solver,
            policy=self.policy,
            threads=self.threads,
            load=self.load,
            cpu_config=self.cpu_config,
            preemption=self.preemption,
            step_ns=self.step_ns,
            period_ns=self.period_ns,
            simulated_s=self.simulated_s,
        )

    @property
    def is_measured(self) -> bool:
        """Whether anything was counted or timed."""
        is_counted = self.deadlines is not None and self.deadlines.missed_count is not None
        return is_counted or self.total is not None or self.step_time is not None


def has_tire(document: RunDocument) -> bool:
    """Whether a document has any result of the tire."""
    return any(one.test in TESTS for one in document.results)


def points_of(document: RunDocument) -> list[Point]:
    """All points, in the order of the results; never raises, whatever the document holds."""
    found = (
        point
        for number, result in enumerate(document.results)
        if result.test in TESTS
        for point in _of_result(result, number)
    )
    return list(islice(found, MOST_POINTS))


def _of_result(result: Result, number: int) -> Iterator[Point]:
    counted = counted_of(result)
    timed = timed_of(result)
    keys = list(dict.fromkeys([*timed, *counted]))
    if not keys:
        keys = list(requested_of(result))
    for key in keys:
        yield _point(result, number, key, timed.get(key, {}), counted.get(key, {}))


def _point(
    result: Result,
    number: int,
    key: Variant,
    series: Mapping[str, Series],
    data: Mapping[str, DataValue],
) -> Point:
    where = condition_of(result)
    step_ns = _param(result, "step_ns") or _DEFAULT_STEP_NS
    counts = Counts(series, data)
    return Point(
        test=result.test,
        masses=key.masses,
        threads=key.threads,
        solver=key.solver,
        policy=key.policy,
        load=where.load,
        cpu_config=where.cpu_config,
        preemption=where.preemption,
        step_ns=step_ns,
        period_ns=(_param(result, "period_ns") or step_ns) if result.test == REAL_TIME else 0,
        simulated_s=(_param(result, "simulated_s") or 0) if result.test == REAL_FAST else 0,
        status=result.status,
        reason=result.reason,
        remedy=result.remedy,
        command=result.command,
        is_whole=_is_whole(result, key),
        is_delayed=any(event.name == DELAYED for event in result.events),
        is_realtime=result.conditions.realtime,
        has_frames=_param(result, "frames") is not None,
        paused_ns=_paused_ns(result, key),
        result=number,
        deadlines=counts.deadlines() if result.test == REAL_TIME else None,
        step_time=step_time_of(series.get(STEP_TIME)),
        total=total_of(series.get(TOTAL_TIME)),
        work=counts.work(),
        problems=tuple(counts.problems),
    )


def _is_whole(result: Result, key: Variant) -> bool:
    is_apart = any(
        event.name == OUT_OF_STEP
        and (event.data.get("masses_count"), event.data.get("threads_count")) == key[:2]
        for event in result.events
    )
    is_measured = result.status == "measured" and result.complete
    return is_measured and not result.interrupted and not is_apart


def _paused_ns(result: Result, key: Variant) -> int | None:
    """How long the only thread did not have the CPU, as far as that is known."""
    if result.test != REAL_FAST or key.threads != 1:
        return None
    lost = (
        count_of(event.data.get("lost_ns"))
        for event in result.events
        if event.name == PAUSED
        and event.data.get("masses_count") == key.masses
        and event.data.get("policy") == key.policy
    )
    return next(lost, None)


def _param(result: Result, name: str) -> int | None:
    value = result.params.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def by_curve(points: Iterable[Point]) -> dict[Curve, list[Point]]:
    """The points of each curve by their masses, the curves in the order of their first points."""
    found: dict[Curve, list[Point]] = {}
    for point in points:
        found.setdefault(point.curve, []).append(point)
    return {curve: sorted(own, key=lambda one: one.masses) for curve, own in found.items()}


def problems_of(points: Sequence[Point]) -> list[str]:
    """What contradicts itself in the points, each with the point it is of."""
    return [
        f"{one.test}, {one.masses} masses, {one.threads} threads, {one.policy}: {problem}"
        for one in points
        for problem in one.problems
    ]
