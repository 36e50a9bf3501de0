"""KRN-P-PRE: the blocking that the releases of an operation met, how often the CPU is blocked for
longer than x, and HP's share of kernel time.

With R the residual of a moment in the kernel (0 where it is not blocked), F its distribution and f
its density, the share is F(x) - x f(x) (docs/method.md). It is computed from its complement, the
share of the time in sections longer than x, which needs only the rates of longer ones.

The idle latency is that of the same wake-ups while the CPU computes in user land. A release is
blocked if its latency is above the mean of the idle latency and 3 of its standard deviations; its
residual is the latency less that mean. docs/method.md, "Blocking intervals", derives the rest.

Releases come an exponential time after a wake-up. If S(x) is the share of them with a residual
above x, and f the density, there are S(x) + f(x) gap intervals longer than x for each release
(docs/method.md); where the gap is long, that is f(x) for each unit of time. It never rises with x,
and is estimated as such (Grenander): the slope of the least concave majorant. The interval at x
uses the same: counts left and right of x, in windows that are chosen before the data are seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import expm1

import numpy as np
from numpy.typing import NDArray

from hardstone.kernel.results import FAR_APART_NS, MOST_NS, Idle, least_blocked
from hardstone.model import Series
from hardstone.stats.histogram import bins_of
from hardstone.stats.quantiles import values_for

SHARES = (0.9, 0.99)


@dataclass(frozen=True)
class Blocking:
    """What the idle latency tells of an operation. `per_s` and `interval` are the rate
    above `rate_at_ns` of all operations. `lengths` has a length for each of SHARES; None where
    there are too few releases, or nobody counted the time in the kernel.

    `falls`: the rate is within its interval. Else the residuals do not fall with their length as
    those at random moments do (each wake-up has something of its own besides what blocks it), and
    neither the rate nor the lengths are figures."""

    residuals: Residuals
    rate: BlockingRate
    per_s: float
    interval: RateInterval
    lengths: Mapping[float, SectionLength | None]

    @property
    def falls(self) -> bool:
        high = self.interval.high
        return self.interval.low <= self.per_s and (high is None or self.per_s <= high)


def blocking_of(
    series: Series, kernel_share: float | None, idle: Idle, gap_ns: float, rate_at_ns: float
) -> Blocking:
    """What blocked the releases of `series`, which has the dispatch latencies of an operation.
    InputError if it is unreadable."""
    found = residuals_of(series, idle, gap_ns)
    rate = blocking_rate(found)
    lengths = {
        q: section_length(found, kernel_share, q, rate) if kernel_share else None for q in SHARES
    }
    bounds = rate_interval(found, rate_at_ns)
    blocking = Blocking(found, rate, rate.above(rate_at_ns), bounds, lengths)
    return blocking if blocking.falls else replace(blocking, lengths=dict.fromkeys(SHARES))


def longest_of_share(series: Series, q: float) -> int | None:
    """The length up to which sections made up the share `q` of the time of all: the upper edge of
    its bucket, at most the maximum. None without values. InputError if unreadable."""
    bins = bins_of(series.histogram)
    if series.max is None or not bins.has_quantiles:
        return None
    middles = (bins.lower.astype(np.float64) + bins.upper) / 2
    time = np.append(middles * bins.count, float(series.max) * bins.overflow)
    ends = np.append(np.minimum(bins.upper, series.max), series.max)
    reached = np.cumsum(time)
    if reached[-1] <= 0:
        return series.max
    return int(ends[int(np.searchsorted(reached, q * reached[-1] * (1 - 1e-12)))])


_NS_PER_S = 1e9
_GRID = 240
_BEYOND_WORST = 4.0


@dataclass(frozen=True)
class SectionShare:
    """The share of the time in sections longer than x: `share` from `from_ns` on; shape (n,)."""

    from_ns: FloatArray
    share: FloatArray


@dataclass(frozen=True)
class SectionLength:
    """The length x at which the share `q` of kernel time is in sections shorter than x.

    `is_below`: it is at most `value_ns`, the shortest length that can be distinguished from the
    idle latency. `low_ns` and `high_ns` bound it at 95 %; 0: below what can be distinguished; None:
    unbounded.
    """

    q: float
    value_ns: float
    is_below: bool
    low_ns: float
    high_ns: float | None


def time_longer(rate: BlockingRate) -> SectionShare:
    """The share of the time in sections longer than x.

    Where the rate falls there are sections of that length: as many as it falls by.
    """
    falls = -np.diff(rate.per_s) / _NS_PER_S
    times = falls * rate.from_ns[1:]
    return SectionShare(
        rate.from_ns, np.append(np.cumsum(times[::-1])[::-1], 0.0)[: rate.from_ns.size]
    )


def shorter_share(longer: SectionShare, kernel_share: float) -> FloatArray:
    """The share of kernel time in sections shorter than each `from_ns`, at least 0.

    `kernel_share` is the share of the time that was spent in the kernel.
    """
    return np.maximum(1 - longer.share / kernel_share, 0.0)


def section_length(
    found: Residuals, kernel_share: float, q: float, rate: BlockingRate | None = None
) -> SectionLength | None:
    """The length below which sections made up the share `q` of kernel time; None where there are
    too few releases: at least 10 that hit the kernel must be expected beyond `q`. `rate`: that of
    `found`, where it is known already."""
    if found.releases < values_for(q, kernel_share):
        return None
    allowed = (1 - q) * kernel_share
    longer = time_longer(rate or blocking_rate(found))
    is_within = longer.share <= allowed
    is_below = not longer.share.size or bool(is_within[0])
    value = found.start_ns if is_below else float(longer.from_ns[int(np.argmax(is_within))])
    low, high = _bounds(found, allowed)
    return SectionLength(
        q, value, is_below, min(low, value), None if high is None else max(high, value)
    )


def _bounds(found: Residuals, allowed: float) -> tuple[float, float | None]:
    """The shortest and the longest length at which the share of longer sections may be `allowed`.

    The share falls with length: above the first length whose upper bound is `allowed` it is less,
    although bounds grow again at lengths that too few releases could have met.
    """
    top = max(found.worst_ns, found.start_ns) * _BEYOND_WORST
    lengths = np.geomspace(max(found.start_ns, 1.0), max(top, 2.0), _GRID)
    least, most = _longer_bounds(found, lengths)
    may_be_shorter, is_longest = least <= allowed, most <= allowed
    first = int(np.argmax(may_be_shorter)) if may_be_shorter.any() else lengths.size - 1
    high = float(lengths[int(np.argmax(is_longest))]) if is_longest.any() else None
    return (float(lengths[first - 1]) if first else 0.0), high


def _longer_bounds(found: Residuals, lengths_ns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds of the share of time in sections longer than each of `lengths_ns`.

    For each release that time is gap P(R > x) + E max(R - x, 0) + x (intervals longer than x). Of
    what the confidence leaves, the first and the last term have half each. The second, what was
    waited beyond x, is at least 0, and at most as many times its mean as the first allows.
    """
    error = (1 - _CONFIDENCE) / 4
    surely = count_low(counts_above(found, lengths_ns, is_sure=True), error)
    perhaps = count_high(counts_above(found, lengths_ns, is_sure=False), error)
    low = found.gap_ns * surely + lengths_ns * _longer_at_least(found, lengths_ns, error)
    each_ns = found.gap_ns + lengths_ns + _waited_each(found, lengths_ns)
    high = each_ns * perhaps + lengths_ns * _seen_at_most(found, lengths_ns, error)
    time_ns = found.releases * found.per_release_ns
    return low / time_ns, high / time_ns


