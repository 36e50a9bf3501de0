"""Which curves of a sweep are not known as well as they were to be, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hardstone.model import Result, Sweep
from hardstone.plan.sweep_points import boundary_of
from hardstone.plan.sweep_results import Curve, Found, read_results


def coarse_curves(
    sweep: Sweep, curves: Sequence[Curve], results: Iterable[Result]
) -> dict[Curve, str]:
    """The curves whose boundary is not known to a tenth, or that lack sizes of a grid, and why, in
    words. Those that ended early are none of them."""
    found = read_results(results)
    said = {curve: _why_coarse(sweep, found.get(curve, Found())) for curve in curves}
    return {curve: text for curve, text in said.items() if text}


def ended_curves(curves: Sequence[Curve], results: Iterable[Result]) -> dict[Curve, str]:
    """The curves that ended early, and why, in words."""
    found = read_results(results)
    ends = {curve: found[curve].ended for curve in curves if curve in found}
    return {curve: text for curve, text in ends.items() if text is not None}


def _why_coarse(sweep: Sweep, found: Found) -> str:
    if found.ended is not None:
        return ""
    if not found.points:
        return "not measured"
    return _of_grid(sweep, found) if sweep.masses else _of_search(sweep, found)


def _of_grid(sweep: Sweep, found: Found) -> str:
    left = set(sweep.masses) - {one.masses for one in found.points}
    return f"{len(left)} of {len(sweep.masses)} sizes were not measured" if left else ""


def _of_search(sweep: Sweep, found: Found) -> str:
    boundary = boundary_of(found.points)
    if boundary.missed is None:
        is_all = boundary.held == sweep.masses_most
        return "" if is_all else f"no miss up to {boundary.held} masses, more were not measured"
    if not boundary.is_coarse:
        return ""
    return f"the boundary is between {boundary.held} and {boundary.missed} masses"
