"""The values of a histogram by rank, without arrays: of thousands of short histograms, which have a
quantile or two looked up each, making the arrays takes three times as long."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import accumulate, islice
from operator import itemgetter

from hardstone.errors import InputError
from hardstone.model import Histogram
from hardstone.stats.identity import histogram_problem, total_count
from hardstone.stats.layout import edges_of, parse_layout

_count = itemgetter(1)
_STEP = 256


@dataclass(frozen=True)
class RankedCounts:
    """`total` counts the values outside of all buckets too.

    `reached` has, for each bucket, how many values lie in the buckets up to it: for as many buckets
    as were needed so far. A median needs less than half of them.
    """

    buckets: list[tuple[int, int]]
    bits: int
    underflow: int
    overflow: int
    total: int
    reached: list[int] = field(default_factory=list, init=False)

    @property
    def top(self) -> int:
        """The largest value of the last bucket in use; 0 where none is."""
        last = next((index for index, count in reversed(self.buckets) if count), None)
        return 0 if last is None else edges_of(last, self.bits)[1]

    def edges_at(self, inside: int) -> tuple[int, int]:
        """The ends of the bucket with the value of rank `inside` of those that have a bucket.

        ValueError where there are fewer values.
        """
        reached = self.reached
        while not reached or reached[-1] < inside:
            begin, so_far = len(reached), reached[-1] if reached else 0
            if begin == len(self.buckets):
                raise ValueError(f"no value has the rank {inside}: there are {so_far}")
            counts = map(_count, self.buckets[begin : begin + _STEP])
            reached.extend(islice(accumulate(counts, initial=so_far), 1, None))
        return edges_of(self.buckets[bisect_left(reached, inside)][0], self.bits)


def ranked_counts_of(histogram: Histogram) -> RankedCounts:
    """InputError if the histogram is unreadable."""
    check_readable(histogram)
    return RankedCounts(
        histogram.buckets,
        parse_layout(histogram.layout),
        histogram.underflow,
        histogram.overflow,
        total_count(histogram),
    )


def check_readable(histogram: Histogram) -> None:
    """InputError, with the reason, if no figure can be taken from a histogram."""
    problem = histogram_problem(histogram)
    if problem is not None:
        raise InputError(f"unreadable histogram: {problem}", "measure again or repair the file")
