"""Checks that the figures of a series agree with each other, which values share a bucket, and ranks
of values; needs no numpy.

With e = max(floor(log2 v) - B, 0) a value v has the index e * 2**B + (v >> e).
Values below 2**(B+1) have a bucket of their own; above, a bucket is at most
2**-B of its value wide, and the indices go on without a gap. The layout is the
one that HdrHistogram made known, counted from the first bucket.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, islice
from operator import itemgetter, le, lt
from typing import NamedTuple
from weakref import KeyedRef

from hardstone.errors import InputError
from hardstone.event_names import TIRE_COSTS
from hardstone.model import (
    YEAR_NS,
    Histogram,
    LoadReached,
    PairCost,
    Result,
    Series,
    Stopped,
    Table,
    Window,
)

DEFAULT_BITS = 10
DEFAULT_LAYOUT = f"log-linear/{DEFAULT_BITS}"
MAX_VALUE = 2**63 - 1
_MAX_BITS = 20
_PREFIX = "log-linear/"


@lru_cache(maxsize=64)
def parse_layout(layout: str) -> int:
    """Sub-bucket bits B of a layout name; InputError for a layout that is not known."""
    bits = layout.removeprefix(_PREFIX)
    if layout.startswith(_PREFIX) and bits.isascii() and bits.isdigit() and len(bits) <= 2:
        count = int(bits)
        if 1 <= count <= _MAX_BITS:
            return count
    raise InputError(
        f"histogram layout {layout[:40]!r} is not known",
        f"this version reads {_PREFIX}1 to {_PREFIX}{_MAX_BITS}: upgrade hardstone",
    )


def index_of(value: int, bits: int = DEFAULT_BITS) -> int:
    """Index of the bucket that holds `value`, 0 to MAX_VALUE."""
    if not 0 <= value <= MAX_VALUE:
        raise ValueError(f"{value} has no bucket: 0 to {MAX_VALUE}")
    shift = max(value.bit_length() - 1 - bits, 0)
    return (shift << bits) + (value >> shift)


def edges_of(index: int, bits: int = DEFAULT_BITS) -> tuple[int, int]:
    """Lowest and highest value, both inclusive, of the bucket `index`."""
    if index < 0:
        raise ValueError(f"{index} is not the index of a bucket")
    shift = max((index >> bits) - 1, 0)
    base = index - (shift << bits)
    return base << shift, ((base + 1) << shift) - 1


_ROUNDING = 1e-9  # of a mean that was added up in floating point
_index, _count = itemgetter(0), itemgetter(1)


class _Cached(NamedTuple):
    """What was found in a histogram, and what it contained then."""

    histogram: KeyedRef[int, Histogram]
    buckets: list[tuple[int, int]]
    content: tuple[str, int, int, int]
    problem: str | None
    total_count: int


# By id, while the histogram lives: a comparison asks of 8000 histograms ten times each.
_CACHED: dict[int, _Cached] = {}


def histogram_problem(histogram: Histogram) -> str | None:
    """What makes a histogram unreadable (layout, order, range, sign), or None.

    Checked once, as long as it has the same list of buckets, and as many.
    """
    return _cached(histogram).problem


def total_count(histogram: Histogram) -> int:
    """Number of recorded values, including those outside of the buckets."""
    return _cached(histogram).total_count


def _cached(histogram: Histogram) -> _Cached:
    key, buckets = id(histogram), histogram.buckets
    content = (histogram.layout, len(buckets), histogram.underflow, histogram.overflow)
    known = _CACHED.get(key)
    if known is not None and known.buckets is buckets and known.content == content:
        return known
    indices, counts = list(map(_index, buckets)), list(map(_count, buckets))
    total = histogram.underflow + sum(counts) + histogram.overflow
    problem = _histogram_problem(histogram, total, indices, counts)
    reference = KeyedRef(histogram, lambda gone: _CACHED.pop(gone.key, None), key)
    _CACHED[key] = _Cached(reference, buckets, content, problem, total)
    return _CACHED[key]


def _histogram_problem(
    histogram: Histogram, total: int, indices: list[int], counts: list[int]
) -> str | None:
    try:
        last = index_of(MAX_VALUE, parse_layout(histogram.layout))
    except InputError as error:
        return error.cause
    if min(histogram.underflow, histogram.overflow) < 0:
        return "the underflow or overflow count is negative"
    if total > MAX_VALUE:
        return "the counts do not fit into 63 bits"
    if _is_sound(indices, counts, last):
        return None
    return _bucket_problem(histogram.buckets, last)


def _bucket_problem(buckets: list[tuple[int, int]], last: int) -> str | None:
    previous = -1
    for index, count in buckets:
        if index <= previous:
            return f"bucket {index} does not ascend"
        if count < 0:
            return f"bucket {index} has a negative count"
        previous = index
    return f"bucket {previous} is past the last one, {last}" if previous > last else None


def _is_sound(indices: list[int], counts: list[int], last: int) -> bool:
    """Whether the buckets are in order: fast, for long histograms, without what is wrong."""
    if not indices:
        return True
    ascends = all(map(lt, indices, islice(indices, 1, None)))
    return ascends and indices[0] >= 0 and indices[-1] <= last and min(counts) >= 0


def series_problem(series: Series) -> str | None:
    """The first contradiction in a series, in words, or None.

    Checked: a readable histogram; underflow + buckets + overflow = count; minimum, mean
    and maximum exist exactly when there is a value, the deviation when there are two;
    minimum <= mean <= maximum; the deviation is not negative, and 0 only of equal values;
    minimum and maximum lie in the first and the last bucket in use; the worst value and the
    largest of the maxima are the maximum; every integer fits into 64 bits; the interval of
    maxima is a time.
    """
    problem = (
        histogram_problem(series.histogram) or _range_problem(series) or _stopped_problem(series)
    )
    if problem is not None:
        return problem
    total = total_count(series.histogram)
    if total != series.count:
        return f"the histogram holds {total} values but the count is {series.count}"
    return _figure_problem(series)


def _stopped_problem(series: Series) -> str | None:
    if not isinstance(series.stopped, Stopped):
        return None
    if series.stopped.count < 1 or series.stopped.count + series.count > MAX_VALUE:
        return f"{series.stopped.count} values were set aside because of a stop"
    return None if series.stopped.worst > 0 else "the worst value of a stop is not above 0"


def _figure_problem(series: Series) -> str | None:
    figures = (series.min, series.mean, series.max)
    if any((figure is None) != (series.count == 0) for figure in figures):
        return "minimum, mean and maximum must exist exactly when there are values"
    # Some sources call the deviation of a single value 0.
    if series.count != 1 and (series.stddev is None) != (series.count == 0):
        return "the deviation must exist exactly when there are several values"
    if series.min is None or series.mean is None or series.max is None:
        return None
    return (
        _moment_problem(series, series.min, series.mean, series.max)
        or _end_problem(series, series.min, series.max)
        or _largest_problem(series, series.max)
    )


def _moment_problem(series: Series, least: int, mean: float, most: int) -> str | None:
    if least > most:
        return f"the minimum {least} is above the maximum {most}"
    slack = _ROUNDING * max(abs(least), abs(most))
    if not least - slack <= mean <= most + slack:
        return f"the mean {mean:.10g} is not between minimum and maximum"
    if series.stddev is not None and not series.stddev >= 0:
        return f"the deviation {series.stddev:.10g} is below 0"
    if series.stddev == 0 and least < most:
        return f"the deviation is 0, but the values are {least} to {most}"
    return None


def _end_problem(series: Series, least: int, most: int) -> str | None:
    """Minimum and maximum against the ends of the histogram."""
    histogram = series.histogram
    bits = parse_layout(histogram.layout)
    first = next((index for index, count in histogram.buckets if count), None)
    last = next((index for index, count in reversed(histogram.buckets) if count), None)
    used = [edges_of(index, bits) for index in (first, last) if index is not None]
    if (least < 0) != (histogram.underflow > 0):
        return f"the minimum is {least} but {histogram.underflow} values are below 0"
    if used and not histogram.underflow and not used[0][0] <= least <= used[0][1]:
        return f"the minimum {least} is not in the first bucket, {used[0][0]} to {used[0][1]}"
    if histogram.overflow:
        is_past = not used or most > used[-1][1]
        return None if is_past else f"values overflowed, but the maximum {most} is in a bucket"
    if used and not used[-1][0] <= most <= used[-1][1]:
        return f"the maximum {most} is not in the last bucket, {used[-1][0]} to {used[-1][1]}"
    return None if used or most < 0 else f"the maximum {most} is in no bucket"


def _largest_problem(series: Series, most: int) -> str | None:
    """The maximum must also be the largest of the worst values and of the maxima, if kept."""
    worst = [entry.value_ns for entry in series.worst]
    if worst and worst != sorted(worst, reverse=True):
        return "the worst values do not descend"
    if worst and worst[0] != most:
        return f"the worst value is {worst[0]} but the maximum is {most}"
    largest = max([one for one in series.maxima_per_s if one is not None], default=most)
    if largest != most:
        return f"the largest of the maxima is {largest} but the maximum is {most}"
    return None


def pair_problem(pair: PairCost) -> str | None:
    """A contradiction in the cost of time-stamp pairs, or None."""
    if pair.count < 0:
        return "the count of time-stamp pairs is negative"
    if not pair.min <= pair.median <= pair.p99 <= pair.max:
        return "minimum, median, 99 % and maximum of the time-stamp pairs do not ascend"
    if not pair.min <= pair.mean <= pair.max:
        return "the mean of the time-stamp pairs is not between minimum and maximum"
    return None


_LONGEST_TICK_NS = 10_000_000  # of a kernel's timer


def has_observed(result: Result) -> bool:
    """Whether anything is behind `result`: a value, a verdict, costs of a step, or a loop that
    watched for so long that a tick of the kernel was due."""
    if any(event.name == TIRE_COSTS for event in result.events):
        return True
    if result.verdicts or any(series.count for series in result.series):
        return True
    return sum(one.end_ns - one.begin_ns for one in result.windows) >= _LONGEST_TICK_NS


def observation_problem(result: Result) -> str | None:
    """The contradiction in a result that observed nothing, or None."""
    if result.status != "measured" or has_observed(result):
        return None
    return "measured without a value or a verdict: nothing was observed"


def duration_problem(duration_ns: int) -> str | None:
    """What is wrong with a measuring time, or None."""
    return f"a duration of {duration_ns} ns is negative" if duration_ns < 0 else None


def load_problem(reached: LoadReached) -> str | None:
    """The contradiction in the load that an element reached, or None."""
    is_below = min(reached.reached, reached.asked or 0.0, reached.processes) < 0
    return "below nothing" if is_below else None


def _range_problem(series: Series) -> str | None:
    kept = [one for one in series.maxima_per_s if one is not None]
    figures = [one for one in (series.min, series.max) if one is not None]
    figures += [entry.value_ns for entry in series.worst]
    figures += [entry.at_ns for entry in series.worst]
    figures += [entry.index for entry in series.worst]
    figures += kept
    if figures and not -MAX_VALUE <= min(figures) <= max(figures) <= MAX_VALUE:
        return "a value does not fit into 64 bits"
    if not 0 < series.maxima_interval_ns * max(1, len(series.maxima_per_s)) <= MAX_VALUE:
        return "the interval of the maxima is not a time"
    return None


def window_problem(window: Window) -> str | None:
    """What makes the gaps of a window impossible, or None.

    Checked: times from 0 to a hundred years; as many distances as lengths; gaps that follow each
    other and end in the window; counts that are not negative.
    """
    if not 0 <= window.begin_ns <= window.end_ns <= 100 * YEAR_NS:
        return f"the window from {window.begin_ns} to {window.end_ns} ns is impossible"
    if len(window.distance_ns) != len(window.length_ns):
        return f"{len(window.distance_ns)} distances of {len(window.length_ns)} gaps"
    if (problem := _gap_problem(window)) is not None:
        return problem
    counts = (window.counted_ns, window.interrupts_count, window.timer_interrupts_count)
    if min(window.dropped_count, *(one for one in counts if one is not None), 0) < 0:
        return "a count is negative"
    return None


def _gap_problem(window: Window) -> str | None:
    if _is_in_order(window):
        return None
    begin_ns = end_ns = window.begin_ns
    for distance_ns, length_ns in zip(window.distance_ns, window.length_ns, strict=True):
        begin_ns += distance_ns
        if begin_ns < end_ns or length_ns < 0:
            return f"the gap at {begin_ns} ns starts before the previous one ended"
        end_ns = begin_ns + length_ns
    return None if end_ns <= window.end_ns else f"a gap ends at {end_ns} ns, after its window"


def _is_in_order(window: Window) -> bool:
    """Whether the gaps follow each other: fast, for many gaps, without what is wrong."""
    distances, lengths = window.distance_ns, window.length_ns
    if not distances:
        return True
    follow = distances[0] >= 0 and all(map(le, lengths, islice(distances, 1, None)))
    end_ns = window.begin_ns + sum(distances) + lengths[-1]
    return follow and min(lengths) >= 0 and end_ns <= window.end_ns


def table_problem(table: Table) -> str | None:
    """What makes a table impossible, or None: no columns, or columns of unequal length."""
    lengths = {len(column) for column in table.columns.values()}
    if not lengths:
        return "it has no columns"
    if len(lengths) > 1:
        return f"its columns have from {min(lengths)} to {max(lengths)} rows"
    return None


def windows_problem(windows: Sequence[Window]) -> str | None:
    """What makes one of the windows, or their order, impossible; or None."""
    end_ns = 0
    for number, window in enumerate(windows):
        problem = window_problem(window)
        if problem is None and window.begin_ns < end_ns:
            problem = "it starts before the previous one ended"
        if problem is not None:
            return f"window {number}: {problem}"
        end_ns = window.end_ns
    return None


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
                raise ValueError(f"there is no value of rank {inside}: there are only {so_far}")
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
    """Raises InputError, with the reason, if no figure can be taken from a histogram."""
    problem = histogram_problem(histogram)
    if problem is not None:
        raise InputError(f"unreadable histogram: {problem}", "measure again or repair the file")
