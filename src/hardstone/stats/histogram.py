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
    Layout,
    Linear,
    LogLinear,
    check_readable,
    has_quantiles,
    highest_of,
    parse_layout,
    step_of,
    top_of,
)

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Bins:
    """Buckets in use: `lower` and `upper` are inclusive edges, all int64, one shape (n,).

    `least` is the lowest value that has a bucket, `top` the largest of the last bucket, above which
    what overflowed is. `has_quantiles`: whether ranks of values are known.
    """

    lower: IntArray
    upper: IntArray
    count: IntArray
    underflow: int
    overflow: int
    least: int
    top: int
    has_quantiles: bool

    @cached_property
    def total(self) -> int:
        return self.underflow + int(self.count.sum()) + self.overflow

    @cached_property
    def reached(self) -> IntArray:
        """How many values lie in the buckets up to each, shape (n,)."""
        return np.cumsum(self.count)

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
        self.content = histogram.layout, len(histogram.buckets), *ends, histogram.is_cut

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
    layout = parse_layout(histogram.layout)
    # Three times as fast as an array of the list of pairs, and most of the time of a comparison.
    numbers = chain.from_iterable(histogram.buckets)
    pairs = np.fromiter(numbers, dtype=np.int64, count=2 * len(histogram.buckets)).reshape(-1, 2)
    pairs = pairs[pairs[:, 1] > 0]
    lower, upper = _edges_of(pairs[:, 0], layout)
    count = pairs[:, 1]
    for one in (lower, upper, count):
        one.setflags(write=False)
    return Bins(
        lower=lower,
        upper=upper,
        count=count,
        underflow=histogram.underflow,
        overflow=histogram.overflow,
        least=layout.least,
        top=top_of(histogram.buckets, layout),
        has_quantiles=has_quantiles(histogram),
    )


def _edges_of(index: IntArray, layout: Layout) -> tuple[IntArray, IntArray]:
    """The lowest and highest values of many buckets, shape (n,)."""
    if isinstance(layout, LogLinear):
        shift = np.maximum((index >> layout.bits) - 1, 0)
        lower = (index - (shift << layout.bits)) << shift
        return lower, lower + (np.left_shift(np.int64(1), shift) - 1)
    if isinstance(layout, Linear):
        lower = layout.first + index * layout.width
        return lower, lower + (layout.width - 1)
    return index, index  # there are none


def histogram_of(
    values: ArrayLike, *, layout: str = DEFAULT_LAYOUT, limit: int = MAX_VALUE
) -> Histogram:
    """Histogram of raw integer `values`, shape (n,): below the first bucket underflow, above the
    bucket that holds `limit` overflow. So no value of a bucket that is in use overflows.
    """
    found = parse_layout(layout)
    raw = np.asarray(values, dtype=np.int64).ravel()
    if not isinstance(found, LogLinear | Linear):
        return Histogram(layout=layout, buckets=[], overflow=raw.size)
    limit = found.edges_of(found.index_of(min(limit, found.edges_of(found.last)[1])))[1]
    inside = raw[(raw >= found.least) & (raw <= limit)]
    indices, counts = np.unique(_indices_of(inside, found), return_counts=True)
    return Histogram(
        layout=layout,
        buckets=list(zip(indices.tolist(), counts.tolist(), strict=True)),
        underflow=int((raw < found.least).sum()),
        overflow=int((raw > limit).sum()),
    )


def _indices_of(values: IntArray, layout: LogLinear | Linear) -> IntArray:
    """The indices of the buckets of many values that have one, shape (n,)."""
    if isinstance(layout, Linear):
        return (values - layout.first) // layout.width
    powers = np.left_shift(np.int64(1), np.arange(63, dtype=np.int64))
    log2 = np.searchsorted(powers, values, side="right") - 1
    shift = np.maximum(log2 - layout.bits, 0).astype(np.int64)
    return np.asarray((shift << layout.bits) + (values >> shift), dtype=np.int64)


@dataclass(frozen=True)
class Above:
    """At least `low` and at most `high` of the values are above `limit`. `high` is None where
    nobody counted them: the source of an imported series dropped values."""

    limit: int
    low: int
    high: int | None

    @property
    def is_exact(self) -> bool:
        return self.low == self.high


def above(series: Series, limit: int) -> Above:
    """The values above `limit`. A limit within a bucket, or within the step of an imported value,
    leaves them open, unless the list of the worst values, the minimum or the maximum decides.
    InputError if unreadable."""
    highest = highest_of(series)
    if not series.count or (highest is not None and limit >= highest):
        return Above(limit, 0, 0)
    bins = bins_of(series.histogram)
    is_cut = series.histogram.is_cut is True
    if series.min is not None and limit < series.min:
        return Above(limit, series.count, None if is_cut else series.count)
    certain, most = _counts_above(bins, limit)
    slack = step_of(series) - 1
    worst = [one.value_ns for one in series.worst]
    listed = sum(value > limit for value in worst)
    is_listed = bool(worst) and min(worst) + slack <= limit
    has_open = any(value <= limit < value + slack for value in worst)
    # All above are in the list, unless it lacks some: a run of another tool may list fewer.
    if is_listed and not has_open and not is_cut and certain <= listed <= most:
        return Above(limit, listed, listed)
    is_one = series.max is not None and limit < series.max
    if series.min is not None and series.min + slack <= limit:
        most = min(most, series.count - 1)
    return Above(limit, max(certain, min(listed, most), int(is_one)), None if is_cut else most)


def _counts_above(bins: Bins, limit: int) -> tuple[int, int]:
    """How many values are above `limit` for certain, and at most, by the buckets alone."""
    over = int(bins.count[bins.lower > limit].sum())
    open_count = int(bins.count[(bins.lower <= limit) & (bins.upper > limit)].sum())
    # What overflowed is above every bucket.
    is_past = not bins.upper.size or limit >= bins.top
    if not is_past:
        over += bins.overflow
    else:
        open_count += bins.overflow
    if limit < bins.least - 1:
        open_count += bins.underflow
    return over, over + open_count


def above_all(found: Iterable[Series], limit: int) -> Above:
    """As `above`, for the values of several series together."""
    counts = [above(series, limit) for series in found]
    known = [one.high for one in counts if one.high is not None]
    high = sum(known) if len(known) == len(counts) else None
    return Above(limit, sum(one.low for one in counts), high)
