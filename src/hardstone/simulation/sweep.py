"""A sweep of the tire: which point is measured next, how long it takes, when the sweep ends.

The search doubles the size until one missed most of its deadlines, or two in succession missed
any, then bisects between the largest size that held, with all below it, and the smallest that
missed. One miss may be bad luck, one hold good luck: so the size that held is measured again, a
boundary above it (an island) is bisected too, and the neighbourhood is filled in.

Pure: plan, results and the time spent decide, so that a sweep that is resumed goes on as it would
have. Order: what tells most first, and there round by round, a point of each curve
in a round, so that drift of the machine falls on all curves alike. Within a round load by load:
measurements without load do not alternate with loaded ones, which leave dirty pages and heat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import msgspec

from hardstone.event_names import TIRE_TESTS
from hardstone.model import (
    Descriptor,
    ParamValue,
    Plan,
    PlannedTest,
    Register,
    Result,
    Series,
    Sweep,
)
from hardstone.plan.params import Problems, fill_params
from hardstone.units import MAX_DURATION_NS

STEP = 4  # sizes are multiples of it
_GAP_PERCENT = 10
# From which rank on a point adds little: what is left out first when time is short.
GROW, BISECT, AGAIN, ISLAND, AROUND = range(5)
_MOST_AGAIN = 3
# Of the boundary, in percent: below of the size that held, above of the one that missed.
_BELOW, _ABOVE = (90, 80, 95, 60), (110, 125, 150, 175)


class Point(NamedTuple):
    """A size that was measured. `is_beyond`: half of its deadlines were missed: no bad luck."""

    masses: int
    has_missed: bool
    is_beyond: bool = False


class Limits(NamedTuple):
    """Smallest and largest size, and the most points of a curve."""

    least: int
    most: int
    points: int


class NextSize(NamedTuple):
    """A size to measure. `is_again`: it was measured before, on purpose."""

    masses: int
    rank: int
    is_again: bool = False


class Boundary(NamedTuple):
    """`held`: the largest size without a miss below which none missed; `missed`: the smallest that
    did. None: there is none."""

    held: int | None
    missed: int | None

    @property
    def is_coarse(self) -> bool:
        """Whether more than a tenth lies between both."""
        both = self.held is not None and self.missed is not None
        return both and _middle(self.held or 0, self.missed or 0) is not None


def boundary_of(points: Sequence[Point]) -> Boundary:
    """The boundary of a curve: all sizes up to `held` that were measured held."""
    missed = min((one.masses for one in points if one.has_missed), default=None)
    sizes = {one.masses for one in points if missed is None or one.masses < missed}
    return Boundary(max(sizes, default=None), missed)


def next_size(points: Sequence[Point], limits: Limits) -> NextSize | None:
    """What tells most about a searched curve now; None once nothing is left to ask."""
    if len(points) >= limits.points:
        return None
    return next(_wishes(points, limits), None)


def next_of_grid(
    points: Sequence[Point], grid: Sequence[int], *, wants_again: bool
) -> NextSize | None:
    """The next size of a given grid; in the end the largest that held, again, if that is wanted."""
    counts = Counter(one.masses for one in points)
    for masses in grid:
        if not counts[masses]:
            return NextSize(masses, GROW)
    held = boundary_of(points).held
    again = held or min(grid, default=None)
    if wants_again and again is not None and counts[again] == 1:
        return NextSize(again, AGAIN, is_again=True)
    return None


def _wishes(points: Sequence[Point], limits: Limits) -> Iterator[NextSize]:
    has_missed: dict[int, bool] = {}
    for one in points:
        has_missed[one.masses] = has_missed.get(one.masses, False) or one.has_missed
    counts = Counter(one.masses for one in points)
    beyond = {one.masses for one in points if one.is_beyond}
    yield from _growth(has_missed, beyond, limits)
    held, missed = boundary_of(points)
    if held is not None and missed is not None:
        middle = _middle(held, missed)
        if middle is not None:
            yield NextSize(middle, BISECT)
    again = limits.least if held is None else held
    if counts[again] == 1:
        yield NextSize(again, AGAIN, is_again=True)
    yield from _island(has_missed, held)
    yield from _around(counts, Boundary(held, missed), limits)


def _growth(has_missed: dict[int, bool], beyond: Set[int], limits: Limits) -> Iterator[NextSize]:
    size, in_row = limits.least, 0
    while size in has_missed:
        in_row = in_row + 1 if has_missed[size] else 0
        if in_row == 2 or size in beyond or size >= limits.most:
            return
        size = min(2 * size, limits.most)
    yield NextSize(size, GROW)


def _island(has_missed: dict[int, bool], held: int | None) -> Iterator[NextSize]:
    """The boundary above the largest size of all that held, if one below it missed."""
    top = max((size for size, missed in has_missed.items() if not missed), default=None)
    if top is None or top == held:
        return
    above = min((size for size in has_missed if size > top), default=None)
    middle = None if above is None else _middle(top, above)
    if middle is not None:
        yield NextSize(middle, ISLAND)


def _around(counts: Counter[int], found: Boundary, limits: Limits) -> Iterator[NextSize]:
    """Sizes near the boundary by turns below and above it, then both sides of it again."""
    low = found.held
    high = found.missed or found.held
    for below, above in zip(_BELOW, _ABOVE, strict=True):
        sizes = [] if low is None else [low * below // 100]
        sizes += [] if high is None or found.missed is None else [high * above // 100]
        for size in (one // STEP * STEP for one in sizes):
            if limits.least <= size <= limits.most and not counts[size]:
                yield NextSize(size, AROUND)
    for count in range(1, _MOST_AGAIN):
        for again in (found.missed, found.held):
            if again is not None and counts[again] == count:
                yield NextSize(again, AROUND, is_again=True)


def _middle(held: int, missed: int) -> int | None:
    """A size between both; None where they are near enough."""
    gap = missed - held
    if gap <= STEP or 100 * gap <= _GAP_PERCENT * missed:
        return None
    return (held + gap // 2) // STEP * STEP


REALTIME, REALFAST = SIMULATIONS = TIRE_TESTS
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
class CurveState:
    """The points of a curve, in the order in which they were measured; why no more can be."""

    points: list[Point] = field(default_factory=list)
    failures: int = 0
    ended: str | None = None


def curve_of(one: Result | PlannedTest) -> Curve | None:
    """The curve that a result, or a planned test, is a point of; None where it is of none."""
    if one.test not in SIMULATIONS or single(one.params.get("frames")):
        return None
    if single(one.params.get("costs_only")):
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


def read_results(results: Iterable[Result]) -> dict[Curve, CurveState]:
    """The points of each curve that has any."""
    found: dict[Curve, CurveState] = {}
    for result in results:
        curve = curve_of(result)
        if curve is not None and result.status != "skipped":
            _take(found.setdefault(curve, CurveState()), result)
    return found


def _take(curve: CurveState, result: Result) -> None:
    """Adds a result to its curve. A probe that failed, or was cut off, has a second chance; a
    refusal ends the curve. Uncounted deadlines do not count as met."""
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
    """Steps that were released; infinite where that is not known."""
    for event in result.events:
        count = event.data.get("released_count")
        if event.name == "simulation" and isinstance(count, int):
            return count
    return float("inf")


def missed_of(series: Sequence[Series]) -> int | None:
    """Steps that missed their deadline; None where they were not counted."""
    counts = [one.max for one in series if one.name == "missed" and one.max is not None]
    return max(counts, default=None)


MOST_POINTS = 8_000  # of a sweep: a document holds twice as many


def _checked_sweep(plan: Plan) -> Sweep:
    """The sweep of a plan; ValueError where it has none, or one that would not end."""
    sweep = plan.sweep
    if sweep is None or sweep.test not in SIMULATIONS:
        raise ValueError("the plan has no sweep")
    smallest = min([sweep.masses_least, *sweep.masses])
    if smallest < STEP or sweep.masses_least > sweep.masses_most:
        raise ValueError("the plan has impossible sizes")
    if curve_count(plan, sweep) * points_of_curve(sweep) > MOST_POINTS or sweep.points_most < 1:
        raise ValueError("the plan has more points than a sweep may have")
    return sweep


def curve_count(plan: Plan, sweep: Sweep) -> int:
    """How many curves it has."""
    conditions = len(plan.loads) * len(plan.cpu_configs)
    return conditions * len(sweep.policies) * len(sweep.solvers) * len(sweep.threads)


def points_of_curve(sweep: Sweep) -> int:
    """How many points a curve has, at most."""
    return len(sweep.masses) or sweep.points_most


def coarse_curves(
    sweep: Sweep, curves: Sequence[Curve], results: Iterable[Result]
) -> dict[Curve, str]:
    """The curves whose boundary is not known to a tenth, or that lack sizes of a grid, and why, in
    words. Curves that ended early are left out."""
    found = read_results(results)
    said = {curve: _why_coarse(sweep, found.get(curve, CurveState())) for curve in curves}
    return {curve: text for curve, text in said.items() if text}


def ended_curves(curves: Sequence[Curve], results: Iterable[Result]) -> dict[Curve, str]:
    """The curves that ended early, and why, in words."""
    found = read_results(results)
    ends = {curve: found[curve].ended for curve in curves if curve in found}
    return {curve: text for curve, text in ends.items() if text is not None}


def _why_coarse(sweep: Sweep, found: CurveState) -> str:
    if found.ended is not None:
        return ""
    if not found.points:
        return "not measured"
    if sweep.masses:
        left = set(sweep.masses) - {one.masses for one in found.points}
        return f"{len(left)} of {len(sweep.masses)} sizes were not measured" if left else ""
    boundary = boundary_of(found.points)
    if boundary.missed is not None:
        between = f"the limit lies between {boundary.held} and {boundary.missed} masses"
        return between if boundary.is_coarse else ""
    if boundary.held == sweep.masses_most:
        return ""
    return f"no miss up to {boundary.held} masses; larger sizes were not measured"


_SECOND_NS = 1_000_000_000
_PATIENCE_NS = 20 * _SECOND_NS
_UNLIMITED_PATIENCE_NS = 600 * _SECOND_NS
# A mass and step of the solver on a machine that is not known yet.
_MASS_NS = {"semaphore": 150, "barrier": 20}
_ALONE_NS = 20  # one thread takes no semaphore
_FAST_SHARE = 4  # of the time of a sweep in real time at most one part in so many is for real-fast
_LEAST_PACE, _MOST_PACE = 0.2, 5.0


class Curves(NamedTuple):
    """The curves of a sweep, and those of the real-fast points at its end."""

    main: list[Curve]
    fast: list[Curve]


class _Candidate(NamedTuple):
    key: tuple[int, int, int, int]
    planned: PlannedTest


class Sweeper:
    """Chooses the points of a plan with a sweep."""

    def __init__(self, plan: Plan, register: Register) -> None:
        """`register` has the tests of the sweep. ValueError for a plan that is not of one."""
        self.sweep: Sweep = _checked_sweep(plan)
        self.curves = _curves(plan, self.sweep)
        self._tests = {one.id: one for one in register.tests}
        self._conditions = list(product(plan.loads, plan.cpu_configs))
        self._templates = _templates(plan, self._tests, self.sweep)
        if any((self.sweep.test, *where) not in self._templates for where in self._conditions):
            raise ValueError("the plan lacks a point of a condition")
        self._before_ns = {
            (one.test, one.load, one.cpu_config): one.expected_ns
            for one in plan.tests
            if curve_of(one) is None
        }

    def next_tests(self, results: Sequence[Result], spent_ns: int) -> list[PlannedTest]:
        """The next point, none once the sweep is over.

        `results` are all so far, which took `spent_ns`.
        """
        found = read_results(results)
        pace = self._pace(results, spent_ns)
        fast = self._candidates(self.curves.fast, found)
        left_ns = self._left(spent_ns)
        main = self._candidates(self.curves.main, found)
        tries = [(main, left_ns - self._reserved_ns(found, pace)), (fast, left_ns), (main, left_ns)]
        if any(curve in found for curve in self.curves.fast):  # the end has begun
            del tries[0]
        for candidates, room_ns in tries:
            for one in candidates:
                if not self._is_timed or pace * one.planned.expected_ns <= room_ns:
                    return [self._with_deadline(one.planned, left_ns)]
        return []

    def left_ns(self, results: Sequence[Result], spent_ns: int) -> int:
        """About how long the sweep still takes."""
        found = read_results(results)
        pace = self._pace(results, spent_ns)
        wanted_ns = 0
        for curve in (*self.curves.main, *self.curves.fast):
            count = self._points_left(curve, found.get(curve, CurveState()))
            one = self._planned(curve, NextSize(self._usual_masses(curve, found), AGAIN))
            wanted_ns += round(count * pace * one.expected_ns)
        return min(wanted_ns, max(0, self._left(spent_ns))) if self._is_timed else wanted_ns

    def first_points(self) -> list[PlannedTest]:
        """The first point of each curve."""
        candidates = self._candidates(self.curves.main, {})
        return [one.planned for one in candidates]

    @property
    def _is_timed(self) -> bool:
        return self.sweep.within_ns > 0

    def _left(self, spent_ns: int) -> int:
        return self.sweep.within_ns - spent_ns if self._is_timed else _UNLIMITED_PATIENCE_NS

    def _candidates(
        self, curves: Sequence[Curve], found: Mapping[Curve, CurveState]
    ) -> list[_Candidate]:
        candidates = []
        for place, curve in enumerate(curves):
            points = found.get(curve, CurveState())
            wish = self._wish(curve, points)
            if wish is None:
                continue
            where = self._conditions.index((curve.load, curve.cpu_config))
            key = (wish.rank, len(points.points) + points.failures, where, place)
            candidates.append(_Candidate(key, self._planned(curve, wish)))
        return sorted(candidates, key=lambda one: one.key)

    def _wish(self, curve: Curve, found: CurveState) -> NextSize | None:
        if found.ended is not None:
            return None
        sweep = self.sweep
        if curve.test != sweep.test:
            return next_of_grid(found.points, sweep.fast_masses, wants_again=False)
        if sweep.masses:
            wants_again = sweep.test == REALTIME and sweep.block_steps > 0
            return next_of_grid(found.points, sweep.masses, wants_again=wants_again)
        limits = Limits(sweep.masses_least, sweep.masses_most, sweep.points_most)
        return next_size(found.points, limits)

    def _planned(self, curve: Curve, wish: NextSize) -> PlannedTest:
        template = self._templates[curve.test, curve.load, curve.cpu_config]
        descriptor = self._tests[curve.test]
        given: dict[str, int | str] = {
            "masses": wish.masses,
            "threads": curve.threads,
            "solver": curve.solver,
            "policy": curve.policy,
            "block_steps": self.sweep.block_steps if self._keeps_blocks(curve, wish) else 0,
        }
        params = template.params | _as_declared(given, descriptor)
        own_ns = own_time_ns(descriptor, params, template.samples)
        set_up_ns = template.expected_ns - own_time_ns(
            descriptor, template.params, template.samples
        )
        return msgspec.structs.replace(
            template, params=params, expected_ns=max(0, set_up_ns) + own_ns
        )

    def _keeps_blocks(self, curve: Curve, wish: NextSize) -> bool:
        if curve.test != self.sweep.test:
            return False
        is_first = bool(self.sweep.masses) and wish.masses == self.sweep.masses[0]
        return wish.rank == AGAIN if self.sweep.test == REALTIME else is_first

    def _with_deadline(self, planned: PlannedTest, left_ns: int) -> PlannedTest:
        """A point that takes longer than the sweep has is ended by the probe."""
        deadline_ns = 2 * planned.expected_ns + max(left_ns, 0) + _PATIENCE_NS
        return msgspec.structs.replace(planned, deadline_ns=min(deadline_ns, MAX_DURATION_NS))

    def _pace(self, results: Sequence[Result], spent_ns: int) -> float:
        """How much longer points take than expected, from those so far."""
        expected_ns = sum(self._expected_ns(one) for one in results)
        if not expected_ns or not spent_ns:
            return 1.0
        return min(max(spent_ns / expected_ns, _LEAST_PACE), _MOST_PACE)

    def _expected_ns(self, result: Result) -> int:
        curve = curve_of(result)
        if curve in (*self.curves.main, *self.curves.fast) and curve is not None:
            return self._planned(curve, NextSize(masses_of(result), AGAIN)).expected_ns
        where = result.conditions
        key = (result.test, where.load or "none", where.cpu_config or "shared")
        return self._before_ns.get(key, 0)

    def _reserved_ns(self, found: Mapping[Curve, CurveState], pace: float) -> int:
        """Time that is kept for the real-fast points at the end."""
        wanted_ns = sum(
            self._planned(curve, NextSize(masses, AGAIN)).expected_ns
            for curve in self.curves.fast
            if found.get(curve, CurveState()).ended is None
            for masses in self.sweep.fast_masses
        )
        return min(round(pace * wanted_ns), self.sweep.within_ns // _FAST_SHARE)

    def _points_left(self, curve: Curve, found: CurveState) -> int:
        if self._wish(curve, found) is None:
            return 0
        done = len(found.points)
        if curve.test != self.sweep.test:
            return max(1, len(self.sweep.fast_masses) - done)
        return max(1, (len(self.sweep.masses) or self.sweep.points_most) - done)

    def _usual_masses(self, curve: Curve, found: Mapping[Curve, CurveState]) -> int:
        points = found.get(curve, CurveState()).points
        grid = self.sweep.fast_masses if curve.test != self.sweep.test else self.sweep.masses
        left = grid[len(points) :]
        if left:
            return sum(left) // len(left)
        return points[-1].masses if points else self.sweep.masses_least


def own_time_ns(descriptor: Descriptor, params: Mapping[str, ParamValue], samples: int) -> int:
    """The time of a point without that to set up its condition."""
    step_ns = _figure(params, "step_ns")
    if descriptor.id == REALTIME:
        return descriptor.setup_ns + samples * (_figure(params, "period_ns") or step_ns)
    steps = _figure(params, "simulated_s") * _SECOND_NS // max(step_ns, 1)
    mass_ns = _MASS_NS.get(str(single(params.get("solver"))), _MASS_NS["semaphore"])
    mass_ns = _ALONE_NS if _figure(params, "threads") == 1 else mass_ns
    return descriptor.setup_ns + max(samples, 1) * steps * _figure(params, "masses") * mass_ns


def _figure(params: Mapping[str, ParamValue], name: str) -> int:
    value = single(params.get(name))
    return value if isinstance(value, int) else 0


def _curves(plan: Plan, sweep: Sweep) -> Curves:
    conditions = product(plan.loads, plan.cpu_configs)
    parts = list(product(conditions, sweep.policies, sweep.solvers, sweep.threads))
    main, fast = (
        [Curve(test, solver, policy, threads, *where) for where, policy, solver, threads in parts]
        for test in (sweep.test, REALFAST)
    )
    return Curves(main, fast if sweep.test == REALTIME and sweep.fast_masses else [])


def _templates(
    plan: Plan, tests: Mapping[str, Descriptor], sweep: Sweep
) -> dict[tuple[str, str, str], PlannedTest]:
    """A planned test for each test and condition; points differ in its parameters."""
    found: dict[tuple[str, str, str], PlannedTest] = {}
    for one in plan.tests:
        if one.test == sweep.test and curve_of(one) is not None:
            found.setdefault((one.test, one.load, one.cpu_config), one)
    for (test, *where), one in list(found.items()):
        if test == REALTIME and REALFAST in tests and sweep.fast_masses:
            found[REALFAST, where[0], where[1]] = _as_fast(one, tests[test], tests[REALFAST])
    return found


def _as_fast(one: PlannedTest, realtime: Descriptor, realfast: Descriptor) -> PlannedTest:
    """A real-fast point with the step and the springs of a point in real time."""
    shared = {name: one.params[name] for name in ("step_ns", "stiffness_per_s2")}
    params = fill_params(realfast, {}, Problems()) | shared
    set_up_ns = one.expected_ns - own_time_ns(realtime, one.params, one.samples)
    return msgspec.structs.replace(
        one,
        test=REALFAST,
        params=params,
        samples=1,
        expected_ns=set_up_ns + own_time_ns(realfast, params, 1),
    )


def _as_declared(given: Mapping[str, int | str], test: Descriptor) -> dict[str, ParamValue]:
    """Values as the probe declares its parameters: a list of one where it takes a list."""
    declared = {spec.name: spec for spec in test.params}
    return {
        name: [value] if declared[name].is_list else value
        for name, value in given.items()
        if name in declared
    }
