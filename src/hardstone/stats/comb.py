"""Combs: gaps that begin at one period, found by epoch folding, held to the whole record, and
named.

Folding at the right period puts all its gaps at one phase. A period that is wrong by one part in
a million smears them by 60 us within a minute, so the fold begins with a few slots and the line
through the gaps found is lengthened in steps, each fitted anew.

At its own rate a comb has the amplitude of all its gaps, as many as it has slots; at a multiple
the same, of more slots. So a peak whose amplitude is far below the slots of its rate is no comb.

The kernel counts its own interrupts. A comb with more gaps than it counted in the same time does
not come from it: an interrupt of a virtual machine's host, or of firmware, is in no count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hardstone.model import Window
from hardstone.stats.histogram import IntArray
from hardstone.stats.resampling import FloatArray, mean_ranks

BoolArray = NDArray[np.bool_]

_MERGED_NS = 1_000  # two gaps closer than this are one


@dataclass(frozen=True)
class Gaps:
    """Begin and length of each gap, ascending, in ns since the start; begin and end of each
    window, which do not overlap. All int64, shapes (gaps,) and (windows,)."""

    begin: IntArray
    length: IntArray
    window_begin: IntArray
    window_end: IntArray

    @property
    def end(self) -> IntArray:
        return self.begin + self.length

    @property
    def watched_ns(self) -> int:
        return int((self.window_end - self.window_begin).sum())

    def only(self, chosen: BoolArray) -> Gaps:
        """The chosen gaps in the same windows."""
        return replace(self, begin=self.begin[chosen], length=self.length[chosen])


def gaps_of(windows: Sequence[Window]) -> Gaps:
    """All gaps of these windows."""
    begin = [np.zeros(0, dtype=np.int64)]
    length = [np.zeros(0, dtype=np.int64)]
    for one in windows:
        begin.append(one.begin_ns + np.cumsum(np.array(one.distance_ns, dtype=np.int64)))
        length.append(np.array(one.length_ns, dtype=np.int64))
    return Gaps(
        np.concatenate(begin),
        np.concatenate(length),
        np.array([one.begin_ns for one in windows], dtype=np.int64),
        np.array([one.end_ns for one in windows], dtype=np.int64),
    )


def merged_gaps(gaps: Gaps) -> Gaps:
    """Gaps closer than 1 us as one, from the begin of the first to the end of the last.

    What took the CPU twice in a row is one disturbance to the thread. Gaps of two windows stay
    two: between them the loop did not watch.
    """
    if gaps.begin.size == 0:
        return gaps
    window = np.searchsorted(gaps.window_begin, gaps.begin, side="right")
    is_new = np.ones(gaps.begin.size, dtype=np.bool_)
    is_new[1:] = (gaps.begin[1:] - gaps.end[:-1] >= _MERGED_NS) | (window[1:] != window[:-1])
    first = np.flatnonzero(is_new)
    last = np.append(first[1:] - 1, gaps.begin.size - 1)
    begin = gaps.begin[first]
    return replace(gaps, begin=begin, length=gaps.end[last] - begin)


def share_within(gaps: Gaps, tolerance_ns: float) -> float:
    """Share of the watched time that is within `tolerance_ns` of the begin of a gap: the chance
    that a random moment is."""
    if gaps.watched_ns == 0:
        return 1.0
    reach = np.minimum(np.diff(gaps.begin), 2 * tolerance_ns).sum() + 2 * tolerance_ns
    return min(1.0, float(reach) / gaps.watched_ns)


TOLERANCES_NS = (25_000, 100_000, 400_000)
_LEAST_COVERAGE = 0.9
_LEAST_SLOTS = 20
MOST_SLOTS = 1 << 22  # four times the gaps that a recording may have
_FIRST_SLOTS = 80
_MOST_STEPS = 2_000
_LEAST_BEYOND_CHANCE = 0.6  # of the slots that chance would leave empty
_LEAST_EVIDENCE = 40.0  # nats: with some 1e5 trials a false one in 1e12 searches
_NARROWEST_NS = 1_000.0
_HIDDEN_NS = 25_000  # a gap that near to another may be part of it, or late because of it


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

    def offsets(self, at_ns: IntArray) -> FloatArray:
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
    """What is periodic with a rate within `uncertainty` (a ratio) of `rate_hz`: the first that is a
    comb (`_is_comb`), else the one with the fullest slots; None if nothing is.

    `taken`: gaps that belong to another comb. They fill no slot, and hide one at their time.
    """
    free = gaps.only(~taken)
    period_ns = 1e9 / rate_hz
    fullest: Comb | None = None
    if gaps.watched_ns > MOST_SLOTS * period_ns:
        return None
    if tolerance_ns > period_ns / 8 or free.begin.size < _LEAST_SLOTS:
        return None
    for line in _locked(free, period_ns, uncertainty, tolerance_ns):
        comb = _comb_on(gaps, taken, line, tolerance_ns)
        if _is_comb(comb):
            return comb
        if _is_periodic(comb) and (fullest is None or comb.coverage > fullest.coverage):
            fullest = comb
    return fullest


def _is_comb(comb: Comb) -> bool:
    """Whether nine of ten slots have their gap, and chance does not explain that."""
    return comb.coverage >= _LEAST_COVERAGE and _is_periodic(comb)


def _is_periodic(comb: Comb) -> bool:
    """Whether more slots are filled than chance explains, though some may be empty."""
    count, chance, coverage = int(comb.is_clear.sum()), comb.chance, comb.coverage
    if count < _LEAST_SLOTS or chance >= 1:
        return False
    beyond = (coverage - chance) / (1 - chance)
    return beyond >= _LEAST_BEYOND_CHANCE and count * _nats(coverage, chance) >= _LEAST_EVIDENCE


def _comb_on(gaps: Gaps, taken: BoolArray, line: Line, tolerance_ns: int) -> Comb:
    """The comb that the gaps form on this line."""
    slots = _slots(gaps, line, tolerance_ns)
    at = line.at(slots)
    free = np.flatnonzero(~taken)
    gap = _nearest(gaps.begin[free], at, tolerance_ns)
    gap = np.where(gap >= 0, free[gap] if free.size else -1, -1)
    # What came while a gap was under way could not be seen. Near a gap of another comb it may be
    # part of that, and late where that is a long one.
    others = gaps.only(taken)
    long = others.only(others.length > 2 * tolerance_ns)
    is_hidden = _reached(gaps, at, -tolerance_ns)
    is_hidden |= _reached(others, at, _HIDDEN_NS) | _reached(long, at, tolerance_ns)
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


def _reached(gaps: Gaps, at: FloatArray, before_ns: int) -> BoolArray:
    """Whether a gap was under way at each moment, from `before_ns` before its begin."""
    before = np.searchsorted(gaps.begin, at + before_ns) - 1
    if gaps.begin.size == 0:
        return before >= 0
    return (before >= 0) & (gaps.end[np.maximum(before, 0)] + _HIDDEN_NS > at)


def _with_longest(gaps: Gaps, taken: BoolArray, comb: Comb) -> Comb:
    """The comb with, in each slot, the longest of the gaps that begin where its own do.

    Others begin within the tolerance by chance, and may be nearer to the line.
    """
    hit = comb.gap >= 0
    if not hit.any():
        return comb
    apart = np.abs(comb.line.offsets(gaps.begin[comb.gap[hit]]))
    reach_ns = float(np.clip(8 * np.median(apart), _NARROWEST_NS, comb.tolerance_ns))
    numbers = comb.line.numbers(gaps.begin)
    near = np.flatnonzero(~taken & (np.abs(comb.line.offsets(gaps.begin)) <= reach_ns))
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
    if begin.size < _LEAST_SLOTS / 2:
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
    is_good = 2 * best >= min(_LEAST_SLOTS, span / period_ns)
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
    offsets = line.offsets(begin)
    near = np.abs(offsets) <= reach_ns
    numbers = line.numbers(begin)[near].astype(np.float64)
    if numbers.size < 2 or numbers[0] == numbers[-1]:
        return line
    middle = numbers.mean()
    apart = numbers - middle
    slope = float((apart * offsets[near]).sum() / (apart**2).sum())
    offset = float(offsets[near].mean() - slope * middle)
    return Line(line.period_ns + slope, line.phase_ns + offset)


_USUAL_HZ = (1000.0, 300.0, 250.0, 100.0)
_USUAL_UNCERTAINTY = 300e-6
_LEAST_HZ, _MOST_HZ = 4.0, 5_000.0
_BIN_NS = 50_000
_MOST_BINS = 1 << 19  # 26 s
_MOST_PEAKS = 16
_LEAST_OVER_NOISE = 2.5  # times the amplitude of the rates around
_AROUND_BINS = 129
# Shares of the gaps that are left out because they are shorter, so that long ones stand out. Each
# leaves half of what the one before leaves: whatever the number of long gaps is, one of the rests
# has them and hardly any others.
_SHARES = tuple(1 - 0.5**halvings for halvings in range(9))
_LEAST_FILLED = 0.6  # amplitude at the top of a peak, in slots
_BETWEEN_BINS = 0.6  # of the amplitude is left half-way between two bins
_FINER = 16


@dataclass(frozen=True)
class Rate:
    """A rate within `uncertainty`, a ratio."""

    hz: float
    uncertainty: float


def _candidate_rates(gaps: Gaps, taken: BoolArray, kernels_hz: float | None) -> list[Rate]:
    """Rates that a comb may have, the highest first."""
    free = gaps.only(~taken)
    if free.begin.size < 2:
        return []
    usual = {*_USUAL_HZ, *([kernels_hz] if kernels_hz else [])}
    found: list[Rate] = []
    for share in _SHARES:
        spectrum = _spectrum(free.only(free.length >= np.quantile(free.length, share)))
        rates = [Rate(hz, _USUAL_UNCERTAINTY) for hz in usual if spectrum.may_have(hz)]
        for rate in [*rates, *_peaks(spectrum)]:
            if all(abs(rate.hz / one.hz - 1) > one.uncertainty / 2 for one in found):
                found.append(rate)
    return sorted(found, key=lambda rate: -rate.hz)


@dataclass(frozen=True)
class _Spectrum:
    """Amplitudes of the begins of gaps, at rates `step_hz` apart; `at_s` are these begins."""

    amplitude: FloatArray
    step_hz: float
    watched_s: float
    at_s: FloatArray

    def may_have(self, hz: float) -> bool:
        """Whether the amplitude near a usual rate is that of a comb."""
        reach = int(np.ceil(hz * _USUAL_UNCERTAINTY / self.step_hz)) + 1
        place = round(hz / self.step_hz)
        near = self.amplitude[max(place - reach, 1) : place + reach + 1]
        least = _LEAST_FILLED * _BETWEEN_BINS * hz * self.watched_s
        return bool(near.size) and float(near.max()) >= least


def _peaks(spectrum: _Spectrum) -> list[Rate]:
    from scipy.ndimage import uniform_filter1d

    amplitude, step_hz = spectrum.amplitude, spectrum.step_hz
    first, last = int(_LEAST_HZ / step_hz) + 1, min(int(_MOST_HZ / step_hz), amplitude.size - 2)
    if first >= last:
        return []
    middle = amplitude[first:last]
    slots = np.arange(first, last) * step_hz * spectrum.watched_s
    left, right = amplitude[first - 1 : last - 1], amplitude[first + 1 : last + 1]
    is_peak = (middle > left) & (middle >= right)
    is_peak &= middle > _LEAST_FILLED * _BETWEEN_BINS * slots
    around = np.sqrt(uniform_filter1d(amplitude**2, _AROUND_BINS)[first:last])
    is_peak &= (middle > _LEAST_OVER_NOISE * around) & (slots >= _LEAST_SLOTS)
    places = np.flatnonzero(is_peak)
    places = places[np.argsort(-middle[places])][:_MOST_PEAKS] + first
    found = [_finer(spectrum, int(place)) for place in places]
    return [one for one in found if one is not None]


def _finer(spectrum: _Spectrum, place: int) -> Rate | None:
    """The top of a peak between the bins beside it; None where it is too low."""
    step_hz = spectrum.step_hz / _FINER
    hz: FloatArray = (place * _FINER + np.arange(-_FINER, _FINER + 1.0)) * step_hz
    amplitude: FloatArray = np.abs(np.exp(-2j * np.pi * np.outer(hz, spectrum.at_s)).sum(axis=1))
    top = int(np.argmax(amplitude))
    rate_hz = float(hz[top])
    if amplitude[top] < _LEAST_FILLED * rate_hz * spectrum.watched_s:
        return None
    return Rate(rate_hz, max(_USUAL_UNCERTAINTY, step_hz / rate_hz))


def _spectrum(gaps: Gaps) -> _Spectrum:
    """The spectrum of the point process in bins, less its mean where the loop watched."""
    start_ns = int(gaps.window_begin[0])
    size = int(min((int(gaps.window_end[-1]) - start_ns) // _BIN_NS + 1, _MOST_BINS))
    places = (gaps.begin - start_ns) // _BIN_NS
    inside = places < size
    counts = np.bincount(places[inside], minlength=size).astype(np.float64)
    watched = np.zeros(size + 1)
    np.add.at(watched, np.minimum((gaps.window_begin - start_ns) // _BIN_NS, size), 1.0)
    np.add.at(watched, np.minimum((gaps.window_end - start_ns) // _BIN_NS, size), -1.0)
    watched = np.cumsum(watched)[:size]
    total = float(watched.sum())
    counts -= watched * (counts.sum() / total if total else 0.0)
    at_s = (gaps.begin[inside] - start_ns) / 1e9
    amplitude: FloatArray = np.abs(np.fft.rfft(counts))
    return _Spectrum(amplitude, 1e9 / (_BIN_NS * size), total * _BIN_NS / 1e9, at_s)


_MOST_COMBS = 8
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
    while len(found) < _MOST_COMBS:
        comb = _next(gaps, taken, kernels_hz, [one.comb for one in found])
        if comb is None:
            break
        taken[comb.gap[comb.gap >= 0]] = True
        found.append(FoundComb(comb, _marks_of(gaps, comb)))
    return found


def _next(gaps: Gaps, taken: BoolArray, kernels_hz: float | None, found: list[Comb]) -> Comb | None:
    """The comb of the highest rate among those of the narrowest tolerance; without any, one that is
    periodic and leaves too many slots empty.

    At a wide tolerance two combs, each of half the rate, can look like one.
    """
    rates = _candidate_rates(gaps, taken, kernels_hz)
    irregular: list[Comb] = []
    for tolerance_ns in TOLERANCES_NS:
        for rate in rates:
            comb = comb_near(gaps, taken, rate.hz, rate.uncertainty, tolerance_ns)
            if comb is None or any(_follows(comb, other) for other in found):
                continue
            if _is_comb(comb):
                return comb
            irregular.append(comb)
    return irregular[0] if irregular else None


def _follows(comb: Comb, other: Comb) -> bool:
    """Whether a comb is only what often comes some time after the gaps of another."""
    is_same = abs(comb.rate_hz / other.rate_hz - 1) < _SAME_RATE
    return is_same and comb.tolerance_ns > other.tolerance_ns


def _marks_of(gaps: Gaps, comb: Comb) -> list[Mark]:
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
    """The class of slots whose gaps are most clearly longer than the others'."""
    best, found = _LEAST_RANKED, None
    ranks = mean_ranks(length)
    for every in range(2, _MOST_EVERY + 1):
        if slots.size < every * _LEAST_MARKED:
            break
        share = _ranked(slots % every, ranks, every)
        offset = int(np.argmax(share))
        if share[offset] <= best:
            continue
        is_marked = slots % every == offset
        median_ns = float(np.median(length[is_marked]))
        rest_median_ns = float(np.median(length[~is_marked]))
        if median_ns > 1.05 * rest_median_ns:
            best, found = float(share[offset]), Mark(every, offset, median_ns, rest_median_ns)
    return found


