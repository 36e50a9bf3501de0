"""SIM-S-RT and SIM-P-RF: each measured point of (masses, threads, solver, policy).

The documents are untrusted: a figure that cannot be is left out, and `problems` says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import NamedTuple

import msgspec

from hardstone.model import DataValue, Result, RunDocument, Series
from hardstone.stats.conditions import condition_of
from hardstone.stats.tire_counts import (
    Counts,
    Deadlines,
    StepTime,
    Total,
    Work,
    count_of,
    step_time_of,
    total_of,
)
from hardstone.stats.tire_names import (
    DELAYED,
    NAME_CHARACTERS,
    REAL_TIME,
    SIMULATION,
    STEP_TIME,
    TESTS,
    TOTAL_TIME,
)

MOST_POINTS = 8192
MOST_MASSES = 4_000_000
MOST_THREADS = 256
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


class Point(msgspec.Struct, kw_only=True, frozen=True):
    """One variant of one result. None: not known, or it does not exist.

    `is_whole`: measured to its end. `is_delayed`: a step was made late on purpose, so its misses
    say nothing about the system. `deadlines` are those of SIM-S-RT, `total` is that of SIM-P-RF.
    `result` is the place of the result in the document.
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
    status: str
    reason: str | None
    remedy: str | None
    command: str | None
    is_whole: bool
    is_delayed: bool
    is_realtime: bool | None
    result: int
    deadlines: Deadlines | None = None
    step_time: StepTime | None = None
    total: Total | None = None
    work: Work = Work()
    problems: tuple[str, ...] = ()

    @property
    def curve(self) -> Curve:
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


class _Key(NamedTuple):
    masses: int
    threads: int
    solver: str
    policy: str


def _of_result(result: Result, number: int) -> Iterator[Point]:
    counted = _counted(result)
    timed = _timed(result)
    keys = list(dict.fromkeys([*timed, *counted]))
    if not keys:
        keys = list(_requested(result))
    for key in keys:
        yield _point(result, number, key, timed.get(key, {}), counted.get(key, {}))


def _counted(result: Result) -> dict[_Key, dict[str, DataValue]]:
    """The data of the events `simulation`; counts of one variant that was resumed are added up."""
    found: dict[_Key, dict[str, DataValue]] = {}
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


def _timed(result: Result) -> dict[_Key, dict[str, Series]]:
    found: dict[_Key, dict[str, Series]] = {}
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


def _requested(result: Result) -> Iterator[_Key]:
    """The variants that a result without values was asked for."""
    params = result.params
    lists = [params.get(name) for name in ("masses", "threads", "solver", "policy")]
    choices = [one if isinstance(one, list) else [one] for one in lists]
    real_policy = result.conditions.policy or "run"
    for masses, threads, solver, policy in islice(product(*choices), 256):
        key = _key(masses, threads, solver, real_policy if policy == "run" else policy)
        if key is not None:
            yield key


def _key(masses: object, threads: object, solver: object, policy: object) -> _Key | None:
    """None where these are not those of a simulation."""
    mass_count, thread_count = _whole(masses), _whole(threads)
    if mass_count is None or not 0 < mass_count <= MOST_MASSES:
        return None
    if thread_count is None or not 0 < thread_count <= MOST_THREADS:
        return None
    if not isinstance(solver, str) or not isinstance(policy, str) or not solver or not policy:
        return None
    return _Key(mass_count, thread_count, solver[:NAME_CHARACTERS], policy[:NAME_CHARACTERS])


def _whole(value: object) -> int | None:
    """A label may be text: "400"."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 12:
        return int(value)
    return value if isinstance(value, int) else None


def _point(
    result: Result,
    number: int,
    key: _Key,
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
        status=result.status,
        reason=result.reason,
        remedy=result.remedy,
        command=result.command,
        is_whole=result.status == "measured" and result.complete and not result.interrupted,
        is_delayed=any(event.name == DELAYED for event in result.events),
        is_realtime=result.conditions.realtime,
        result=number,
        deadlines=counts.deadlines() if result.test == REAL_TIME else None,
        step_time=step_time_of(series.get(STEP_TIME)),
        total=total_of(series.get(TOTAL_TIME)),
        work=counts.work(),
        problems=tuple(counts.problems),
    )


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
