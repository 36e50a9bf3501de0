"""A comb: gaps that begin at one period, found by epoch folding and held to the whole record.

Folding at the right period puts all its gaps at one phase. A period that is wrong by one part in
a million smears them by 60 us within a minute, so the fold begins with a few slots and the line
through the gaps found is lengthened in steps, each fitted anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from hardstone.stats.noise_gaps import BoolArray, FloatArray, Gaps, IntArray, share_within

TOLERANCES_NS = (25_000, 100_000, 400_000)
LEAST_COVERAGE = 0.9
LEAST_SLOTS = 20
MOST_SLOTS = 1 << 22  # four times the gaps that a recording may have
_FIRST_SLOTS = 80
_MOST_STEPS = 2_000
_LEAST_BEYOND_CHANCE = 0.6  # of the slots that chance would leave empty
_LEAST_EVIDENCE = 40.0  # nats: with some 1e5 trials a false one in 1e12 searches
_NARROWEST_NS = 1_000.0
_HIDDEN_NS = 25_000  # that near to another gap one may be part of it, or late because of it


@dataclass(frozen=True)
class Line:
    """Slot k is at phase_ns + k x period_ns."""

    period_ns: float
    phase_ns: float

    def numbers(self, at_ns: IntArray | FloatArray) -> IntArray:
        """The slots nearest to moments."""
        return np.rint((at_ns - self.phase_ns) / self.period_ns).astype(np.int64)

    def at(self, numbers: IntArray) -> FloatArray:
        return np.asarray(self.phase_ns + numbers * self.period_ns, dtype=np.float64)

    def beside(self, at_ns: IntArray) -> FloatArray:
        """How long after its nearest slot each moment is."""
        return at_ns - self.at(self.numbers(at_ns))


@dataclass(frozen=True)
class Comb:
    """A line that gaps keep to within `tolerance_ns`.

    `slots` are the numbers of those that lie in a window, and `gap` has the place of the gap of
    each among the gaps that were searched, -1: none. `is_clear`: no other gap was there that could
    hide one. `coverage` is of these. `chance`: the coverage that gaps without a period would give.
    """

    line: Line
    tolerance_ns: int
    slots: IntArray
    gap: IntArray
    is_clear: BoolArray
    chance: float

    @property
    def rate_hz(self) -> float:
        return 1e9 / self.line.period_ns

    @property
    def coverage(self) -> float:
        clear = self.gap[self.is_clear]
        return float((clear >= 0).mean()) if clear.size else 0.0


def comb_near(
    gaps: Gaps, taken: BoolArray, rate_hz: float, uncertainty: float, tolerance_ns: int
) -> Comb | None:
    """What is periodic with a rate within `uncertainty` (a ratio) of `rate_hz`, the first that is a
    comb (`is_comb`), else the one with the fullest slots; None if nothing is.
    `taken`: gaps that belong to another comb. They neither fill a slot, nor can one at their time
    be seen.
    """
    free = gaps.only(~taken)
    period_ns = 1e9 / rate_hz
    fullest: Comb | None = None
    if gaps.watched_ns > MOST_SLOTS * period_ns:
        return None
    if tolerance_ns > period_ns / 8 or free.begin.size < LEAST_SLOTS:
        return None
    for line in _locked(free, period_ns, uncertainty, tolerance_ns):
        comb = comb_on(gaps, taken, line, tolerance_ns)
        if is_comb(comb):
            return comb
        if is_periodic(comb) and (fullest is None or comb.coverage > fullest.coverage):
            fullest = comb
    return fullest


def is_comb(comb: Comb) -> bool:
    """Whether nine of ten slots have their gap, and chance would not have brought that."""
    return comb.coverage >= LEAST_COVERAGE and is_periodic(comb)


def is_periodic(comb: Comb) -> bool:
    """Whether chance would not have filled as many slots, though some may be empty."""
    count, chance, coverage = int(comb.is_clear.sum()), comb.chance, comb.coverage
    if count < LEAST_SLOTS or chance >= 1:
        return False
    beyond = (coverage - chance) / (1 - chance)
    return beyond >= _LEAST_BEYOND_CHANCE and count * _nats(coverage, chance) >= _LEAST_EVIDENCE


def comb_on(gaps: Gaps, taken: BoolArray, line: Line, tolerance_ns: int) -> Comb:
    """What the gaps look like on this line."""
    slots = _slots(gaps, line, tolerance_ns)
    at = line.at(slots)
    free = np.flatnonzero(~taken)
    gap = _nearest(gaps.begin[free], at, tolerance_ns)
    gap = np.where(gap >= 0, free[gap] if free.size else -1, -1)
    is_hidden = _inside(gaps, at, tolerance_ns) | _beside(gaps.only(taken), at, tolerance_ns)
    chance = share_within(gaps.only(~taken), tolerance_ns)
    comb = Comb(line, tolerance_ns, slots, gap, ~is_hidden, chance)
    return _with_longest(gaps, taken, comb)


def hit_share(gaps: Gaps, comb: Comb, tolerance_ns: int) -> float:
    """Share of the comb's slots with the begin of any gap within `tolerance_ns`."""
    found = _nearest(gaps.begin, comb.line.at(comb.slots[comb.is_clear]), tolerance_ns)
    return float((found >= 0).mean()) if found.size else 0.0