def _waited_each(found: Residuals, lengths_ns: FloatArray) -> FloatArray:
    """By how much residuals above each of `lengths_ns` exceed it on average; 0 without any."""
    middles = (found.lower_ns + found.upper_ns) / 2
    above = found.blocked - np.concatenate([[0.0], np.cumsum(found.count)])
    sums = np.concatenate([[0.0], np.cumsum(found.count * middles)])
    first = np.searchsorted(middles, lengths_ns, side="right")
    waited = sums[-1] - sums[first] - above[first] * lengths_ns
    return np.asarray(np.maximum(waited, 0) / np.maximum(above[first], 1), dtype=np.float64)


FloatArray = NDArray[np.float64]
_Slope = Callable[[int, int], float]


def concave_majorant(points: int, slope: _Slope) -> list[int]:
    """The corners of the least concave majorant, as places among `points` in ascending order.

    `slope` gives the slope of the line from an earlier point to a later one. The first and the
    last point are corners; from corner to corner slopes fall.
    """
    corners, slopes = [0] if points else [], list[float]()
    for place in range(1, points):
        last = slope(corners[-1], place)
        while slopes and slopes[-1] <= last:
            corners.pop()
            slopes.pop()
            last = slope(corners[-1], place)
        corners.append(place)
        slopes.append(last)
    return corners


