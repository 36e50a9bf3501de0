"""Why a curve of a sweep is not known as well as it was to be."""

from __future__ import annotations

from hardstone.model import Sweep
from hardstone.plan.sweep_points import boundary_of
from hardstone.plan.sweep_results import Found


def why_coarse(sweep: Sweep, found: Found) -> str:
    """In words; empty where the boundary is known to a tenth, or every size of a grid measured."""
    if found.ended is not None:
        return found.ended
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
