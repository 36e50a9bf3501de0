"""Pooling of distributions. Per-CPU views stay beside the pooled one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import fsum, sqrt

from hardstone.errors import InputError
from hardstone.model import Histogram, Series, Worst

WORST_KEPT = 32


def merge_histograms(histograms: Sequence[Histogram]) -> Histogram:
    """Sum of histograms of one layout; InputError for none at all or unlike layouts."""
    layouts = sorted({histogram.layout for histogram in histograms})
    if len(layouts) != 1:
        raise InputError(
            f"histograms of layouts {', '.join(layouts) or '(none)'} cannot be merged",
            "merge only what was recorded with one layout",
        )
    counts: Counter[int] = Counter()
    for histogram in histograms:
        counts.update(dict(histogram.buckets))
    return Histogram(
        layout=layouts[0],
        buckets=sorted(counts.items()),
        underflow=sum(histogram.underflow for histogram in histograms),
        overflow=sum(histogram.overflow for histogram in histograms),
    )


def merge_series(parts: Sequence[Series], labels: dict[str, int | str]) -> Series:
    """One series out of several of the same name and unit, under new `labels`.

    Count, minimum, mean, deviation and maximum are those of the pooled values. The
    maxima per interval are those over all parts where the interval is one and the same,
    else they are left out. The worst values keep the sample numbers of their part.
    InputError if names, units or layouts differ.
    """
    histogram = merge_histograms([part.histogram for part in parts])
    if len({(part.name, part.unit) for part in parts}) != 1:
        raise InputError("series of unlike name or unit cannot be merged", "merge like with like")
    filled = [part for part in parts if part.count]
    mean, stddev = _pooled_moments(filled)
    maxima, interval_ns = _pooled_maxima(parts)
    return Series(
        name=parts[0].name,
        labels=labels,
        unit=parts[0].unit,
        count=sum(part.count for part in parts),
        min=min((part.min for part in filled if part.min is not None), default=None),
        mean=mean,
        stddev=stddev,
        max=max((part.max for part in filled if part.max is not None), default=None),
        histogram=histogram,
        worst=_pooled_worst(parts),
        maxima_per_s=maxima,
        maxima_interval_ns=interval_ns,
        derived=parts[0].derived,
    )


def _pooled_moments(filled: Sequence[Series]) -> tuple[float | None, float | None]:
    """Mean and sample deviation (n - 1) of the pooled values, by the law of total variance."""
    total = sum(part.count for part in filled)
    if total == 0:
        return None, None
    mean = fsum(part.count * (part.mean or 0.0) for part in filled) / total
    squares = fsum(
        (part.count - 1) * (part.stddev or 0.0) ** 2 + part.count * ((part.mean or 0.0) - mean) ** 2
        for part in filled
    )
    return mean, sqrt(squares / (total - 1)) if total > 1 else None


def _pooled_worst(parts: Sequence[Series]) -> list[Worst]:
    worst = [entry for part in parts for entry in part.worst]
    return sorted(worst, key=lambda entry: (-entry.value_ns, entry.at_ns))[:WORST_KEPT]


def _pooled_maxima(parts: Sequence[Series]) -> tuple[list[int | None], int]:
    intervals = {part.maxima_interval_ns for part in parts}
    if len(intervals) != 1:
        return [], parts[0].maxima_interval_ns
    length = max(len(part.maxima_per_s) for part in parts)
    pooled: list[int | None] = []
    for at in range(length):
        column = [part.maxima_per_s[at] for part in parts if at < len(part.maxima_per_s)]
        pooled.append(max((value for value in column if value is not None), default=None))
    return pooled, intervals.pop()
