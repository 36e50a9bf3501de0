"""Two records of one distribution as the one that a recorder of both would hold.

Counts and the histogram add, moments are pooled in closed form. The second record begins
`shift_ns` after the first on one time line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt

import msgspec
from msgspec import UNSET, UnsetType

from hardstone.model import MOST_MAXIMA, Histogram, Series, Stopped, Worst
from hardstone.stats.layout import edges_of, index_of, parse_layout

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
