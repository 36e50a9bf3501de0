"""Checks that the figures of a series agree with each other, which values share a bucket, and ranks
of values; needs no numpy.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, islice
from math import inf
from operator import itemgetter, le, lt
from typing import ClassVar, NamedTuple
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
NO_DISTRIBUTION = "none"
MAX_VALUE = 2**63 - 1
_MAX_BITS = 20
_PREFIX = "log-linear/"
_LINEAR = re.compile(r"linear/([1-9][0-9]{0,18})/(0|-?[1-9][0-9]{0,18})", re.ASCII)


@dataclass(frozen=True)
class LogLinear:
    """What the probe records. With e = max(floor(log2 v) - B, 0) a value v has the index
    e * 2**B + (v >> e), B being `bits`.

    Values below 2**(B+1) have a bucket of their own; above, a bucket is at most 2**-B of its value
    wide, and the indices go on without a gap. The layout is the one that HdrHistogram made known,
    counted from the first bucket.
    """

    bits: int
    least: ClassVar[int] = 0  # the lowest value that has a bucket
    is_imported: ClassVar[bool] = False

    @property
    def last(self) -> int:
        return self.index_of(MAX_VALUE)

    def index_of(self, value: int) -> int:
        if not 0 <= value <= MAX_VALUE:
            raise ValueError(f"{value} has no bucket: 0 to {MAX_VALUE}")
        shift = max(value.bit_length() - 1 - self.bits, 0)
        return (shift << self.bits) + (value >> shift)

    def edges_of(self, index: int) -> tuple[int, int]:
        if index < 0:
            raise ValueError(f"{index} is not the index of a bucket")
        shift = max((index >> self.bits) - 1, 0)
        base = index - (shift << self.bits)
        return base << shift, ((base + 1) << shift) - 1


@dataclass(frozen=True)
class Linear:
    """What other tools record: bucket i has the `width` values from `first` + i * `width` on.
    `first` may be negative."""

    width: int
    first: int
    is_imported: ClassVar[bool] = True

    @property
    def least(self) -> int:
        return self.first

    @property
    def last(self) -> int:
        return (MAX_VALUE + 1 - self.first) // self.width - 1

    def index_of(self, value: int) -> int:
        index = (value - self.first) // self.width
        if not 0 <= index <= self.last:
            raise ValueError(f"{value} has no bucket: {self.first} to {MAX_VALUE}")
        return index

    def edges_of(self, index: int) -> tuple[int, int]:
        if index < 0:
            raise ValueError(f"{index} is not the index of a bucket")
        low = self.first + index * self.width
        return low, low + self.width - 1


@dataclass(frozen=True)
class NoDistribution:
    """The source has no distribution: no value has a bucket."""

    least: ClassVar[int] = 0
    last: ClassVar[int] = -1
    is_imported: ClassVar[bool] = True

    def index_of(self, value: int) -> int:
        raise ValueError(f"{value} has no bucket: there are none")

    def edges_of(self, index: int) -> tuple[int, int]:
        raise ValueError(f"{index} is not the index of a bucket: there are none")


Layout = LogLinear | Linear | NoDistribution
DEFAULT = LogLinear(DEFAULT_BITS)


@lru_cache(maxsize=64)
def parse_layout(layout: str) -> Layout:
    """The layout of a name; InputError for one that is not known."""
    bits = layout.removeprefix(_PREFIX)
    if layout.startswith(_PREFIX) and bits.isascii() and bits.isdigit() and len(bits) <= 2:
        count = int(bits)
        if 1 <= count <= _MAX_BITS:
            return LogLinear(count)
    if layout == NO_DISTRIBUTION:
        return NoDistribution()
    found = _LINEAR.fullmatch(layout)
    if found is not None:
        width, first = int(found[1]), int(found[2])
        if width <= MAX_VALUE and -MAX_VALUE <= first <= MAX_VALUE - width:
            return Linear(width, first)
    raise InputError(
        f"histogram layout {layout[:40]!r} is not known",
        f"this version reads {_PREFIX}1 to {_PREFIX}{_MAX_BITS}, linear/WIDTH/FIRST and none: "
        "upgrade hardstone",
    )


def index_of(value: int, layout: Layout = DEFAULT) -> int:
    """Index of the bucket that holds `value`; ValueError for a value without one."""
    return layout.index_of(value)


def edges_of(index: int, layout: Layout = DEFAULT) -> tuple[int, int]:
    """Lowest and highest value, both inclusive, of the bucket `index`."""
    return layout.edges_of(index)


def has_quantiles(histogram: Histogram) -> bool:
    """Whether ranks of values are known: not where the source has no distribution, or dropped
    values and does not say how many."""
    if histogram.is_cut is True:
        return False
    return histogram.layout != NO_DISTRIBUTION or not total_count(histogram)


_ROUNDING = 1e-9  # of a mean that was added up in floating point
_index, _count = itemgetter(0), itemgetter(1)


class _Cached(NamedTuple):
    """What was found in a histogram, and what it contained then."""

    histogram: KeyedRef[int, Histogram]
    buckets: list[tuple[int, int]]
    content: tuple[str, int, int, int, object]
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
    ends = histogram.underflow, histogram.overflow
    content = (histogram.layout, len(buckets), *ends, histogram.is_cut)
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
        layout = parse_layout(histogram.layout)
    except InputError as error:
        return error.cause
    if histogram.is_cut is True and not layout.is_imported:
        return f"the layout {histogram.layout} loses no values, but is marked as cut"
    last = layout.last
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
    if previous <= last:
        return None
    if last < 0:
        return f"bucket {previous} of a source without a distribution"
    return f"bucket {previous} is past the last one, {last}"


def _is_sound(indices: list[int], counts: list[int], last: int) -> bool:
    """Whether the buckets are in order: fast, for long histograms, without what is wrong."""
    if not indices:
        return True
    ascends = all(map(lt, indices, islice(indices, 1, None)))
    return ascends and indices[0] >= 0 and indices[-1] <= last and min(counts) >= 0


def step_of(series: Series) -> int:
    """The step whose multiples an imported series has, cut off below; 1: values are exact."""
    return series.step if isinstance(series.step, int) and series.step > 1 else 1


def is_end_of_step(value: int, step: int) -> bool:
    """Whether `value` is the last of a step, such as 5999 of whole microseconds; a maximum as its
    source has it is the first of one."""
    return step > 1 and (value + 1) % step == 0


def highest_of(series: Series) -> int | None:
    """The largest value that the maximum may stand for: 34 us of whole microseconds are up to
    34 999 ns. None: the series has no maximum."""
    return None if series.max is None else series.max + step_of(series) - 1


def series_problem(series: Series) -> str | None:
    """The first contradiction in a series, in words, or None.

    Checked: a readable histogram; underflow + buckets + overflow = count; minimum, mean
    and maximum exist exactly when there is a value, the deviation when there are two;
    minimum <= mean <= maximum; the deviation is not negative, and 0 only of equal values;
    minimum and maximum lie in the first and the last bucket in use; the worst value and the
    largest of the maxima are the maximum; every integer fits into 64 bits; the interval of
    maxima is a time. The source of an imported series may lack any of the figures; its mean must be
    one that its histogram allows.
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
    layout = parse_layout(series.histogram.layout)
    given = [one is not None for one in (series.min, series.mean, series.max)]
    may_lack = layout.is_imported and series.count > 0
    if any(one != (series.count > 0) for one in given) and not may_lack:
        return "minimum, mean and maximum must exist exactly when there are values"
    # Some sources call the deviation of a single value 0.
    if series.count != 1 and (series.stddev is None) != (series.count == 0) and not may_lack:
        return "the deviation must exist exactly when there are several values"
    if not series.count:
        return None
    return (
        _moment_problem(series, layout)
        or _end_problem(series, layout)
        or _largest_problem(series)
        or _mean_problem(series, layout)
    )


