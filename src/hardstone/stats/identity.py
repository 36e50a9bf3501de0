"""The claims that a series makes about itself, checked without any library."""

from __future__ import annotations

from itertools import chain

from hardstone.errors import InputError
from hardstone.model import Histogram, Series
from hardstone.stats.layout import MAX_VALUE, last_index, parse_layout


def histogram_problem(histogram: Histogram) -> str | None:
    """What makes a histogram unreadable (layout, order, range, sign), or None."""
    try:
        last = last_index(parse_layout(histogram.layout))
    except InputError as error:
        return error.cause
    if min(histogram.underflow, histogram.overflow) < 0:
        return "underflow or overflow is negative"
    if total_count(histogram) > MAX_VALUE:
        return "the counts do not fit into 63 bits"
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


def total_count(histogram: Histogram) -> int:
    """Values recorded, those outside of the buckets too."""
    inside = sum(count for _, count in histogram.buckets)
    return histogram.underflow + inside + histogram.overflow


def series_problem(series: Series) -> str | None:
    """The identity that a series breaks, in words, or None.

    Held: a readable histogram; underflow + buckets + overflow = count; minimum, mean
    and maximum exist exactly when there is a value, the deviation when there are two;
    minimum is not above maximum; every integer fits into 64 bits; the interval of
    maxima is a time.
    """
    problem = histogram_problem(series.histogram) or _range_problem(series)
    if problem is not None:
        return problem
    held = total_count(series.histogram)
    if held != series.count:
        return f"the histogram holds {held} values and the count says {series.count}"
    return _figure_problem(series)


def _figure_problem(series: Series) -> str | None:
    figures = (series.min, series.mean, series.max)
    if any((figure is None) != (series.count == 0) for figure in figures):
        return "minimum, mean and maximum must exist exactly when there are values"
    # Some sources call the deviation of a single value 0.
    if series.count != 1 and (series.stddev is None) != (series.count == 0):
        return "the deviation must exist exactly when there are several values"
    if series.min is not None and series.max is not None and series.min > series.max:
        return f"the minimum {series.min} is above the maximum {series.max}"
    return None


def _range_problem(series: Series) -> str | None:
    worst = chain.from_iterable(
        (entry.value_ns, entry.at_ns, entry.index) for entry in series.worst
    )
    for value in chain((series.min, series.max), series.maxima_per_s, worst):
        if value is not None and abs(value) > MAX_VALUE:
            return "a value does not fit into 64 bits"
    if not 0 < series.maxima_interval_ns <= MAX_VALUE:
        return "the interval of the maxima is not a time"
    return None
