"""What must hold of the sweep in a plan: one that is resumed comes from a file."""

from __future__ import annotations

from hardstone.model import Plan, Sweep
from hardstone.plan.sweep_points import STEP
from hardstone.plan.sweep_results import SIMULATIONS

MOST_POINTS = 8_000  # of a sweep: a document holds twice as many


def checked_sweep(plan: Plan) -> Sweep:
    """The sweep of a plan; ValueError where it has none, or one that would not end."""
    sweep = plan.sweep
    if sweep is None or sweep.test not in SIMULATIONS:
        raise ValueError("the plan has no sweep")
    smallest = min([sweep.masses_least, *sweep.masses])
    if smallest < STEP or sweep.masses_least > sweep.masses_most:
        raise ValueError("the plan has sizes that cannot be")
    if curve_count(plan, sweep) * points_of_curve(sweep) > MOST_POINTS or sweep.points_most < 1:
        raise ValueError("the plan has more points than a sweep")
    return sweep


def curve_count(plan: Plan, sweep: Sweep) -> int:
    """How many curves it has."""
    conditions = len(plan.loads) * len(plan.cpu_configs)
    return conditions * len(sweep.policies) * len(sweep.solvers) * len(sweep.threads)


def points_of_curve(sweep: Sweep) -> int:
    """How many points a curve has, at most."""
    return len(sweep.masses) or sweep.points_most
