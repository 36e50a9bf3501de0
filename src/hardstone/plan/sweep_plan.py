"""Makes the plan of a sweep: what is measured before the points, and the first of each curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec

from hardstone.catalogue import Catalogue
from hardstone.expected_time import expected_ns
from hardstone.model import (
    Descriptor,
    Loads,
    ParamValue,
    Plan,
    PlannedTest,
    Register,
    Scalar,
    Sweep,
)
from hardstone.plan.make import make_plan
from hardstone.plan.params import Problems, fill_params
from hardstone.plan.sweep import Sweeper, own_time_ns
from hardstone.plan.sweep_check import MOST_POINTS, curve_count, points_of_curve
from hardstone.plan.sweep_command import sweep_words
from hardstone.plan.sweep_request import FAST_GRID, SweepRequest, SweepWish, read_request
from hardstone.plan.sweep_results import REALFAST, REALTIME
from hardstone.units import MAX_DURATION_NS, format_span, write_ns

# The cost of a switch and of a hand-over, for the cost model of the same run.
OPENING = ("THR-P-SLS", "SEM-P-SHF")
_FRAMES_MASSES, _FRAMES_STEP_NS, _FRAMES_S = 400, 1_000_000, 1
_REALTIME_POLICIES = ("fifo", "rr")


def make_sweep_plan(
    request: SweepRequest,
    register: Register,
    catalogue: Catalogue,
    facts: Mapping[str, Scalar],
    known_loads: Loads | None = None,
    others: Sequence[str] = (),
) -> Plan:
    """The plan for `request`, as far as it is known before the first result.

    Raises PlanError, which lists every problem, with `others`.
    """
    problems = Problems(others)
    wish = read_request(request, facts, problems)
    tests = {one.id: one for one in register.tests}
    params = _params(wish, tests.get(wish.test), problems)
    base = replace(
        request.base,
        tests=((*OPENING, REALTIME, REALFAST) if wish.test == REALTIME else (REALFAST,)),
        name=request.base.name or f"simulate {request.mode}",
        policy=_policy(wish.policies),
    )
    plan = make_plan(base, register, catalogue, facts, known_loads, problems.lines)
    timed = {one.id: _Timed(one, catalogue) for one in register.tests}
    template = _template(wish, tests[wish.test], params)
    points = [
        timed[one.test].with_point(one, template) for one in plan.tests if one.test == wish.test
    ]
    sweep = _sweep(wish, has_fast=request.has_fast and wish.test == REALTIME)
    before = [one for one in plan.tests if one.test in OPENING]
    before += _frames(wish, plan, timed[REALFAST], problems) if wish.frames else []
    _check_points(plan, sweep)
    plan = msgspec.structs.replace(plan, sweep=sweep, tests=points)
    first = Sweeper(plan, register).first_points()
    plan = msgspec.structs.replace(
        plan, tests=[*before, *first], command=sweep_words(request, plan)
    )
    _check_time(plan, sweep, len(first))
    return plan


class _Timed:
    """A test with the time that it takes as the catalogue asks for it."""

    def __init__(self, test: Descriptor, catalogue: Catalogue) -> None:
        self.test = test
        self._entry = catalogue.entry(test.id, test.default_samples, test.default_duration_ns)

    def with_point(self, one: PlannedTest, template: PlannedTest) -> PlannedTest:
        """`template` under the condition of `one`, with the time to set that up."""
        usual_ns = expected_ns(self.test, self._entry, one.samples, one.duration_ns, one.params)
        own_ns = own_time_ns(self.test, template.params, template.samples)
        return msgspec.structs.replace(
            template,
            load=one.load,
            cpu_config=one.cpu_config,
            settings=one.settings,
            expected_ns=max(0, one.expected_ns - usual_ns) + own_ns,
            deadline_ns=min(one.deadline_ns + own_ns, MAX_DURATION_NS),
        )


def _template(
    wish: SweepWish, test: Descriptor, params: dict[str, ParamValue], **changed: ParamValue
) -> PlannedTest:
    """A point; a list has one value until its curve says which."""
    first = {
        spec.name: params[spec.name][:1]  # type: ignore[index]
        for spec in test.params
        if spec.is_list
    }
    samples = max(1, wish.span_ns // wish.release_ns) if test.id == REALTIME else 1
    return PlannedTest(
        test=test.id,
        params=params | first | changed,
        samples=samples,
        duration_ns=0,
        deadline_ns=0,
        expected_ns=0,
    )


def _params(wish: SweepWish, test: Descriptor | None, problems: Problems) -> dict[str, ParamValue]:
    if test is None:  # which make_plan says
        return {}
    given = {"step_ns": write_ns(wish.step_ns), "stiffness_per_s2": str(wish.stiffness_per_s2)}
    if wish.period_ns:
        given["period_ns"] = write_ns(wish.period_ns)
    if test.id == REALFAST and wish.span_ns:
        given["simulated_s"] = str(wish.span_ns // 10**9)
    return fill_params(test, given, problems)


def _policy(policies: Sequence[str]) -> str:
    """The policy of the other threads of a run: real-time where any point is."""
    beside = [one for one in policies if one in _REALTIME_POLICIES]
    return beside[0] if beside else "other" if set(policies) == {"other"} else "fifo"


def _sweep(wish: SweepWish, *, has_fast: bool) -> Sweep:
    fast = [one for one in FAST_GRID if one >= max(wish.threads)] if has_fast else []
    return Sweep(
        test=wish.test,
        solvers=wish.solvers,
        policies=wish.policies,
        threads=wish.threads,
        masses=wish.masses,
        masses_least=wish.least,
        masses_most=wish.most,
        points_most=wish.points,
        within_ns=wish.within_ns,
        block_steps=wish.blocks,
        frames=wish.frames,
        fast_masses=fast,
    )


def _frames(wish: SweepWish, plan: Plan, timed: _Timed, problems: Problems) -> list[PlannedTest]:
    """One point that keeps pictures of the state, under the first condition. With long steps
    a tire of many masses cannot carry its weight and ends flat: the step is a short one, unless
    one was asked for."""
    step_ns = wish.step_ns if wish.has_own_step else _FRAMES_STEP_NS
    given = {
        "masses": str(wish.masses[0] if len(wish.masses) == 1 else _FRAMES_MASSES),
        "threads": "1",
        "solver": "barrier",
        "step_ns": write_ns(step_ns),
        "stiffness_per_s2": str(wish.stiffness_per_s2),
        "simulated_s": str(_FRAMES_S),
        "frames": str(wish.frames),
    }
    params = fill_params(timed.test, given, problems)
    first = next(one for one in plan.tests if one.test == REALFAST)
    return [timed.with_point(first, _template(wish, timed.test, params))]


def _check_points(plan: Plan, sweep: Sweep) -> None:
    curves, points = curve_count(plan, sweep), points_of_curve(sweep)
    if curves * points > MOST_POINTS:
        problems = Problems()
        cause = f"the sweep has {curves} curves of up to {points} points"
        problems.add(cause, f"ask for at most {MOST_POINTS} points: fewer threads, loads or sizes")
        problems.raise_if_any()


def _check_time(plan: Plan, sweep: Sweep, curves: int) -> None:
    problems = Problems()
    needed_ns = sum(one.expected_ns for one in plan.tests)
    if sweep.within_ns and needed_ns > sweep.within_ns:
        cause = f"--within: one point of each of {curves} curves takes {format_span(needed_ns)}"
        problems.add(cause, "give more time, or fewer threads, policies or loads")
    problems.raise_if_any()
