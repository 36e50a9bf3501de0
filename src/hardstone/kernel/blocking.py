"""How often the CPU is blocked for longer than x, from dispatch latencies at random moments.

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

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, expm1

import numpy as np
from numpy.typing import NDArray

from hardstone.model import Series
from hardstone.stats.histogram import bins_of
from hardstone.stats.identity import edges_of, index_of, parse_layout

FloatArray = NDArray[np.float64]
Slope = Callable[[int, int], float]


def concave_majorant(points: int, slope: Slope) -> list[int]:
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


LEAST_IDLE = 100  # fewer releases give no standard deviation worth the name
FAR_APART_NS = 1e15  # releases so far apart that no interval could meet two
_DEVIATIONS = 3
_MOST_NS = 2**62  # of a damaged document


@dataclass(frozen=True)
class Idle:
    """The idle latency. `limit_ns`: nothing at or below it is taken for blocking."""

    count: int
    mean_ns: float
    stddev_ns: float

    @property
    def limit_ns(self) -> float:
        return self.mean_ns + _DEVIATIONS * self.stddev_ns


@dataclass(frozen=True)
class Residuals:
    """The residuals of the blocked releases among `releases`, by bucket: shape (n,), ascending.

    A residual of a bucket is at least `lower_ns` and below `upper_ns`, of which `count` were seen.
    `start_ns` is the shortest that is told from the idle latency. `worst_ns` is the largest.
    `gap_ns` is the mean of the exponential time to a release, `mean_ns` that of the latency that
    follows: both together are the time for one release.
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


def idle_of(series: Series) -> Idle | None:
    """The idle latency from the series of the reference; None where it has too few values."""
    if series.count < LEAST_IDLE or series.mean is None or series.stddev is None:
        return None
    found = Idle(series.count, series.mean, series.stddev)
    is_possible = 0 <= found.mean_ns <= found.limit_ns < _MOST_NS
    return found if is_possible else None


def residuals_of(series: Series, idle: Idle, gap_ns: float = FAR_APART_NS) -> Residuals:
    """The residuals of `series`, which has the dispatch latencies. InputError if unreadable.

    `gap_ns`: the mean of the exponential time to the next release. The limit is rounded up to the
    end of its bucket, so that the count above it is exact. Values beyond all buckets stand at the
    maximum.
    """
    bins = bins_of(series.histogram)
    bits = parse_layout(series.histogram.layout)
    first = edges_of(index_of(max(ceil(idle.limit_ns), 0), bits), bits)[1] + 1
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
        mean_ns=min(max(series.mean or 0.0, 0.0), float(_MOST_NS)),
    )


CONFIDENCE = 0.95
_WINDOWS = (1 / 4, 3 / 4)  # of x
_PARTS = 10
_NS_PER_S = 1e9
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
        return BlockingRate(*(np.zeros(0),) * 2)
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


def rate_interval(
    found: Residuals, length_ns: float, confidence: float = CONFIDENCE
) -> RateInterval:
    """Bounds of the rate of intervals longer than `length_ns`, if releases are independent."""
    low, high = rate_bounds(found, np.array([length_ns]), confidence)
    return RateInterval(float(low[0]), float(high[0]) if np.isfinite(high[0]) else None)


def rate_bounds(
    found: Residuals, lengths_ns: FloatArray, confidence: float = CONFIDENCE
) -> tuple[FloatArray, FloatArray]:
    """Bounds of the rate at each of `lengths_ns`, all above 0; infinite where nothing bounds it.

    Right of x the rate is at most that at x, left of it at least, however wide the window. Each of
    the windows has its share of what the confidence leaves, and of that the part beyond a tenth.
    """
    side = (1 - confidence) / 2
    beyond = count_high(counts_above(found, lengths_ns, is_sure=False), side / _PARTS)
    low = longer_at_least(found, lengths_ns, side)
    high = beyond + seen_at_most(found, lengths_ns, side - side / _PARTS)
    seconds = max(found.releases, 1) * found.per_release_ns / _NS_PER_S
    return low / seconds, high / seconds


def longer_at_least(found: Residuals, lengths_ns: FloatArray, error: float) -> FloatArray:
    """What the number of intervals longer than each of `lengths_ns` is at least, except with the
    probability `error`: those that are longer than the window, and those hit in it."""
    each = error / len(_WINDOWS)
    low = np.zeros(lengths_ns.shape)
    for part in _WINDOWS:
        width = part * lengths_ns
        beyond = counts_above(found, lengths_ns + width, is_sure=True)
        inside = _counts(found, lengths_ns, lengths_ns + width, is_sure=True)
        seen = count_low(inside, each - each / _PARTS) / _hit(found, width)
        low = np.maximum(low, count_low(beyond, each / _PARTS) + seen)
    return low


def seen_at_most(found: Residuals, lengths_ns: FloatArray, error: float) -> FloatArray:
    """What the number of intervals longer than each of `lengths_ns`, less those hit beyond it, is
    at most, except with the probability `error`; infinite where nothing bounds it."""
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
    """What the expected counts (Poisson) are at least, each with probability 1 - `error`."""
    from scipy import special

    return np.where(count > 0, special.gammaincinv(np.maximum(count, 1.0), error), 0.0)


def count_high(count: FloatArray, error: float) -> FloatArray:
    """What the expected counts (Poisson) are at most, each with probability 1 - `error`."""
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