def _ranked(classes: IntArray, ranks: FloatArray, every: int) -> FloatArray:
    """For each class the probability that one of its gaps is longer than one of the others."""
    count = np.bincount(classes, minlength=every)
    total = np.bincount(classes, weights=ranks, minlength=every)
    others = classes.size - count
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (total - count * (count + 1) / 2) / (count * others)
    return np.where((count >= _LEAST_MARKED / 2) & (others > 0), share, 0.0)


TICK, HOST_TICK, TIMER = "tick", "host tick", "timer"
PERIODIC, UNCOUNTED, IRREGULAR = "periodic", "uncounted", "irregular"

_RATE_OF_ONE_SOURCE = 400e-6
_COUNTED = 0.9  # of a comb's slots, by the kernel


@dataclass(frozen=True)
class Counted:
    """What is known of the kernel: the period of its tick, and the interrupts that it counted on
    the CPU, a second of watching. None: not known."""

    tick_ns: int | None
    timer_hz: float | None
    all_hz: float | None

    @property
    def tick_hz(self) -> float | None:
        return 1e9 / self.tick_ns if self.tick_ns else None


@dataclass(frozen=True)
class NamedComb:
    """`mark`: it is the marked slots of another comb, whose place in the list is `on_top_of`."""

    name: str
    comb: Comb
    marks: list[Mark]
    mark: Mark | None = None
    on_top_of: int | None = None