@dataclass(frozen=True)
class Residuals:
    """The residuals of the blocked releases among `releases`, by bucket: shape (n,), ascending.

    A residual of a bucket is at least `lower_ns` and below `upper_ns`, of which `count` were seen.
    `start_ns` is the shortest that can be distinguished from the idle latency. `worst_ns` is the
    largest. `gap_ns` is the mean of the exponential time to a release, `mean_ns` that of the
    latency that follows: both together are the time for one release.
    """

    releases: int
    start_ns: float
    worst_ns: float
    lower_ns: FloatArray
    upper_ns: FloatArray
    count: FloatArray
    gap_ns: float = FAR_APART_NS
    mean_ns: float = 0.0

    @property
    def blocked(self) -> int:
        return int(self.count.sum())

    @property
    def per_release_ns(self) -> float:
        return self.gap_ns + self.mean_ns


def residuals_of(series: Series, idle: Idle, gap_ns: float = FAR_APART_NS) -> Residuals:
    """The residuals of `series`, which has the dispatch latencies. InputError if unreadable.

    `gap_ns`: the mean of the exponential time to the next release. Values beyond all buckets stand
    at the maximum.
    """
    bins = bins_of(series.histogram)
    first = least_blocked(series, idle)
    above = bins.lower >= first
    lower, count = bins.lower[above].astype(np.float64), bins.count[above].astype(np.float64)
    upper = bins.upper[above].astype(np.float64) + 1
    top = float(max(series.max or 0, first))
    if bins.overflow:
        last = float(upper[-1]) if upper.size else float(first)
        lower, count = np.append(lower, last), np.append(count, float(bins.overflow))
        upper = np.append(upper, max(top, last) + 1)
    return Residuals(
        releases=bins.total,
        start_ns=first - idle.mean_ns,
        worst_ns=top - idle.mean_ns,
        lower_ns=lower - idle.mean_ns,
        upper_ns=upper - idle.mean_ns,
        count=count,
        gap_ns=gap_ns,
        mean_ns=min(max(series.mean or 0.0, 0.0), float(MOST_NS)),
    )


_CONFIDENCE = 0.95
_WINDOWS = (1 / 4, 3 / 4)  # of x
_PARTS = 10
_SURE = 3  # 1 - exp(-3) is 95 %


@dataclass(frozen=True)
class BlockingRate:
    """Intervals longer than x, per second: `per_s` from `from_ns` on, up to the next; shape (n,).

    The last rate is 0, from the largest residual on. Empty where no release was blocked.
    """

    from_ns: FloatArray
    per_s: FloatArray

    def above(self, length_ns: float) -> float:
        """The rate of intervals longer than `length_ns`, which is not below the start."""
        place = int(np.searchsorted(self.from_ns, length_ns, side="right")) - 1
        return float(self.per_s[place]) if place >= 0 else 0.0


@dataclass(frozen=True)
class RateInterval:
    """Bounds of a rate; `high` is None where nothing bounds it."""

    low: float
    high: float | None


def blocking_rate(found: Residuals) -> BlockingRate:
    """The rate of blocking intervals of every length from `start_ns` of the residuals on."""
    if not found.blocked:
        return BlockingRate(np.zeros(0), np.zeros(0))
    x = [found.start_ns, *found.upper_ns.tolist()]
    beyond = ((found.blocked - _summed(found)) / found.releases).tolist()

    def slope(first: int, last: int) -> float:
        """Intervals longer than the stretch, for each release: those that end beyond it were hit,
        and in it as many were hit as the stretch is long."""
        hit = -expm1(-(x[last] - x[first]) / found.gap_ns)
        return float(beyond[last] + (beyond[first] - beyond[last]) / hit)

    corners = concave_majorant(len(x), slope)
    slopes = [slope(*pair) for pair in pairwise(corners)]
    per_s = np.array([*slopes, 0.0]) / found.per_release_ns * _NS_PER_S
    return BlockingRate(np.array([x[place] for place in corners]), per_s)


def rate_interval(found: Residuals, length_ns: float) -> RateInterval:
    """Bounds of the rate of intervals longer than `length_ns`, if releases are independent."""
    low, high = rate_bounds(found, np.array([length_ns]))
    return RateInterval(float(low[0]), float(high[0]) if np.isfinite(high[0]) else None)


