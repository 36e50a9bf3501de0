"""Dispatch latencies beside the idle latency: what is left of a blocking interval at a release.

The idle latency is that of the same wake-ups while the CPU computes in user land. A release is
blocked if its latency is above the mean of the idle latency and 3 of its standard deviations; its
residual is the latency less that mean. docs/method.md, "Blocking intervals", derives the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from hardstone.model import Series
from hardstone.stats.concave_majorant import FloatArray
from hardstone.stats.histogram import bins_of
from hardstone.stats.layout import edges_of, index_of, parse_layout

LEAST_IDLE = 100  # fewer releases give no standard deviation worth the name
FAR_APART_NS = 1e15  # releases so far apart that no interval could meet two
_DEVIATIONS = 3
_MOST_NS = 2**62  # of a damaged document


@dataclass(frozen=True)
class Idle:
    """The idle latency. `limit_ns`: nothing at or below it is taken for blocking."""

    count: int
    mean_ns: float
    stddev_ns: float

    @property
    def limit_ns(self) -> float:
        return self.mean_ns + _DEVIATIONS * self.stddev_ns


@dataclass(frozen=True)
class Residuals:
    """The residuals of the blocked releases among `releases`, by bucket: shape (n,), ascending.

    A residual of a bucket is at least `lower_ns` and below `upper_ns`, of which `count` were seen.
    `start_ns` is the shortest that is told from the idle latency. `worst_ns` is the largest.
    `gap_ns` is the mean of the exponential time to a release, `mean_ns` that of the latency that
    follows: both together are the time for one release.
    """

    releases: int
    start_ns: float
    worst_ns: float
    lower_ns: FloatArray
    upper_ns: FloatArray
    count: FloatArray
    gap_ns: float = FAR_APART_NS
    mean_ns: float = 0.0

    @property
    def blocked(self) -> int:
        return int(self.count.sum())

    @property
    def per_release_ns(self) -> float:
        return self.gap_ns + self.mean_ns


def idle_of(series: Series) -> Idle | None:
    """The idle latency from the series of the reference; None where it has too few values."""
    if series.count < LEAST_IDLE or series.mean is None or series.stddev is None:
        return None
    found = Idle(series.count, series.mean, series.stddev)
    is_possible = 0 <= found.mean_ns <= found.limit_ns < _MOST_NS
    return found if is_possible else None


def residuals_of(series: Series, idle: Idle, gap_ns: float = FAR_APART_NS) -> Residuals:
    """The residuals of `series`, which has the dispatch latencies. InputError if unreadable.

    `gap_ns`: the mean of the exponential time to the next release. The limit is rounded up to the
    end of its bucket, so that the count above it is exact. Values beyond all buckets stand at the
    maximum.
    """
    bins = bins_of(series.histogram)
    bits = parse_layout(series.histogram.layout)
    first = edges_of(index_of(max(ceil(idle.limit_ns), 0), bits), bits)[1] + 1
    above = bins.lower >= first
    lower, count = bins.lower[above].astype(np.float64), bins.count[above].astype(np.float64)
    upper = bins.upper[above].astype(np.float64) + 1
    top = float(max(series.max or 0, first))
    if bins.overflow:
        last = float(upper[-1]) if upper.size else float(first)
        lower, count = np.append(lower, last), np.append(count, float(bins.overflow))
        upper = np.append(upper, max(top, last) + 1)
    return Residuals(
        releases=bins.total,
        start_ns=first - idle.mean_ns,
        worst_ns=top - idle.mean_ns,
        lower_ns=lower - idle.mean_ns,
        upper_ns=upper - idle.mean_ns,
        count=count,
        gap_ns=gap_ns,
        mean_ns=min(max(series.mean or 0.0, 0.0), float(_MOST_NS)),
    )
