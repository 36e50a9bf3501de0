"""The values of a histogram by rank, without arrays: of thousands of short histograms, which have a
quantile or two looked up each, making the arrays takes three times as long."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from operator import itemgetter

from hardstone.errors import InputError
from hardstone.model import Histogram
from hardstone.stats.identity import histogram_problem
from hardstone.stats.layout import edges_of, parse_layout

_count = itemgetter(1)


@dataclass(frozen=True)
class RankedCounts:
    """`reached` has, for each bucket, how many values lie in the buckets up to it."""

    buckets: list[tuple[int, int]]
    reached: list[int]
    bits: int
    underflow: int
    overflow: int

    @property
    def total(self) -> int:
        return self.underflow + self._inside + self.overflow

    @property
    def top(self) -> int:
        """The largest value of the last bucket in use; 0 where none is."""
        return self.edges_at(self._inside)[1] if self._inside else 0

    @property
    def _inside(self) -> int:
        return self.reached[-1] if self.reached else 0

    def edges_at(self, inside: int) -> tuple[int, int]:
        """The ends of the bucket with the value of rank `inside` of those that have a bucket."""
        return edges_of(self.buckets[bisect_left(self.reached, inside)][0], self.bits)


def ranked_counts_of(histogram: Histogram) -> RankedCounts:
    """InputError if the histogram is unreadable."""
    check_readable(histogram)
    buckets = histogram.buckets
    return RankedCounts(
        buckets,
        list(accumulate(map(_count, buckets))),
        parse_layout(histogram.layout),
        histogram.underflow,
        histogram.overflow,
    )


def check_readable(histogram: Histogram) -> None:
    """InputError, with the reason, if no figure can be taken from a histogram."""
    problem = histogram_problem(histogram)
    if problem is not None:
        raise InputError(f"unreadable histogram: {problem}", "measure again or repair the file")
