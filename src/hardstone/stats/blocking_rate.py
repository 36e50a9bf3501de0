"""How often the CPU is blocked for longer than x, from residuals at random moments.

The density of the residual at x, over all releases, is the rate of blocking intervals longer than x
(docs/method.md). So it never rises, and is estimated as such (Grenander): the slope of the least
concave majorant of the residuals' distribution. The interval at x uses the same: counts left and
right of x, in windows that are chosen before the data are seen, bound the density at x.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from hardstone.stats.concave_majorant import FloatArray, concave_majorant
from hardstone.stats.residuals import Residuals

CONFIDENCE = 0.95
_WINDOWS = (1 / 8, 1 / 4, 1 / 2, 1.0)  # of x
_NS_PER_S = 1e9
_SURE = 3  # 1 - exp(-3) is 95 %


@dataclass(frozen=True)
class BlockingRate:
    """Intervals longer than x, per second: `per_s` from `from_ns` on, up to the next; shape (n,).

    The last rate is 0, from the largest residual on. Empty where no release was blocked.
    `reached` is the share of releases with a residual up to `from_ns`.
    """

    from_ns: FloatArray
    per_s: FloatArray
    reached: FloatArray

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
        return BlockingRate(*(np.zeros(0),) * 3)
    x = np.concatenate([[found.start_ns], found.upper_ns])
    y = np.concatenate([[0.0], np.cumsum(found.count)]) / found.releases
    corner_x, corner_y = concave_majorant(x, y)
    slopes = np.diff(corner_y) / np.diff(corner_x) * _NS_PER_S
    return BlockingRate(corner_x, np.append(slopes, 0.0), corner_y)


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

    Right of x the density is at most that at x, left of it at least, however wide the window. Each
    of the windows has its share of what the confidence leaves.
    """
    error = (1 - confidence) / 2 / len(_WINDOWS)
    low, high = np.zeros(lengths_ns.shape), np.full(lengths_ns.shape, np.inf)
    for part in _WINDOWS:
        width = part * lengths_ns
        expected = max(found.releases, 1) * width / _NS_PER_S  # for one interval a second
        surely = _counts(found, lengths_ns, lengths_ns + width, is_sure=True)
        low = np.maximum(low, count_low(surely, error) / expected)
        perhaps = _counts(found, lengths_ns - width, lengths_ns, is_sure=False)
        bound = count_high(perhaps, error) / expected
        high = np.where(lengths_ns - width >= found.start_ns, np.minimum(high, bound), high)
    return low, high


def unseen_per_s(found: Residuals, length_ns: float) -> float | None:
    """The rate below which intervals of `length_ns` may have come without a release that saw one.

    A release sees it in the part of it that is longer than `start_ns`, so 3 are expected among N at
    the rate 3 / (N length). None where the interval is too short to be seen at all.
    """
    visible = length_ns - found.start_ns
    if visible <= 0 or not found.releases:
        return None
    return _SURE / found.releases / visible * _NS_PER_S


def count_low(count: FloatArray, error: float) -> FloatArray:
    """What the expected counts (Poisson) are at least, each with probability 1 - `error`."""
    return np.where(count > 0, special.gammaincinv(np.maximum(count, 1.0), error), 0.0)


def count_high(count: FloatArray, error: float) -> FloatArray:
    """What the expected counts (Poisson) are at most, each with probability 1 - `error`."""
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