def _moment_problem(series: Series, layout: Layout) -> str | None:
    least, mean, most, stddev = series.min, series.mean, series.max, series.stddev
    if least is not None and most is not None and least > most:
        return f"the minimum {least} is above the maximum {most}"
    ends = [one for one in (least, most) if one is not None]
    slack = _ROUNDING * max(map(abs, ends), default=0)
    low, high = (-inf if least is None else least - slack), (inf if most is None else most + slack)
    if mean is not None and not low <= mean <= high:
        return f"the mean {mean:.10g} is not between minimum and maximum"
    if stddev is not None and not stddev >= 0:
        return f"the deviation {stddev:.10g} is below 0"
    # What other tools print is rounded.
    if stddev == 0 and len(ends) == 2 and ends[0] < ends[1] and not layout.is_imported:
        return f"the deviation is 0, but the values are {ends[0]} to {ends[1]}"
    return None


def _end_problem(series: Series, layout: Layout) -> str | None:
    """Minimum and maximum against the ends of the histogram."""
    if isinstance(layout, NoDistribution):
        return None
    histogram, least, most = series.histogram, series.min, series.max
    first = next((index for index, count in histogram.buckets if count), None)
    last = next((index for index, count in reversed(histogram.buckets) if count), None)
    used = [layout.edges_of(index) for index in (first, last) if index is not None]
    if least is not None and (least < layout.least) != (histogram.underflow > 0):
        below = f"{histogram.underflow} values are below {layout.least}"
        return f"the minimum is {least} but {below}"
    if least is not None and used and not histogram.underflow:
        low, high = used[0]
        if not low <= least <= high and not (histogram.is_cut is True and least > high):
            return f"the minimum {least} is not in the first bucket, {low} to {high}"
    return None if most is None else _highest_problem(histogram, layout, used, most)


