"""What the views of the tire have in common: names of curves, counts and shares in words."""

from __future__ import annotations

from math import ceil

from hardstone.model import RunDocument
from hardstone.present.quantile_text import share_text
from hardstone.present.wording import shorten
from hardstone.stats.conditions import Condition, names_in
from hardstone.stats.tire_bound import Bound, Cell
from hardstone.stats.tire_names import REAL_FAST
from hardstone.stats.tire_points import Curve
from hardstone.units import format_count, format_ns

NAME_CHARACTERS = 24
_NOISE = 1e-9  # of floating point, in the last digit shown
_USUAL = ((10_000_000, 60), (10_000_000, 0))
HELD = (
    "Held: the largest number of masses at which no step missed its deadline, there and at every "
    "smaller number measured. None of N steps missed does not mean that none ever will: it bounds "
    "the share of missed steps to about 3/N, at 95 % confidence (exact, Clopper and Pearson), if "
    "steps miss independently. Steps of one run depend on each other, so the true bound is higher."
)
BOUND = "bound: of the share missed, 95 %, if steps are independent; held is not never"


class CurveNames:
    """Short names for the curves of one document."""

    def __init__(self, document: RunDocument) -> None:
        self._names = names_in(document)

    def under(self, curve: Curve) -> str:
        """The condition, where the run has several: "heavy, shielded"."""
        condition = Condition(curve.load, curve.cpu_config, curve.preemption)
        return shorten(self._names.label(condition), NAME_CHARACTERS)

    def panel(self, curve: Curve) -> str:
        """Everything but the threads: "fifo, heavy", "fifo, barrier, step 1 ms"."""
        solver = "" if curve.solver == "semaphore" else curve.solver
        usual = curve.test != REAL_FAST or (curve.step_ns, curve.simulated_s) in _USUAL
        step = "" if usual else f"step {format_ns(curve.step_ns)}, {curve.simulated_s} s"
        parts = (curve.policy, solver, self.under(curve), step)
        return ", ".join(shorten(one, NAME_CHARACTERS) for one in parts if one)


def threads_text(count: int) -> str:
    return "1 thread" if count == 1 else f"{format_count(count)} threads"


def masses_text(count: int) -> str:
    return f"{format_count(count)} masses"


def steps_text(curve: Curve) -> str:
    """Step and, where it differs, the period: "step 10 ms", "step 1 ms every 2 ms"."""
    step = f"step {format_ns(curve.step_ns)}"
    is_real_time = curve.period_ns not in (0, curve.step_ns)
    return f"{step} every {format_ns(curve.period_ns)}" if is_real_time else step


def held_text(bound: Bound) -> str:
    """Without a miss above it, the largest measured is no limit of the system. A curve that was
    refused did not hold "none": it was not measured."""
    if bound.held is None:
        return "none" if bound.first_missed else _unknown(bound)
    return f"{'>= ' if bound.first_missed is None else ''}{format_count(bound.held.masses)}"


def first_missed_text(bound: Bound) -> str:
    if bound.first_missed is not None:
        return format_count(bound.first_missed.masses)
    return "none" if bound.held else "-"


def _unknown(bound: Bound) -> str:
    """Why no size is known to have held: the status of a curve that was not measured at all."""
    found = {point.status for cell in bound.cells for point in cell.points}
    return "none" if "measured" in found or len(found) != 1 else shorten(found.pop(), 11)


def missed_text(cell: Cell) -> str:
    """ "0 of 100"; without released steps only what is known."""
    missed = format_count(cell.missed_count)
    return f"{missed} of {format_count(cell.released_count)}" if cell.released_count else missed


def bound_text(cell: Cell) -> str:
    """The upper end of the share of missed steps, never rounded in favour of the system."""
    if cell.bound is None:
        return "-"
    return f"{'<' if cell.bound < 1 else '<='} {percent(cell.bound)}"


def percent(share: float) -> str:
    """A share rounded up: "3.0 %", "0.051 %"; small ones as "1 in 100 000"."""
    if share >= 0.1:
        return f"{min(ceil(100 * share - _NOISE), 100)} %"
    if share < 0.0001:
        return share_text(share) if share > 0 else "0"
    digits = 1 if share >= 0.01 else 2 if share >= 0.001 else 3
    scale: int = 10**digits
    return f"{ceil(100 * share * scale - _NOISE) / scale:.{digits}f} %"
