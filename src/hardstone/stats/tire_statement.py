""" "Real-time is not real-fast" (Garre et al. 2014), from the points of two sides.

A side is a policy or a kernel. Both sides are compared at the points that both measured: which one
simulates faster (SIM-P-RF), and which one misses fewer deadlines (SIM-S-RT). The point is the
statistical unit, since steps of one point depend on each other: each point gives one difference,
tested by the exact signed-rank test. What the points do not decide stays undecided, with what
would be needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from hardstone.stats.signed_rank import holm, signed_rank_p
from hardstone.stats.tire_bound import Bound, Cell, bounds_of
from hardstone.stats.tire_points import Point
from hardstone.stats.tire_speed import (
    ALPHA,
    Place,
    Speed,
    Which,
    needed_of_speed,
    speed_of,
    thinned,
    undecided,
    with_faster,
)

Conclusion = Literal["faster misses more", "faster misses fewer", "undecided"]


class Side(msgspec.Struct, kw_only=True, frozen=True):
    """What is compared: a policy, or a kernel."""

    label: str
    points: list[Point]


class Misses(msgspec.Struct, kw_only=True, frozen=True):
    """Missed steps of both sides at `places` of SIM-S-RT; `differing` of them differ.

    `more_on_first`: points at which the first side missed more.
    """

    places: list[Place]
    missed: tuple[int, int]
    released: tuple[int, int]
    differing: int
    more_on_first: int
    p: float
    p_adjusted: float
    fewer: Which | None


class HeldRow(msgspec.Struct, kw_only=True, frozen=True):
    """What both sides held with one number of threads; None: not measured."""

    solver: str
    threads: int
    first: Bound | None
    second: Bound | None


class Statement(msgspec.Struct, kw_only=True, frozen=True):
    """Two sides under one condition. `needed`: why it is undecided, and what would decide it."""

    under: tuple[str, str, str]
    first: str
    second: str
    speed: Speed | None
    misses: Misses | None
    held: list[HeldRow]
    conclusion: Conclusion
    needed: list[str]


def statement_of(first: Side, second: Side, under: tuple[str, str, str]) -> Statement:
    """Both sides beside each other; `under` are load, CPU configuration and preemption model."""
    speed = speed_of(first.points, second.points)
    bounds = bounds_of(first.points), bounds_of(second.points)
    return _concluded(
        Statement(
            under=under,
            first=first.label,
            second=second.label,
            speed=speed,
            misses=_misses(_cells(bounds[0]), _cells(bounds[1])),
            held=_held(*bounds),
            conclusion="undecided",
            needed=[],
        )
    )


def judged_together(found: Sequence[Statement]) -> list[Statement]:
    """The same statements with their p values adjusted for their number (Holm)."""
    speeds = holm([one.speed.p for one in found if one.speed])
    misses = holm([one.misses.p for one in found if one.misses])
    judged = []
    for one in found:
        speed, missed = one.speed, one.misses
        if speed:
            speed = with_faster(msgspec.structs.replace(speed, p_adjusted=speeds.pop(0)))
        if missed:
            missed = _with_fewer(msgspec.structs.replace(missed, p_adjusted=misses.pop(0)))
        judged.append(_concluded(msgspec.structs.replace(one, speed=speed, misses=missed)))
    return judged


def _cells(bounds: Iterable[Bound]) -> dict[Place, Cell]:
    """Cells of which every step was counted."""
    return {
        Place(
            solver=bound.curve.solver,
            threads=bound.curve.threads,
            masses=cell.masses,
            step_ns=bound.curve.step_ns,
            period_ns=bound.curve.period_ns,
            simulated_s=0,
        ): cell
        for bound in bounds
        for cell in bound.cells
        if cell.is_counted
    }


def _misses(first: dict[Place, Cell], second: dict[Place, Cell]) -> Misses | None:
    places = thinned([one for one in first if one in second])
    if not places:
        return None
    pairs = [(first[one], second[one]) for one in places]
    differences = [(b.share or 0.0) - (a.share or 0.0) for a, b in pairs]
    p = signed_rank_p(differences)
    return _with_fewer(
        Misses(
            places=places,
            missed=(sum(a.missed_count for a, _ in pairs), sum(b.missed_count for _, b in pairs)),
            released=(
                sum(a.released_count for a, _ in pairs),
                sum(b.released_count for _, b in pairs),
            ),
            differing=sum(map(bool, differences)),
            more_on_first=sum(one < 0 for one in differences),
            p=p,
            p_adjusted=p,
            fewer=None,
        )
    )


def _with_fewer(misses: Misses) -> Misses:
    """The side with fewer misses where the points decide it: most of them, and all together."""
    shares = [m / n for m, n in zip(misses.missed, misses.released, strict=True)]
    is_decided = misses.p_adjusted <= ALPHA and not _is_contrary(misses) and shares[0] != shares[1]
    fewer: Which | None = ("first" if shares[0] < shares[1] else "second") if is_decided else None
    return msgspec.structs.replace(misses, fewer=fewer)


def _is_contrary(misses: Misses) -> bool:
    """Whether most points say the opposite of all steps together."""
    (missed, other_missed), (released, other_released) = misses.missed, misses.released
    more_by_points = 2 * misses.more_on_first - misses.differing
    return more_by_points * (missed * other_released - other_missed * released) <= 0


def _held(first: Iterable[Bound], second: Iterable[Bound]) -> list[HeldRow]:
    """The curves of both sides by solver, threads, step and period."""
    found: dict[tuple[str, int, int, int], list[Bound | None]] = {}
    for side, bounds in enumerate((first, second)):
        for one in bounds:
            key = (one.curve.solver, one.curve.threads, one.curve.step_ns, one.curve.period_ns)
            found.setdefault(key, [None, None])[side] = one
    return [
        HeldRow(solver=key[0], threads=key[1], first=found[key][0], second=found[key][1])
        for key in sorted(found)
    ]


def _concluded(one: Statement) -> Statement:
    needed = [*needed_of_speed(one.speed), *_needed_of_misses(one.misses)]
    conclusion: Conclusion = "undecided"
    if one.speed and one.misses and one.speed.faster and one.misses.fewer:
        is_same = one.speed.faster == one.misses.fewer
        conclusion = "faster misses fewer" if is_same else "faster misses more"
    return msgspec.structs.replace(one, conclusion=conclusion, needed=needed)


def _needed_of_misses(misses: Misses | None) -> list[str]:
    if misses is None:
        return ["no point of SIM-S-RT was counted on both sides"]
    if misses.fewer:
        return []
    if misses.missed == (0, 0):
        return ["neither side missed a deadline at the common points: larger simulations would"]
    if misses.p_adjusted <= ALPHA and _is_contrary(misses):
        return ["one side missed more at most points, the other one more steps in all"]
    return [undecided("missed deadlines", misses.differing, misses.p_adjusted)]
