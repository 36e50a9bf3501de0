"""Sections whose lengths were timed one by one: the share of their time by length."""

from __future__ import annotations

import numpy as np

from hardstone.model import Series
from hardstone.stats.histogram import bins_of


def longest_of_share(series: Series, q: float) -> int | None:
    """The length at which sections up to it made up the share `q` of the time of all: the upper
    edge of its bucket, at most the maximum. None without values. InputError if unreadable."""
    if series.max is None:
        return None
    bins = bins_of(series.histogram)
    middles = (bins.lower.astype(np.float64) + bins.upper) / 2
    time = np.append(middles * bins.count, float(series.max) * bins.overflow)
    ends = np.append(np.minimum(bins.upper, series.max), series.max)
    reached = np.cumsum(time)
    if reached[-1] <= 0:
        return series.max
    return int(ends[int(np.searchsorted(reached, q * reached[-1] * (1 - 1e-12)))])
