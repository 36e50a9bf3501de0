"""Two records of one distribution as the one that a recorder of both would hold.

Counts and the histogram add, moments are pooled in closed form. The second record begins
`shift_ns` after the first on one time line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import nlargest
from math import fsum, inf, sqrt

import msgspec
from msgspec import UNSET, UnsetType

from hardstone.model import MOST_MAXIMA, Histogram, Series, Stopped, Worst
from hardstone.stats.identity import edges_of, index_of, parse_layout

_WORST = 32  # what the probe keeps
_MOST_MAXIMA = MOST_MAXIMA // 2


def joined_series(first: Series, second: Series, shift_ns: int) -> Series:
    """The series of all values of both, which have the same name and labels."""
    mean, stddev = _moments(first, second)
    maxima, interval_ns = _maxima(first, second, shift_ns)
    return msgspec.structs.replace(
        first,
        count=first.count + second.count,
        min=min((one.min for one in (first, second) if one.min is not None), default=None),
        mean=mean,
        stddev=stddev,
        max=max((one.max for one in (first, second) if one.max is not None), default=None),
        histogram=_histogram(first.histogram, second.histogram),
        worst=_worst(first, second, shift_ns),
        maxima_per_s=maxima,
        maxima_interval_ns=interval_ns,
        possible_max=most_possible([first, second]),
        stopped=joined_stopped((first, second)),
    )


def most_possible(found: Sequence[Series]) -> int | None:
    """What no value of any of them can be above: each is of one of the measurements."""
    most = [one.possible_max for one in found if one.possible_max is not None]
    return max(most) if len(most) == len(found) else None


def joined_stopped(found: Iterable[Series]) -> Stopped | UnsetType:
    """What stops of the program kept out of all of them."""
    apart = [one.stopped for one in found if isinstance(one.stopped, Stopped)]
    if not apart:
        return UNSET
    return Stopped(count=sum(one.count for one in apart), worst=max(one.worst for one in apart))


def empty_like(series: Series) -> Series:
    """A record of no value, which `series` may be joined to."""
    return Series(
        name=series.name,
        labels=series.labels,
        unit=series.unit,
        count=0,
        min=None,
        mean=None,
        stddev=None,
        max=None,
        histogram=Histogram(layout=series.histogram.layout, buckets=[]),
        maxima_interval_ns=series.maxima_interval_ns,
        derived=series.derived,
        possible_min=series.possible_min,
        possible_max=series.possible_max,
    )


def _moments(first: Series, second: Series) -> tuple[float | None, float | None]:
    if first.mean is None or second.mean is None:
        one = first if second.mean is None else second
        return one.mean, one.stddev
    total = first.count + second.count
    apart = second.mean - first.mean
    mean = first.mean + apart * (second.count / total)
    squares = sum((one.stddev or 0.0) ** 2 * (one.count - 1) for one in (first, second))
    squares += apart**2 * first.count * (second.count / total)
    return mean, sqrt(squares / (total - 1))


def _histogram(first: Histogram, second: Histogram) -> Histogram:
    """In the coarser of both layouts: a bucket of the finer one lies in one of its buckets."""
    bits = min(parse_layout(first.layout), parse_layout(second.layout))
    counts: dict[int, int] = {}
    for one in (first, second):
        own = parse_layout(one.layout)
        for index, count in one.buckets:
            place = index if own == bits else index_of(edges_of(index, own)[0], bits)
            counts[place] = counts.get(place, 0) + count
    return Histogram(
        layout=first.layout if parse_layout(first.layout) == bits else second.layout,
        buckets=sorted(counts.items()),
        underflow=first.underflow + second.underflow,
        overflow=first.overflow + second.overflow,
    )


def _worst(first: Series, second: Series, shift_ns: int) -> list[Worst]:
    later = [
        msgspec.structs.replace(one, at_ns=one.at_ns + shift_ns, index=one.index + first.count)
        for one in second.worst
    ]
    most = max(_WORST, len(first.worst), len(second.worst))
    return sorted([*first.worst, *later], key=lambda one: (-one.value_ns, one.at_ns))[:most]


def _maxima(first: Series, second: Series, shift_ns: int) -> tuple[list[int | None], int]:
    """On one time line, null between both; an interval is placed by its middle.

    So nothing moves where the shift is a multiple of the interval, and else by half of one at most.
    """
    if not second.maxima_per_s:
        return first.maxima_per_s, first.maxima_interval_ns
    used = [one for one in (first, second) if one.maxima_per_s]
    interval_ns = max(one.maxima_interval_ns for one in used)
    end_ns = shift_ns + len(second.maxima_per_s) * second.maxima_interval_ns
    while end_ns // interval_ns >= _MOST_MAXIMA:
        interval_ns *= 2
    placed: dict[int, int] = {}
    for one, begin_ns in ((first, 0), (second, shift_ns)):
        middle_ns = begin_ns + one.maxima_interval_ns // 2
        for number, value in enumerate(one.maxima_per_s):
            if value is not None:
                at = (middle_ns + number * one.maxima_interval_ns) // interval_ns
                placed[at] = max(placed.get(at, value), value)
    length = max(placed, default=-1) + 1
    return [placed.get(at) for at in range(length)], interval_ns


def merged(found: Sequence[Series]) -> Series | None:
    """The values of `found` as one series, with the labels that all share.

    None unless there are values, and name, unit and layout are equal. Without maxima of seconds:
    the parts may have begun at different times. A quantile of it can hide one bad CPU.
    """
    filled = [one for one in found if one.count]
    kinds = {(one.name, one.unit, one.histogram.layout) for one in filled}
    if len(kinds) != 1:
        return None
    count = sum(one.count for one in filled)
    mean = _sum((one.mean or 0.0) * one.count for one in filled) / count
    kept = max(len(one.worst) for one in filled)
    first = filled[0]
    shared = set.intersection(*(set(one.labels.items()) for one in filled))
    return Series(
        name=first.name,
        labels={key: value for key, value in first.labels.items() if (key, value) in shared},
        unit=first.unit,
        count=count,
        min=min(one.min for one in filled if one.min is not None),
        mean=mean,
        stddev=_deviation(filled, mean, count),
        max=max(one.max for one in filled if one.max is not None),
        histogram=_merged_histogram([one.histogram for one in filled]),
        worst=nlargest(
            kept, (one for part in filled for one in part.worst), key=lambda one: one.value_ns
        ),
        derived=first.derived,
        possible_min=first.possible_min,
        possible_max=most_possible(filled),
        stopped=joined_stopped(found),
    )


def _merged_histogram(found: Sequence[Histogram]) -> Histogram:
    counts: dict[int, int] = {}
    for one in found:
        own = dict(one.buckets)
        if not counts and len(own) == len(one.buckets):
            counts = own
            continue
        for index, count in one.buckets:
            counts[index] = counts.get(index, 0) + count
    return Histogram(
        layout=found[0].layout,
        buckets=sorted(counts.items()),
        underflow=sum(one.underflow for one in found),
        overflow=sum(one.overflow for one in found),
    )


def _deviation(found: Sequence[Series], mean: float, count: int) -> float | None:
    """Of a sample: the squares within each part, and those between their means."""
    if count < 2:
        return None
    within = _sum((one.count - 1) * _square(one.stddev or 0.0) for one in found)
    between = _sum(one.count * _square((one.mean or 0.0) - mean) for one in found)
    return sqrt((within + between) / (count - 1))


def _square(value: float) -> float:
    return value * value


def _sum(values: Iterable[float]) -> float:
    """The exact sum; infinite where figures of a damaged document are too large for one."""
    try:
        return fsum(values)
    except (OverflowError, ValueError):
        return inf
