"""Intervals within one run, wider than for independent values.

Values of one run depend on each other: intervals that assume independence were 3 to 7 times too
narrow on real data. These are those of a sample whose interval is DEPENDENCE times as wide: one of
count / AS_ONE values. What changes from run to run is in none of them.
"""

from __future__ import annotations

from math import ceil, log, log1p, sqrt
from typing import NamedTuple

from hardstone.model import Series
from hardstone.stats.histogram import bins_of
from hardstone.stats.miss_interval import share_high, share_low
from hardstone.stats.quantiles import is_printable
from hardstone.stats.two_runs import AS_ONE, widened_quantile

CONFIDENCE = 0.95
_NORMAL = 1.959963984540054  # 97.5 % of a standard normal distribution is below


class Estimate(NamedTuple):
    """A figure and its interval at CONFIDENCE; None: outside of the buckets, or unbounded."""

    value: float | None
    low: float | None
    high: float | None


def worth_of(count: int) -> int:
    """As many independent values as `count` values of one run are worth."""
    return count // AS_ONE


def supports(q: float, count: int) -> bool:
    """Whether `count` values of one run bound the quantile `q` from both sides."""
    return is_printable(q, worth_of(count)) and is_printable(1 - q, worth_of(count))


def quantile_estimate(series: Series, q: float) -> Estimate | None:
    """The quantile `q` with its interval; None for an empty series. InputError if unreadable."""
    found = widened_quantile(bins_of(series.histogram), q, CONFIDENCE)
    if found is None or series.max is None:
        return None
    value, high = (
        None if one is None else min(one, series.max) for one in (found.value, found.high)
    )
    return Estimate(value, found.low, high)


def mean_estimate(series: Series) -> Estimate | None:
    """The mean with its interval by the normal distribution; None for an empty series."""
    if series.mean is None:
        return None
    worth = worth_of(series.count)
    if series.stddev is None or worth < 2:
        return Estimate(series.mean, None, None)
    half = _NORMAL * series.stddev / sqrt(worth)
    return Estimate(series.mean, series.mean - half, series.mean + half)


def share_estimate(least: int, most: int, total: int) -> Estimate:
    """The share of `least` to `most` of `total` values, which is above 0; two-sided."""
    worth = worth_of(total)
    error = (1 - CONFIDENCE) / 2
    if not worth:
        return Estimate(most / total, 0.0, 1.0)
    fewest, all_most = least // AS_ONE, min(ceil(most / AS_ONE), worth)
    return Estimate(
        most / total, share_low(fewest, worth, error), share_high(all_most, worth, error)
    )


def values_needed(q: float) -> int:
    """How many values of one run bound the quantile `q` from both sides."""
    return ceil(10 / min(q, 1 - q) - 1e-6) * AS_ONE


def values_for_share(share: float) -> int:
    """How many values, none of them above, bound the share above by `share`."""
    error = (1 - CONFIDENCE) / 2
    return ceil(log(error) / log1p(-share)) * AS_ONE if 0 < share < 1 else 0
