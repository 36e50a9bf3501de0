"""All combs of a record, the one of the highest rate first, and what stands out in each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hardstone.stats.comb import TOLERANCES_NS, Comb, Line, comb_near, is_comb
from hardstone.stats.comb_rates import candidate_rates
from hardstone.stats.mean_ranks import mean_ranks
from hardstone.stats.noise_gaps import BoolArray, FloatArray, Gaps, IntArray

MOST_COMBS = 8
_MOST_EVERY = 20
_LEAST_MARKED = 20
_LEAST_RANKED = 0.9  # probability that a marked gap is longer than another one
_MOST_MARKS = 3
_SAME_RATE = 1e-3


@dataclass(frozen=True)
class Mark:
    """Slots whose number is `offset` modulo `every`, and whose gaps are longer than the others'."""

    every: int
    offset: int
    median_ns: float
    rest_median_ns: float


@dataclass(frozen=True)
class FoundComb:
    comb: Comb
    marks: list[Mark]


def find_combs(gaps: Gaps, kernels_hz: float | None, known: BoolArray) -> list[FoundComb]:
    """Combs of `gaps` (merged). Each gap belongs to one at most, and to none if its cause is
    `known`: what it hides is not missing."""
    taken = known.copy()
    found: list[FoundComb] = []
    while len(found) < MOST_COMBS:
        comb = _next(gaps, taken, kernels_hz, [one.comb for one in found])
        if comb is None:
            break
        taken[comb.gap[comb.gap >= 0]] = True
        found.append(FoundComb(comb, marks_of(gaps, comb)))
    return found


def _next(gaps: Gaps, taken: BoolArray, kernels_hz: float | None, found: list[Comb]) -> Comb | None:
    """The comb of the highest rate among those of the narrowest tolerance; without any, what is
    periodic and leaves too many slots empty.

    At a wide tolerance two combs, each of half the rate, can look like one.
    """
    rates = candidate_rates(gaps, taken, kernels_hz)
    irregular: list[Comb] = []
    for tolerance_ns in TOLERANCES_NS:
        for rate in rates:
            comb = comb_near(gaps, taken, rate.hz, rate.uncertainty, tolerance_ns)
            if comb is None or any(_follows(comb, other) for other in found):
                continue
            if is_comb(comb):
                return comb
            irregular.append(comb)
    return irregular[0] if irregular else None


def _follows(comb: Comb, other: Comb) -> bool:
    """Whether it is only what often comes some time after the gaps of another comb."""
    is_same = abs(comb.rate_hz / other.rate_hz - 1) < _SAME_RATE
    return is_same and comb.tolerance_ns > other.tolerance_ns


def marks_of(gaps: Gaps, comb: Comb) -> list[Mark]:
    """The divisors of a comb's rate at which its gaps are longer."""
    hit = comb.gap >= 0
    slots, length = comb.slots[hit], gaps.length[comb.gap[hit]]
    marks: list[Mark] = []
    while len(marks) < _MOST_MARKS:
        mark = _mark(slots, length)
        if mark is None:
            break
        marks.append(mark)
        rest = slots % mark.every != mark.offset
        slots, length = slots[rest], length[rest]
    return marks


def marked(comb: Comb, mark: Mark) -> Comb:
    """The slots of a mark as a comb of their own, of a lower rate."""
    chosen = comb.slots % mark.every == mark.offset
    is_clear, gap = comb.is_clear[chosen], comb.gap[chosen]
    old = comb.line
    line = Line(old.period_ns * mark.every, old.phase_ns + old.period_ns * mark.offset)
    slots = (comb.slots[chosen] - mark.offset) // mark.every
    return replace(comb, line=line, slots=slots, gap=gap, is_clear=is_clear)


def _mark(slots: IntArray, length: IntArray) -> Mark | None:
    """The class of slots whose gaps are longer than the others', most clearly of all classes."""
    best, found = _LEAST_RANKED, None
    ranks = mean_ranks(length)
    for every in range(2, _MOST_EVERY + 1):
        if slots.size < every * _LEAST_MARKED:
            break
        share = _ranked(slots % every, ranks, every)
        offset = int(np.argmax(share))
        if share[offset] > best and (mark := _mark_of(slots, length, every, offset)) is not None:
            best, found = float(share[offset]), mark
    return found


def _ranked(classes: IntArray, ranks: FloatArray, every: int) -> FloatArray:
    """For each class, the probability that one of it is longer than one of the others."""
    count = np.bincount(classes, minlength=every)
    total = np.bincount(classes, weights=ranks, minlength=every)
    others = classes.size - count
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (total - count * (count + 1) / 2) / (count * others)
    return np.where((count >= _LEAST_MARKED / 2) & (others > 0), share, 0.0)


def _mark_of(slots: IntArray, length: IntArray, every: int, offset: int) -> Mark | None:
    is_marked = slots % every == offset
    median = float(np.median(length[is_marked]))
    rest = float(np.median(length[~is_marked]))
    return Mark(every, offset, median, rest) if median > 1.05 * rest else None
