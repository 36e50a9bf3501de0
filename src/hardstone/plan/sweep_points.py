"""At which size a curve of a sweep is measured next. Pure: the points so far decide.

The search doubles the size until one missed most of its deadlines, or two in succession missed
any, then bisects between the largest size that held, with all below it, and the smallest that
missed. One miss may be bad luck, one hold good luck: so the size that held is measured again, a
boundary above it (an island) is bisected too, and the neighbourhood is filled in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

STEP = 4  # sizes are multiples of it
GAP_PERCENT = 10
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


class Wish(NamedTuple):
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


def next_size(points: Sequence[Point], limits: Limits) -> Wish | None:
    """What tells most about a searched curve now; None once nothing is left to ask."""
    if len(points) >= limits.points:
        return None
    return next(_wishes(points, limits), None)


def next_of_grid(points: Sequence[Point], grid: Sequence[int], *, wants_again: bool) -> Wish | None:
    """The next size of a given grid; in the end the largest that held, again, if that is wanted."""
    counts = Counter(one.masses for one in points)
    for masses in grid:
        if not counts[masses]:
            return Wish(masses, GROW)
    held = boundary_of(points).held
    again = held or min(grid, default=None)
    if wants_again and again is not None and counts[again] == 1:
        return Wish(again, AGAIN, is_again=True)
    return None


def _wishes(points: Sequence[Point], limits: Limits) -> Iterator[Wish]:
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
            yield Wish(middle, BISECT)
    again = limits.least if held is None else held
    if counts[again] == 1:
        yield Wish(again, AGAIN, is_again=True)
    yield from _island(has_missed, held)
    yield from _around(counts, Boundary(held, missed), limits)


def _growth(has_missed: dict[int, bool], beyond: Set[int], limits: Limits) -> Iterator[Wish]:
    size, in_row = limits.least, 0
    while size in has_missed:
        in_row = in_row + 1 if has_missed[size] else 0
        if in_row == 2 or size in beyond or size >= limits.most:
            return
        size = min(2 * size, limits.most)
    yield Wish(size, GROW)


def _island(has_missed: dict[int, bool], held: int | None) -> Iterator[Wish]:
    """The boundary above the largest size of all that held, if one below it missed."""
    top = max((size for size, missed in has_missed.items() if not missed), default=None)
    if top is None or top == held:
        return
    above = min((size for size in has_missed if size > top), default=None)
    middle = None if above is None else _middle(top, above)
    if middle is not None:
        yield Wish(middle, ISLAND)


def _around(counts: Counter[int], found: Boundary, limits: Limits) -> Iterator[Wish]:
    """Sizes near the boundary by turns below and above it, then both sides of it again."""
    low = found.held
    high = found.missed or found.held
    for below, above in zip(_BELOW, _ABOVE, strict=True):
        sizes = [] if low is None else [low * below // 100]
        sizes += [] if high is None or found.missed is None else [high * above // 100]
        for size in (one // STEP * STEP for one in sizes):
            if limits.least <= size <= limits.most and not counts[size]:
                yield Wish(size, AROUND)
    for count in range(1, _MOST_AGAIN):
        for again in (found.missed, found.held):
            if again is not None and counts[again] == count:
                yield Wish(again, AROUND, is_again=True)


def _middle(held: int, missed: int) -> int | None:
    """A size between both; None where they are near enough."""
    gap = missed - held
    if gap <= STEP or 100 * gap <= GAP_PERCENT * missed:
        return None
    return (held + gap // 2) // STEP * STEP
