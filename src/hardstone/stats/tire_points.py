"""SIM-S-RT and SIM-P-RF: each measured point of (masses, threads, solver, policy).

The documents are untrusted: a figure that cannot be is left out, and `problems` says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
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
    OUT_OF_STEP,
    PAUSED,
    REAL_FAST,
    REAL_TIME,
    STEP_TIME,
    TESTS,
    TOTAL_TIME,
)
from hardstone.stats.tire_variants import Variant, counted_of, requested_of, timed_of

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