def named_combs(gaps: Gaps, found: Sequence[FoundComb], kernel: Counted) -> list[NamedComb]:
    """Each comb with its name; the tick that comes at slots of another comb is one more."""
    tick = _tick(gaps, found, kernel)
    others = [one.comb for place, one in enumerate(found) if tick is None or tick[0] != place]
    left = _kernel_timers(gaps, others, kernel, has_tick=tick is not None)
    named = []
    for place, one in enumerate(found):
        if tick is not None and tick[0] == place and tick[1] is None:
            named.append(NamedComb(TICK, one.comb, one.marks))
            continue
        marks = [mark for mark in one.marks if tick is None or mark is not tick[1]]
        named.append(NamedComb(_name(gaps, one.comb, left), one.comb, marks))
    if tick is not None and tick[1] is not None:
        place, mark = tick[0], tick[1]
        named.append(NamedComb(TICK, marked(found[place].comb, mark), [], mark, place))
    return named


@dataclass(frozen=True)
class _KernelTimers:
    """What the kernel counted without its tick, a second; None: not known. `is_enough`: its timer
    interrupts are enough for all combs that they might be."""

    timer_hz: float | None
    all_hz: float | None
    is_enough: bool


def _kernel_timers(
    gaps: Gaps, others: Sequence[Comb], kernel: Counted, *, has_tick: bool
) -> _KernelTimers:
    if kernel.timer_hz is None or kernel.all_hz is None:
        return _KernelTimers(None, None, is_enough=False)
    ticks_hz = (kernel.tick_hz or 0.0) if has_tick else 0.0
    timer_hz = kernel.timer_hz - ticks_hz
    rates = [_seen_hz(gaps, one) for one in others]
    rates = [hz for hz in rates if timer_hz >= _COUNTED * hz]
    return _KernelTimers(
        timer_hz, kernel.all_hz - ticks_hz, is_enough=timer_hz >= _COUNTED * sum(rates)
    )