def _nats(coverage: float, chance: float) -> float:
    """Evidence of one slot against chance (the divergence of the two)."""
    chance = min(max(chance, 1e-9), 1 - 1e-9)
    nats = coverage * np.log(coverage / chance)
    if coverage < 1:
        nats += (1 - coverage) * np.log((1 - coverage) / (1 - chance))
    return float(nats)


def _slots(gaps: Gaps, line: Line, tolerance_ns: int) -> IntArray:
    """The slots that lie in a window, with their tolerance."""
    first = np.ceil((gaps.window_begin + tolerance_ns - line.phase_ns) / line.period_ns)
    last = np.floor((gaps.window_end - tolerance_ns - line.phase_ns) / line.period_ns)
    found = [
        np.arange(begin, end + 1, dtype=np.int64)
        for begin, end in zip(first.tolist(), last.tolist(), strict=True)
    ]
    return np.concatenate([np.zeros(0, dtype=np.int64), *found])


def _nearest(begin: IntArray, at: FloatArray, tolerance_ns: float) -> IntArray:
    """Place of the gap that begins nearest to each moment, -1 where none is within tolerance."""
    if begin.size == 0:
        return np.full(at.size, -1, dtype=np.int64)
    after = np.searchsorted(begin, at)
    right = np.minimum(after, begin.size - 1)
    left = np.maximum(after - 1, 0)
    place = np.where(np.abs(begin[left] - at) <= np.abs(begin[right] - at), left, right)
    return np.where(np.abs(begin[place] - at) <= tolerance_ns, place, -1)


def _inside(gaps: Gaps, at: FloatArray, tolerance_ns: int) -> BoolArray:
    """Whether a gap was under way, so that what came in it could not be seen."""
    before = np.searchsorted(gaps.begin, at - tolerance_ns) - 1
    return (before >= 0) & (gaps.end[np.maximum(before, 0)] + _HIDDEN_NS > at)


def _beside(others: Gaps, at: FloatArray, tolerance_ns: int) -> BoolArray:
    """Whether a gap of another comb was there, or a long one began where one may be late."""
    long = others.only(others.length > 2 * tolerance_ns)
    return _reached(others, at, _HIDDEN_NS) | _reached(long, at, tolerance_ns)


def _reached(gaps: Gaps, at: FloatArray, before_ns: int) -> BoolArray:
    """Whether a gap was under way, from `before_ns` before its begin."""
    before = np.searchsorted(gaps.begin, at + before_ns) - 1
    if gaps.begin.size == 0:
        return before >= 0
    return (before >= 0) & (gaps.end[np.maximum(before, 0)] + _HIDDEN_NS > at)


