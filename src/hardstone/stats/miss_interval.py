"""The share of values above a deadline, with an exact interval.

Clopper and Pearson 1934: the shares under which a count as high, or as low, as the one seen is
not too rare. It covers at least as often as it says for independent values. Values of one run
depend on each other, and their true interval is wider.
"""

from __future__ import annotations

from math import expm1, log

import msgspec

from hardstone.model import Series
from hardstone.stats.above import above

CONFIDENCE = 0.95
INDEPENDENT = (
    "The interval is exact for independent values. Values of one run depend on each other: the "
    "true one is wider."
)


class ShareInterval(msgspec.Struct, kw_only=True, frozen=True):
    """`count` of `total`, and the share that fits: from `low` to `high`, both ends included.

    `least_count`: where a bucket leaves open how many are above, `count` is the most of them and
    this is the least; None: `count` is exact.
    """

    count: int
    total: int
    low: float
    high: float
    confidence: float
    least_count: int | None = None


def miss_interval(count: int, total: int, confidence: float = CONFIDENCE) -> ShareInterval:
    """The two-sided interval of the share of misses, `count` of `total`.

    ValueError unless 0 <= count <= total, total > 0 and 0 < confidence < 1.
    """
    error = _error_of_a_side(confidence)
    low, high = share_low(count, total, error), share_high(count, total, error)
    return ShareInterval(count=count, total=total, low=low, high=high, confidence=confidence)


def misses_of(series: Series, deadline: int, confidence: float = CONFIDENCE) -> ShareInterval:
    """The share of values above `deadline`, in the unit of the series. Where its bucket leaves the
    count open, the interval holds for the least and for the most that it can be.

    ValueError for an empty series; InputError if it is unreadable.
    """
    error = _error_of_a_side(confidence)
    found = above(series, deadline)
    return ShareInterval(
        count=found.high,
        total=series.count,
        low=share_low(found.low, series.count, error),
        high=share_high(found.high, series.count, error),
        confidence=confidence,
        least_count=None if found.is_exact else found.low,
    )


def share_low(count: int, total: int, error: float) -> float:
    """What the share is at least, except with the probability `error`: one-sided."""
    from scipy import special

    _check(count, total)
    return float(special.betaincinv(count, total - count + 1, error)) if count else 0.0


def share_high(count: int, total: int, error: float) -> float:
    """What the share is at most, except with the probability `error`: one-sided.

    Without a miss it is 1 - error**(1 / total), about 3 / total at 95 %.
    """
    _check(count, total)
    if count == total:
        return 1.0
    if not count:
        return -expm1(log(error) / total)
    from scipy import special

    return float(special.betaincinv(count + 1, total - count, 1 - error))


def _check(count: int, total: int) -> None:
    if not 0 <= count <= total or total < 1:
        raise ValueError(f"{count} of {total} cannot be missed")


def _error_of_a_side(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"the confidence must lie between 0 and 1, not {confidence}")
    return (1 - confidence) / 2