def _seen_hz(gaps: Gaps, comb: Comb) -> float:
    """Gaps of a comb a second: fewer than its rate where long gaps hide slots. A kernel that was
    away for many periods of a timer counts one interrupt too."""
    return float((comb.gap >= 0).sum()) * 1e9 / max(gaps.watched_ns, 1)


def _tick(
    gaps: Gaps, found: Sequence[FoundComb], kernel: Counted
) -> tuple[int, Mark | None] | None:
    """Place of the comb that is the tick, and the mark whose slots are the tick if not all are.

    Among several combs of the tick's rate, the one with the longest gaps is taken: which one is
    this kernel's is not known, and a figure must not flatter.
    """
    rates = (kernel.tick_hz,) if kernel.tick_hz else _USUAL_HZ
    steady = [(place, one) for place, one in enumerate(found) if _is_comb(one.comb)]
    whole = [
        place
        for place, one in steady
        if _is_one_of(one.comb.rate_hz, rates) and _may_count(_seen_hz(gaps, one.comb), kernel)
    ]
    if whole:
        return max(whole, key=lambda place: _median_gap_ns(gaps, found[place].comb)), None
    parts = [
        (place, mark)
        for place, one in steady
        for mark in one.marks
        if _is_one_of(one.comb.rate_hz / mark.every, rates)
        and _may_count(_seen_hz(gaps, marked(one.comb, mark)), kernel)
    ]
    return parts[0] if parts else None


def _median_gap_ns(gaps: Gaps, comb: Comb) -> float:
    return float(np.median(gaps.length[comb.gap[comb.gap >= 0]]))


def _is_one_of(rate_hz: float, rates: Sequence[float]) -> bool:
    return any(abs(rate_hz / one - 1) <= _RATE_OF_ONE_SOURCE for one in rates)


def _may_count(seen: float, kernel: Counted) -> bool:
    """Whether the kernel counted at least as many timer interrupts."""
    return kernel.timer_hz is None or kernel.timer_hz >= _COUNTED * seen


def _name(gaps: Gaps, comb: Comb, left: _KernelTimers) -> str:
    """The name of a comb that is not the tick. Where the timer interrupts are too few for all combs
    that might be timers, none is called one."""
    if not _is_comb(comb):
        return IRREGULAR
    if left.timer_hz is None or left.all_hz is None:
        return PERIODIC
    least_hz = _COUNTED * _seen_hz(gaps, comb)
    if left.timer_hz >= least_hz:
        return TIMER if left.is_enough else PERIODIC
    if left.all_hz >= least_hz:
        return PERIODIC
    return HOST_TICK if _is_one_of(comb.rate_hz, _USUAL_HZ) else UNCOUNTED