def rate_bounds(found: Residuals, lengths_ns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds of the rate at each of `lengths_ns`, all above 0; infinite where nothing bounds it.

    Right of x the rate is at most that at x, left of it at least, however wide the window. Each of
    the windows has its share of what the confidence leaves, and of that the part beyond a tenth.
    """
    side = (1 - _CONFIDENCE) / 2
    beyond = count_high(counts_above(found, lengths_ns, is_sure=False), side / _PARTS)
    low = _longer_at_least(found, lengths_ns, side)
    high = beyond + _seen_at_most(found, lengths_ns, side - side / _PARTS)
    seconds = max(found.releases, 1) * found.per_release_ns / _NS_PER_S
    return low / seconds, high / seconds


def _longer_at_least(found: Residuals, lengths_ns: FloatArray, error: float) -> FloatArray:
    """The least number of intervals longer than each of `lengths_ns`, except with the probability
    `error`: those that are longer than the window, and those hit in it."""
    each = error / len(_WINDOWS)
    low = np.zeros(lengths_ns.shape)
    for part in _WINDOWS:
        width = part * lengths_ns
        beyond = counts_above(found, lengths_ns + width, is_sure=True)
        inside = _counts(found, lengths_ns, lengths_ns + width, is_sure=True)
        seen = count_low(inside, each - each / _PARTS) / _hit(found, width)
        low = np.maximum(low, count_low(beyond, each / _PARTS) + seen)
    return low


def _seen_at_most(found: Residuals, lengths_ns: FloatArray, error: float) -> FloatArray:
    """The largest number of intervals longer than each of `lengths_ns`, less those hit beyond it,
    except with the probability `error`; infinite where nothing bounds it."""
    each = error / len(_WINDOWS)
    high = np.full(lengths_ns.shape, np.inf)
    for part in _WINDOWS:
        width = part * lengths_ns
        inside = _counts(found, lengths_ns - width, lengths_ns, is_sure=False)
        bound = count_high(inside, each) / _hit(found, width)
        high = np.where(lengths_ns - width >= found.start_ns, np.minimum(high, bound), high)
    return high


def _hit(found: Residuals, width_ns: FloatArray) -> FloatArray:
    """The probability that a release comes within `width_ns`."""
    return np.asarray(-np.expm1(-width_ns / found.gap_ns), dtype=np.float64)


def unseen_per_s(found: Residuals, length_ns: float) -> float | None:
    """The rate below which intervals of `length_ns` may have come without a release that saw one.

    A release sees it in the part of it that is longer than `start_ns`. At this rate 3 are expected
    to be seen: about 3 / (N length) for N releases. None where it is too short to be seen at all.
    """
    visible = length_ns - found.start_ns
    if visible <= 0 or not found.releases:
        return None
    hit = -expm1(-visible / found.gap_ns)
    return _SURE / found.releases / found.per_release_ns / hit * _NS_PER_S


def count_low(count: FloatArray, error: float) -> FloatArray:
    """Lower bounds of the expected counts (Poisson), each with probability 1 - `error`."""
    from scipy import special

    return np.where(count > 0, special.gammaincinv(np.maximum(count, 1.0), error), 0.0)


def count_high(count: FloatArray, error: float) -> FloatArray:
    """Upper bounds of the expected counts (Poisson), each with probability 1 - `error`."""
    from scipy import special

    return np.asarray(special.gammaincinv(count + 1, 1 - error), dtype=np.float64)


def counts_above(found: Residuals, lengths_ns: FloatArray, *, is_sure: bool) -> FloatArray:
    """Residuals above each of `lengths_ns`: those that surely are, or those that may be."""
    below = np.searchsorted(found.lower_ns if is_sure else found.upper_ns, lengths_ns, side="right")
    return found.blocked - _summed(found)[below]


def _counts(
    found: Residuals, low_ns: FloatArray, high_ns: FloatArray, *, is_sure: bool
) -> FloatArray:
    """Residuals above `low_ns` up to `high_ns`, without or with buckets that lie partly within."""
    begins, ends = found.lower_ns, found.upper_ns
    first = np.searchsorted(begins if is_sure else ends, low_ns, side="right")
    past = np.searchsorted(ends - 1 if is_sure else begins, high_ns, side="right")
    summed = _summed(found)
    return np.maximum(summed[past] - summed[first], 0.0)


def _summed(found: Residuals) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(found.count)])
