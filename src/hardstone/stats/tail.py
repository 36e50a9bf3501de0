"""The largest values of a histogram as exceedances of a threshold."""

from __future__ import annotations

import msgspec
import numpy as np

from hardstone.stats.histogram import Bins
from hardstone.stats.pareto_tail import FloatArray

LEAST_EXCEEDANCES = 100
MOST_EXCEEDANCES = 1000
SHARE = 0.01


class Tail(msgspec.Struct, frozen=True):
    """`exceedances`, ascending, shape (n,), are how far the values above `threshold` are above it.

    Values of one bucket are spread evenly over it; the last one is exact. `twins_count`: pairs of
    values that share a bucket.
    """

    threshold: float
    exceedances: FloatArray
    twins_count: int

    def above(self, share: float) -> FloatArray:
        """The exceedances of a higher threshold: the largest `share` of them."""
        size = self.exceedances.size
        kept = max(round(share * size), 2)
        return np.asarray(self.exceedances[size - kept :] - self.exceedances[size - kept - 1])


def tail_of(bins: Bins, largest: int) -> Tail | None:
    """The largest 1 % of the values, at most MOST_EXCEEDANCES; None if they are fewer than
    LEAST_EXCEEDANCES, or some of them overflowed."""
    wanted = min(int(bins.total * SHARE), MOST_EXCEEDANCES)
    place = edge_above(bins, wanted)
    if bins.overflow or place is None:
        return None
    count = bins.count[place + 1 :]
    if count.sum() < LEAST_EXCEEDANCES:
        return None
    threshold = float(bins.upper[place]) + 0.5
    spread = [
        low - 0.5 + (high - low + 1) * (np.arange(many) + 0.5) / many
        for low, high, many in zip(
            bins.lower[place + 1 :], bins.upper[place + 1 :], count, strict=True
        )
    ]
    values = np.concatenate(spread)
    values[-1] = max(float(largest), values[-2])
    return Tail(threshold, values - threshold, int((count * (count - 1)).sum()) // 2)


def edge_above(bins: Bins, wanted: int) -> int | None:
    """The place of the lowest bucket with at most `wanted` values above it; None without one."""
    above = bins.total - bins.underflow - np.cumsum(bins.count)
    places = np.flatnonzero(above <= wanted)
    return int(places[0]) if places.size and wanted > 0 else None
