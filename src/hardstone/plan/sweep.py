"""A sweep of the tire: which point is measured next, how long it takes, when the sweep ends.

Pure: plan, results and the time spent decide, so that a sweep that is resumed goes on as it would
have. Order: what tells most first (`sweep_points`), and there round by round, a point of each curve
in a round, so that drift of the machine falls on all curves alike. Within a round load by load:
measurements without load do not alternate with loaded ones, which leave dirty pages and heat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import msgspec

from hardstone.model import Descriptor, ParamValue, Plan, PlannedTest, Register, Result, Sweep
from hardstone.plan.params import Problems, fill_params
from hardstone.plan.sweep_check import checked_sweep
from hardstone.plan.sweep_points import (
    AGAIN,
    Limits,
    Wish,
    next_of_grid,
    next_size,
)
from hardstone.plan.sweep_results import (
    REALFAST,
    REALTIME,
    Curve,
    Found,
    curve_of,
    masses_of,
    read_results,
    single,
)
from hardstone.units import MAX_DURATION_NS

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
        self.sweep: Sweep = checked_sweep(plan)
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
            chosen = _first_that_fits(candidates, pace, room_ns if self._is_timed else None)
            if chosen is not None:
                return [self._with_deadline(chosen, left_ns)]
        return []

    def left_ns(self, results: Sequence[Result], spent_ns: int) -> int:
        """About how long the sweep still takes."""
        found = read_results(results)
        pace = self._pace(results, spent_ns)
        wanted_ns = 0
        for curve in (*self.curves.main, *self.curves.fast):
            count = self._points_left(curve, found.get(curve, Found()))
            one = self._planned(curve, Wish(self._usual_masses(curve, found), AGAIN))
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
        self, curves: Sequence[Curve], found: Mapping[Curve, Found]
    ) -> list[_Candidate]:
        candidates = []
        for place, curve in enumerate(curves):
            points = found.get(curve, Found())
            wish = self._wish(curve, points)
            if wish is None:
                continue
            where = self._conditions.index((curve.load, curve.cpu_config))
            key = (wish.rank, len(points.points) + points.failures, where, place)
            candidates.append(_Candidate(key, self._planned(curve, wish)))
        return sorted(candidates, key=lambda one: one.key)

    def _wish(self, curve: Curve, found: Found) -> Wish | None:
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

    def _planned(self, curve: Curve, wish: Wish) -> PlannedTest:
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

    def _keeps_blocks(self, curve: Curve, wish: Wish) -> bool:
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
            return self._planned(curve, Wish(masses_of(result), AGAIN)).expected_ns
        where = result.conditions
        key = (result.test, where.load or "none", where.cpu_config or "shared")
        return self._before_ns.get(key, 0)

    def _reserved_ns(self, found: Mapping[Curve, Found], pace: float) -> int:
        """Time that is kept for the real-fast points at the end."""
        wanted_ns = sum(
            self._planned(curve, Wish(masses, AGAIN)).expected_ns
            for curve in self.curves.fast
            if found.get(curve, Found()).ended is None
            for masses in self.sweep.fast_masses
        )
        return min(round(pace * wanted_ns), self.sweep.within_ns // _FAST_SHARE)

    def _points_left(self, curve: Curve, found: Found) -> int:
        if self._wish(curve, found) is None:
            return 0
        done = len(found.points)
        if curve.test != self.sweep.test:
            return max(1, len(self.sweep.fast_masses) - done)
        return max(1, (len(self.sweep.masses) or self.sweep.points_most) - done)

    def _usual_masses(self, curve: Curve, found: Mapping[Curve, Found]) -> int:
        points = found.get(curve, Found()).points
        grid = self.sweep.fast_masses if curve.test != self.sweep.test else self.sweep.masses
        left = grid[len(points) :]
        if left:
            return sum(left) // len(left)
        return points[-1].masses if points else self.sweep.masses_least


def own_time_ns(descriptor: Descriptor, params: Mapping[str, ParamValue], samples: int) -> int:
    """Time of a point without the setting up of its condition."""
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
    """For each test and condition a planned test, of which points differ in parameters."""
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


def _first_that_fits(
    candidates: Sequence[_Candidate], pace: float, left_ns: int | None
) -> PlannedTest | None:
    for one in candidates:
        if left_ns is None or pace * one.planned.expected_ns <= left_ns:
            return one.planned
    return None