def _with_longest(gaps: Gaps, taken: BoolArray, comb: Comb) -> Comb:
    """In each slot the longest of the gaps that begin where the comb's do.

    Others begin within the tolerance by chance, and may be nearer to the line.
    """
    hit = comb.gap >= 0
    if not hit.any():
        return comb
    apart = np.abs(comb.line.beside(gaps.begin[comb.gap[hit]]))
    reach_ns = float(np.clip(8 * np.median(apart), _NARROWEST_NS, comb.tolerance_ns))
    numbers = comb.line.numbers(gaps.begin)
    near = np.flatnonzero(~taken & (np.abs(comb.line.beside(gaps.begin)) <= reach_ns))
    order = near[np.lexsort((gaps.length[near], numbers[near]))]  # the longest of a slot is last
    place = np.searchsorted(numbers[order], comb.slots, side="right") - 1
    best = order[np.maximum(place, 0)] if order.size else np.zeros(place.size, dtype=np.int64)
    has_best = (place >= 0) & (numbers[best] == comb.slots) if order.size else hit & False
    return replace(comb, gap=np.where(has_best, best, comb.gap))


def _locked(gaps: Gaps, period_ns: float, uncertainty: float, tolerance_ns: int) -> Iterator[Line]:
    """Lines near a period, each found in some part of the record and fitted to all of it."""
    span_ns = _FIRST_SLOTS * period_ns
    starts = np.unique(np.quantile(gaps.window_begin, (0, 0.35, 0.7), method="nearest"))
    for start_ns in starts.tolist():
        part = gaps.begin[(gaps.begin >= start_ns) & (gaps.begin <= start_ns + span_ns)]
        line = _folded(part, start_ns, period_ns, uncertainty, tolerance_ns)
        if line is not None:
            yield _lengthened(gaps.begin, line, start_ns, span_ns, tolerance_ns)


def _folded(
    begin: IntArray, start_ns: int, period_ns: float, uncertainty: float, tolerance_ns: int
) -> Line | None:
    """The period and phase with most gaps; None where even there many slots have none."""
    begin = begin[np.diff(begin, prepend=-tolerance_ns) >= tolerance_ns]  # of a burst the first
    if begin.size < LEAST_SLOTS / 2:
        return None
    since = (begin - start_ns).astype(np.float64)
    span = max(float(since[-1]), period_ns)
    reach_ns = uncertainty * period_ns
    steps = int(np.ceil(2 * reach_ns * span / period_ns / tolerance_ns)) + 1
    best, found = 0, Line(period_ns, 0.0)
    for period in np.linspace(period_ns - reach_ns, period_ns + reach_ns, min(steps, _MOST_STEPS)):
        count, phase_ns = _fullest(since % period, float(period), tolerance_ns)
        if count > best:
            best, found = count, Line(float(period), start_ns + phase_ns)
    is_good = 2 * best >= min(LEAST_SLOTS, span / period_ns)
    return found if is_good else None


def _fullest(phase: FloatArray, period_ns: float, tolerance_ns: int) -> tuple[int, float]:
    """Number of gaps in the fullest two neighbouring bins of a tolerance, and their phase."""
    bins = int(np.ceil(period_ns / tolerance_ns))
    counts = np.bincount((phase / tolerance_ns).astype(np.int64), minlength=bins)
    pairs = counts + np.roll(counts, -1)
    place = int(np.argmax(pairs))
    return int(pairs[place]), (place + 1.0) * tolerance_ns


def _lengthened(
    begin: IntArray, line: Line, start_ns: int, span_ns: float, tolerance_ns: int
) -> Line:
    """The line, fitted to more and more of the record, up to all of it."""
    while True:
        near = begin[(begin >= start_ns - span_ns) & (begin <= start_ns + span_ns)]
        for reach in (1.5, 1.0, 0.6):
            line = _fitted(near, line, reach * tolerance_ns)
        if begin.size == 0 or span_ns >= begin[-1] - begin[0]:
            return line
        span_ns *= 2


def _fitted(begin: IntArray, line: Line, reach_ns: float) -> Line:
    """Least squares through the gaps within reach of the line."""
    beside = line.beside(begin)
    near = np.abs(beside) <= reach_ns
    numbers = line.numbers(begin)[near].astype(np.float64)
    if numbers.size < 2 or numbers[0] == numbers[-1]:
        return line
    middle = numbers.mean()
    apart = numbers - middle
    slope = float((apart * beside[near]).sum() / (apart**2).sum())
    offset = float(beside[near].mean() - slope * middle)
    return Line(line.period_ns + slope, line.phase_ns + offset)
