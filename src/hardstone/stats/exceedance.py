"""How often a value is exceeded, and the bound for what was never seen."""

from __future__ import annotations

import msgspec
import numpy as np
from scipy import special

from hardstone.model import Histogram
from hardstone.stats.histogram import Bins, bins_of

CONFIDENCE = 0.95


class ExceedancePoint(msgspec.Struct, kw_only=True, frozen=True):
    """`count` of the values, a share of `probability`, lie above `value`. Exact, no binning."""

    value: int
    count: int
    probability: float


class DeadlineMiss(msgspec.Struct, kw_only=True, frozen=True):
    """Values above a deadline: from `least` to `most` of `total`, as the bucket allows.

    `low` and `high` enclose the probability at `confidence` (Clopper-Pearson, exact).
    """

    deadline: int
    total: int
    least: int
    most: int
    low: float
    high: float
    confidence: float


def exceedance(histogram: Histogram) -> list[ExceedancePoint]:
    """The complementary distribution function at the upper edge of each used bucket.

    Starts at -1 when there is no underflow, so that the first point has probability 1.
    Values that overflowed are in each count, so the last point is above 0 if there are any.
    """
    bins = bins_of(histogram)
    total = bins.total
    if total == 0:
        return []
    above = total - bins.underflow - np.cumsum(bins.count)
    edges = [(-1, total - bins.underflow), *zip(bins.upper.tolist(), above.tolist(), strict=True)]
    return [
        ExceedancePoint(value=value, count=count, probability=count / total)
        for value, count in edges
    ]


def upper_bound(events: int, total: int, confidence: float = CONFIDENCE) -> float:
    """Bound on the probability of an event that occurred `events` times in `total` samples.

    None seen: 1 - (1 - confidence)**(1/total), about 3/total at 95 %. Otherwise
    chi2.ppf(confidence, 2(events + 1)) / (2 total) (Poisson). Never above 1.
    """
    if not 0 <= events <= total:
        raise ValueError(f"{events} events in {total} samples")
    if total == 0:
        return 1.0
    if events == 0:
        return float(-np.expm1(np.log1p(-confidence) / total))
    return min(1.0, float(special.gammaincinv(events + 1, confidence)) / total)


def samples_for(probability: float, confidence: float = CONFIDENCE) -> int:
    """Samples without an event needed to claim that it is rarer than `probability`."""
    if not 0 < probability < 1:
        raise ValueError(f"{probability} is not a probability between 0 and 1")
    return int(np.ceil(np.log1p(-confidence) / np.log1p(-probability)))


def clopper_pearson(events: int, total: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Exact two-sided interval for a probability (Clopper and Pearson, 1934)."""
    if not 0 <= events <= total:
        raise ValueError(f"{events} events in {total} samples")
    tail = (1 - confidence) / 2
    low = 0.0 if events == 0 else float(special.betaincinv(events, total - events + 1, tail))
    rest = total - events
    high = 1.0 if rest == 0 else float(special.betaincinv(events + 1, rest, 1 - tail))
    return low, high


def deadline_miss(
    histogram: Histogram, deadline: int, *, confidence: float = CONFIDENCE
) -> DeadlineMiss:
    """How often `deadline` was exceeded, and an interval for the probability of that.

    A deadline inside a bucket, or past the last one while values overflowed, leaves
    the count open between `least` and `most`; the interval spans both.
    """
    bins = bins_of(histogram)
    least, most = _count_above(bins, deadline)
    return DeadlineMiss(
        deadline=deadline,
        total=bins.total,
        least=least,
        most=most,
        low=clopper_pearson(least, bins.total, confidence)[0],
        high=clopper_pearson(most, bins.total, confidence)[1],
        confidence=confidence,
    )


def _count_above(bins: Bins, deadline: int) -> tuple[int, int]:
    """Fewest and most values that can be strictly above `deadline`."""
    least = int(bins.count[bins.lower > deadline].sum())
    most = int(bins.count[bins.upper > deadline].sum()) + bins.overflow
    top = int(bins.upper[-1]) if bins.upper.size else -1
    if deadline <= top:
        least += bins.overflow
    if deadline < -1:
        most += bins.underflow
    return least, most
