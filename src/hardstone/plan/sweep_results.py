"""What the results of a sweep say of its curves: sizes, misses, and why one ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hardstone.model import ParamValue, PlannedTest, Result, Series
from hardstone.plan.sweep_points import Point

REALTIME, REALFAST = "SIM-S-RT", "SIM-P-RF"
SIMULATIONS = (REALTIME, REALFAST)
_MISSED, _SIMULATION = "missed", "simulation"
_UNCOUNTED = "its missed steps were not counted"
_MOST_FAILURES = 2


class Curve(NamedTuple):
    """What all points of a curve have in common."""

    test: str
    solver: str
    policy: str
    threads: int
    load: str
    cpu_config: str


@dataclass
class Found:
    """The points of a curve, in the order in which they were measured; why no more can be."""

    points: list[Point] = field(default_factory=list)
    failures: int = 0
    ended: str | None = None


def curve_of(one: Result | PlannedTest) -> Curve | None:
    """The curve that a result, or a planned test, is a point of; None where it is of none."""
    if one.test not in SIMULATIONS or single(one.params.get("frames")):
        return None
    where = one.conditions if isinstance(one, Result) else one
    solver, policy = single(one.params.get("solver")), single(one.params.get("policy"))
    threads = single(one.params.get("threads"))
    if not isinstance(threads, int) or not isinstance(solver, str) or not isinstance(policy, str):
        return None
    load, config = where.load or "none", where.cpu_config or "shared"
    return Curve(one.test, solver, policy, threads, load, config)


def masses_of(one: Result | PlannedTest) -> int:
    """The number of masses of a point; 0 where it does not say."""
    masses = single(one.params.get("masses"))
    return masses if isinstance(masses, int) else 0


def single(value: ParamValue | None) -> int | str | None:
    """The value of a parameter, or of a list of one; None for a longer one."""
    if isinstance(value, list):
        return value[0] if len(value) == 1 else None
    return value


def is_whole(result: Result) -> bool:
    """Whether the point was measured, or refused, to its end."""
    return result.complete and not result.interrupted and result.status != "skipped"


def read_results(results: Iterable[Result]) -> dict[Curve, Found]:
    """The points of each curve that has any."""
    found: dict[Curve, Found] = {}
    for result in results:
        curve = curve_of(result)
        if curve is not None and result.status != "skipped":
            _take(found.setdefault(curve, Found()), result)
    return found


def _take(curve: Found, result: Result) -> None:
    """A probe that failed, or was cut off, has a second chance; a refusal ends the curve. A
    deadline that nobody counted is not one that held."""
    missed = missed_of(result.series) if result.test == REALTIME else 0
    if result.status == "measured" and is_whole(result) and missed is not None:
        is_beyond = missed > 0 and 2 * missed >= _released_of(result)
        curve.points.append(Point(masses_of(result), missed > 0, is_beyond))
        return
    curve.failures += 1
    if is_whole(result) or curve.failures >= _MOST_FAILURES:
        uncounted = result.status == "measured" and result.complete
        reason = result.reason or (_UNCOUNTED if uncounted else "no reason given")
        curve.ended = f"{result.status} at {masses_of(result)} masses: {reason}"


def _released_of(result: Result) -> float:
    """Steps that were released; without end where that is not told."""
    for event in result.events:
        count = event.data.get("released_count")
        if event.name == _SIMULATION and isinstance(count, int):
            return count
    return float("inf")


def missed_of(series: Sequence[Series]) -> int | None:
    """Steps that missed their deadline; None where they were not counted."""
    counts = [one.max for one in series if one.name == _MISSED and one.max is not None]
    return max(counts, default=None)
