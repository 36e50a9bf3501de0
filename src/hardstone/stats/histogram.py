"""Histograms as arrays and by rank: from raw values, to bucket edges with counts, and how many
are above a limit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardstone.model import Histogram, Series
from hardstone.stats.identity import (
    DEFAULT_LAYOUT,
    MAX_VALUE,
    check_readable,
    edges_of,
    index_of,
    parse_layout,
)

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Bins:
    """Buckets in use: `lower` and `upper` are inclusive edges, all int64, one shape (n,)."""

    lower: IntArray
    upper: IntArray
    count: IntArray
    underflow: int
    overflow: int

    @cached_property
    def total(self) -> int:
        return self.underflow + int(self.count.sum()) + self.overflow

    @cached_property
    def reached(self) -> IntArray:
        """How many values lie in the buckets up to each, shape (n,)."""
        return np.cumsum(self.count)

    @property
    def top(self) -> int:
        """The largest value of the last bucket; 0 where there is none."""
        return int(self.upper[-1]) if self.upper.size else 0

    def edges_at(self, inside: int) -> tuple[int, int]:
        """The ends of the bucket with the value of rank `inside` of those that have a bucket."""
        at = int(self.reached.searchsorted(inside, side="left"))
        return int(self.lower[at]), int(self.upper[at])


class _HistogramState:
    """A histogram as it is now, by identity."""

    __slots__ = ("buckets", "content", "histogram")

    def __init__(self, histogram: Histogram) -> None:
        self.histogram, self.buckets = histogram, histogram.buckets
        ends = histogram.underflow, histogram.overflow
        self.content = histogram.layout, len(histogram.buckets), *ends

    def __hash__(self) -> int:
        return id(self.histogram)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _HistogramState):
            return NotImplemented
        is_same = other.histogram is self.histogram and other.buckets is self.buckets
        return is_same and other.content == self.content


def bins_of(histogram: Histogram) -> Bins:
    """The used buckets with their edges, which nobody may write to; InputError if the histogram is
    unreadable."""
    check_readable(histogram)
    return _bins_of(_HistogramState(histogram))


@lru_cache(maxsize=128)  # the table, the chart and the notes of a series ask in turn
def _bins_of(same: _HistogramState) -> Bins:
    histogram = same.histogram
    bits = parse_layout(histogram.layout)
    # Three times as fast as an array of the list of pairs, and most of the time of a comparison.
    numbers = chain.from_iterable(histogram.buckets)
    pairs = np.fromiter(numbers, dtype=np.int64, count=2 * len(histogram.buckets)).reshape(-1, 2)
    pairs = pairs[pairs[:, 1] > 0]
    shift = np.maximum((pairs[:, 0] >> bits) - 1, 0)
    lower = (pairs[:, 0] - (shift << bits)) << shift
    width = np.left_shift(np.int64(1), shift)
    upper, count = lower + (width - 1), pairs[:, 1]
    for one in (lower, upper, count):
        one.setflags(write=False)
    return Bins(
        lower=lower,
        upper=upper,
        count=count,
        underflow=histogram.underflow,
        overflow=histogram.overflow,
    )


def histogram_of(
    values: ArrayLike, *, layout: str = DEFAULT_LAYOUT, limit: int = MAX_VALUE
) -> Histogram:
    """Histogram of raw integer `values`, shape (n,): below 0 underflow, above the bucket
    that holds `limit` overflow. So no value of a bucket that is in use overflows.
    """
    bits = parse_layout(layout)
    limit = edges_of(index_of(limit, bits), bits)[1]
    raw = np.asarray(values, dtype=np.int64).ravel()
    inside = raw[(raw >= 0) & (raw <= limit)]
    powers = np.left_shift(np.int64(1), np.arange(63, dtype=np.int64))
    log2 = np.searchsorted(powers, inside, side="right") - 1
    shift = np.maximum(log2 - bits, 0).astype(np.int64)
    indices, counts = np.unique((shift << bits) + (inside >> shift), return_counts=True)
    return Histogram(
        layout=layout,
        buckets=list(zip(indices.tolist(), counts.tolist(), strict=True)),
        underflow=int((raw < 0).sum()),
        overflow=int((raw > limit).sum()),
    )


@dataclass(frozen=True)
class Above:
    """At least `low` and at most `high` of the values are above `limit`."""

    limit: int
    low: int
    high: int

    @property
    def is_exact(self) -> bool:
        return self.low == self.high


def above(series: Series, limit: int) -> Above:
    """The values above `limit`. A limit within a bucket leaves its values open, unless the list
    of the worst values, the minimum or the maximum decides. InputError if unreadable."""
    if series.min is None or series.max is None or limit >= series.max:
        return Above(limit, 0, 0)
    if limit < series.min:
        return Above(limit, series.count, series.count)
    worst = [one.value_ns for one in series.worst]
    listed = sum(value > limit for value in worst)
    bins = bins_of(series.histogram)
    over = int(bins.count[bins.lower > limit].sum())
    within = int(bins.count[(bins.lower <= limit) & (bins.upper > limit)].sum())
    # What overflowed is above every bucket in use.
    is_past = not bins.upper.size or limit >= int(bins.upper[-1])
    certain = over + (0 if is_past else bins.overflow)
    open_count = within + (bins.overflow if is_past else 0)
    most = certain + open_count
    # All above are in the list, unless it lacks some: a run of another tool may list fewer.
    if worst and min(worst) <= limit and certain <= listed <= most:
        return Above(limit, listed, listed)
    return Above(limit, max(certain, min(listed, most), 1), most)


def above_all(found: Iterable[Series], limit: int) -> Above:
    """As `above`, for the values of several series together."""
    counts = [above(series, limit) for series in found]
    return Above(limit, sum(one.low for one in counts), sum(one.high for one in counts))