def _highest_problem(
    histogram: Histogram, layout: Layout, used: Sequence[tuple[int, int]], most: int
) -> str | None:
    if histogram.overflow:
        top = layout.edges_of(histogram.buckets[-1][0])[1] if histogram.buckets else None
        is_past = top is None or most > top
        return None if is_past else f"values overflowed, but the maximum {most} is in a bucket"
    if histogram.is_cut is True and used and most >= used[-1][0]:
        return None
    if used and not used[-1][0] <= most <= used[-1][1]:
        return f"the maximum {most} is not in the last bucket, {used[-1][0]} to {used[-1][1]}"
    return None if used or most < layout.least else f"the maximum {most} is in no bucket"


def _largest_problem(series: Series) -> str | None:
    """The maximum must also be the largest of the worst values and of the maxima, if kept."""
    most = series.max
    worst = [entry.value_ns for entry in series.worst]
    if worst and worst != sorted(worst, reverse=True):
        return "the worst values do not descend"
    if worst and most is not None and worst[0] != most:
        return f"the worst value is {worst[0]} but the maximum is {most}"
    largest = max([one for one in series.maxima_per_s if one is not None], default=most)
    if largest != most and most is not None:
        return f"the largest of the maxima is {largest} but the maximum is {most}"
    return None


_PRINTED_SHARE = 1e-3  # of a mean: tools print few digits


def _mean_problem(series: Series, layout: Layout) -> str | None:
    """The mean of an imported series against its histogram, which bounds it: every value by the
    edges of its bucket, one that overflowed by the last bucket and the maximum."""
    histogram, mean = series.histogram, series.mean
    if not isinstance(layout, Linear) or mean is None or histogram.is_cut is True:
        return None
    if histogram.underflow or not histogram.buckets:
        return None
    low = sum(layout.edges_of(index)[0] * count for index, count in histogram.buckets)
    high = low + (layout.width - 1) * (series.count - histogram.overflow)
    above = layout.edges_of(histogram.buckets[-1][0])[1] + 1
    least = (low + above * histogram.overflow) / series.count
    slack = step_of(series) + _PRINTED_SHARE * abs(mean)
    if mean < least - slack:
        return f"the mean {mean:.10g} is below {least:.10g}, the least that the histogram allows"
    if histogram.overflow and series.max is None:
        return None
    most = (high + (series.max or 0) * histogram.overflow) / series.count
    if mean > most + slack:
        return f"the mean {mean:.10g} is above {most:.10g}, the most that the histogram allows"
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
    as were needed so far. A median needs less than half of them. `has_quantiles` is as the
    function.
    """

    buckets: list[tuple[int, int]]
    layout: Layout
    underflow: int
    overflow: int
    total: int
    has_quantiles: bool
    reached: list[int] = field(default_factory=list, init=False)

    @property
    def least(self) -> int:
        """The lowest value that has a bucket."""
        return self.layout.least

    @property
    def top(self) -> int:
        """The largest value of the last bucket, above which what overflowed is."""
        return top_of(self.buckets, self.layout)

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
        return self.layout.edges_of(self.buckets[bisect_left(reached, inside)][0])


def top_of(buckets: Sequence[tuple[int, int]], layout: Layout) -> int:
    """The largest value of the last of `buckets`, also of one without values; where there are none,
    that of the first bucket of the layout."""
    if layout.last < 0:
        return 0
    return layout.edges_of(buckets[-1][0] if buckets else 0)[1]


def ranked_counts_of(histogram: Histogram) -> RankedCounts:
    """InputError if the histogram is unreadable."""
    check_readable(histogram)
    return RankedCounts(
        histogram.buckets,
        parse_layout(histogram.layout),
        histogram.underflow,
        histogram.overflow,
        total_count(histogram),
        has_quantiles(histogram),
    )


def check_readable(histogram: Histogram) -> None:
    """Raises InputError, with the reason, if no figure can be taken from a histogram."""
    problem = histogram_problem(histogram)
    if problem is not None:
        raise InputError(f"unreadable histogram: {problem}", "measure again or repair the file")
