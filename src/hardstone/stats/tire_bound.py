"""The tire in real time: the largest simulation without a missed deadline, and the maps.

A curve has points of one solver, policy, thread count and condition over the masses. It *held* a
number of masses if all released steps there and at every smaller measured number met their
deadlines. That bounds the share of missed steps, and does not make it 0: none of N missed says
that fewer than about 3/N miss, at 95 % confidence, if steps miss independently.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

import msgspec

from hardstone.stats.miss_interval import share_high
from hardstone.stats.tire_names import REAL_TIME
from hardstone.stats.tire_points import Curve, Point, by_curve

CONFIDENCE = 0.95
MOST_CELLS = 2048  # of all maps together


class Cell(msgspec.Struct, kw_only=True, frozen=True):
    """All points of one curve at one number of masses.

    `is_counted`: every released step is known, so that it can hold. `bound` is the upper end of
    the share of missed steps at 95 %; None where the steps were not counted.
    """

    curve: Curve
    masses: int
    points: tuple[Point, ...]
    missed_count: int
    released_count: int
    is_counted: bool
    bound: float | None

    @property
    def has_missed(self) -> bool:
        return self.missed_count > 0

    @property
    def has_held(self) -> bool:
        return self.is_counted and self.missed_count == 0

    @property
    def share(self) -> float | None:
        """Missed steps of all released ones; None where these are not known."""
        return self.missed_count / self.released_count if self.released_count else None


class Bound(msgspec.Struct, kw_only=True, frozen=True):
    """What one curve held.

    `held`: the largest number of masses that held, with all smaller ones. `first_missed`: the
    smallest that missed. `islands`: those above it that missed none. `not_counted`: refused, cut
    off, or without a count of released steps.
    """

    curve: Curve
    cells: list[Cell]
    held: Cell | None
    first_missed: Cell | None
    islands: list[Cell]
    not_counted: list[Cell]

    @property
    def held_masses(self) -> int | None:
        return self.held.masses if self.held else None

    @property
    def first_missed_masses(self) -> int | None:
        return self.first_missed.masses if self.first_missed else None


def miss_bound(missed: int, released: int) -> float:
    """The upper end of the share of missed steps, at 95 % confidence: exact (Clopper and Pearson
    1934), one-sided. With none of N missed it is 1 - 0.05^(1/N), about 3/N.

    ValueError unless 0 <= missed <= released and a step was released.
    """
    return share_high(missed, released, 1 - CONFIDENCE)


def bounds_of(points: Iterable[Point]) -> list[Bound]:
    """What each curve of SIM-S-RT held, in the order of the points."""
    own = [one for one in points if one.test == REAL_TIME and not one.is_delayed]
    return [_bound(curve, cells_of(curve, found)) for curve, found in by_curve(own).items()]


def cells_of(curve: Curve, points: Sequence[Point]) -> list[Cell]:
    """One cell for each number of masses, ascending; points measured again share one."""
    ordered = sorted(points, key=lambda one: one.masses)
    return [
        _cell(curve, masses, tuple(own))
        for masses, own in groupby(ordered, key=lambda one: one.masses)
    ]


def _cell(curve: Curve, masses: int, points: tuple[Point, ...]) -> Cell:
    # What was cut off says something only where it missed.
    found = [one for one in points if _counts(one) or _missed(one)]
    missed = sum(map(_missed, found))
    known = [one.deadlines.released_count for one in found if one.deadlines]
    released = sum(one or 0 for one in known)
    is_known = released > 0 and None not in known and missed <= released
    return Cell(
        curve=curve,
        masses=masses,
        points=points,
        missed_count=missed,
        released_count=released if is_known else 0,
        is_counted=is_known and all(map(_counts, found)),
        bound=miss_bound(missed, released) if is_known else None,
    )


def _missed(point: Point) -> int:
    return point.deadlines.missed_count or 0 if point.deadlines else 0


def _counts(point: Point) -> bool:
    """Whether no missed step of it can have gone uncounted."""
    is_told = point.deadlines is not None and point.deadlines.missed_count is not None
    return is_told and point.is_whole


def _bound(curve: Curve, cells: list[Cell]) -> Bound:
    first = next((one for one in cells if one.has_missed), None)
    below = [one for one in cells if first is None or one.masses < first.masses]
    above = cells[len(below) + 1 :]
    held = [one for one in below if one.has_held]
    return Bound(
        curve=curve,
        cells=cells,
        held=held[-1] if held else None,
        first_missed=first,
        islands=[one for one in above if one.has_held],
        not_counted=[one for one in cells if not one.has_missed and not one.has_held],
    )


class Panel(msgspec.Struct, kw_only=True, frozen=True):
    """One map: cells of all thread counts that share everything else."""

    key: Curve
    cells: list[Cell]

    @property
    def threads(self) -> list[int]:
        return sorted({one.curve.threads for one in self.cells})

    @property
    def masses(self) -> list[int]:
        return sorted({one.masses for one in self.cells})


def maps_of(bounds: Iterable[Bound], most: int = MOST_CELLS) -> list[Panel]:
    """The hard and the soft map: one panel for each solver, policy and condition. `key` has 0
    threads. Beyond `most` cells the last panels have none."""
    panels: dict[Curve, list[Cell]] = {}
    left = most
    for bound in bounds:
        kept = bound.cells[:left]
        left -= len(kept)
        panels.setdefault(bound.curve._replace(threads=0), []).extend(kept)
    return [Panel(key=key, cells=cells) for key, cells in panels.items() if cells]
