"""One series of the values of several: those of all CPUs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import nlargest
from math import fsum, inf, sqrt

from hardstone.model import Histogram, Series
from hardstone.stats.joined_series import joined_stopped, most_possible


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
        histogram=_histogram([one.histogram for one in filled]),
        worst=nlargest(
            kept, (one for part in filled for one in part.worst), key=lambda one: one.value_ns
        ),
        derived=first.derived,
        possible_min=first.possible_min,
        possible_max=most_possible(filled),
        stopped=joined_stopped(found),
    )


def _histogram(found: Sequence[Histogram]) -> Histogram:
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
