"""How often a value is exceeded, and the upper bound for a value that never occurred."""

from __future__ import annotations

from math import ceil, log1p

import msgspec
import numpy as np

from hardstone.model import Histogram
from hardstone.stats.histogram import IntArray, bins_of

CONFIDENCE = 0.95


class ExceedancePoint(msgspec.Struct, kw_only=True, frozen=True):
    """`count` of the values, a share of `probability`, lie above `value`. Exact, no binning."""

    value: int
    count: int
    probability: float


def exceedance(histogram: Histogram) -> list[ExceedancePoint]:
    """The complementary distribution function at the upper edge of each used bucket.

    It starts at -1; without underflow that first point has probability 1. Every count includes
    the values that overflowed, so the last point is above 0 if there are any.
    """
    values, above, total = counts_above(histogram)
    if total == 0:
        return []
    edges = [
        (-1, total - histogram.underflow),
        *zip(values.tolist(), above.tolist(), strict=True),
    ]
    return [
        ExceedancePoint(value=value, count=count, probability=count / total)
        for value, count in edges
    ]


def counts_above(histogram: Histogram) -> tuple[IntArray, IntArray, int]:
    """The upper edge of each used bucket, ascending, how many values lie above each, both shape
    (n,), and the number of all. InputError if the histogram is unreadable."""
    bins = bins_of(histogram)
    return bins.upper, bins.total - bins.underflow - bins.reached, bins.total


def values_to_bound(share: float, confidence: float = CONFIDENCE) -> int:
    """The fewest values that, none of them above, bound the share above by `share`: see
    `upper_bound`. About 3/share at 95 %."""
    return ceil(log1p(-confidence) / log1p(-share) * (1 - 1e-12))


def upper_bound(events: int, total: int, confidence: float = CONFIDENCE) -> float:
    """Bound on the probability of an event that occurred `events` times in `total` samples.

    Without an event: 1 - (1 - confidence)**(1/total), about 3/total at 95 %. Otherwise
    chi2.ppf(confidence, 2(events + 1)) / (2 total) (Poisson). Never above 1.
    """
    if not 0 <= events <= total:
        raise ValueError(f"{events} events in {total} samples")
    if total == 0:
        return 1.0
    if events == 0:
        return float(-np.expm1(np.log1p(-confidence) / total))
    from scipy import special

    return min(1.0, float(special.gammaincinv(events + 1, confidence)) / total)
