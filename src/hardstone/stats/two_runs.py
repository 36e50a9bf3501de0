"""The ratio of one quantile of two runs, and whether it can be called a difference.

Samples of one run depend on each other: intervals by order statistics, which assume independence,
were 3 to 7 times too narrow on real data, and more where the machine changed between the runs. So
AS_ONE values count as one: the ranks are those of so much smaller a sample, whose interval is
DEPENDENCE times as wide. With 49 for AS_ONE up to 9 % of pairs of real runs of the same system were
called different, with 125 below 1 % (docs/method.md). What changes from run to run is in no single
run: only interleaved pairs (stats.pair_gate) decide about systems.

A shift function (Doksum 1974) shows where two distributions differ: 1 everywhere if they do not, a
constant if one is the other times that, and a rise at the end if only the tail differs. It has no
verdict.

Values of one run depend on each other: intervals that assume independence were 3 to 7 times too
narrow on real data. These are those of a sample whose interval is DEPENDENCE times as wide: one of
count / AS_ONE values. What changes from run to run is in none of them.
"""

from __future__ import annotations

from math import ceil, log, log1p, sqrt
from typing import Literal, NamedTuple

import msgspec

from hardstone.model import Histogram, Series
from hardstone.stats.histogram import Bins, bins_of
from hardstone.stats.identity import ranked_counts_of
from hardstone.stats.quantiles import (
    Quantile,
    Ranked,
    is_printable,
    quantile_between,
    rank_interval,
    share_high,
    share_low,
)

AS_ONE = 125
DEPENDENCE = AS_ONE**0.5
CONFIDENCE = 0.98
Difference = Literal["higher", "lower", "no difference seen", "not decided"]


class QuantileRatio(msgspec.Struct, kw_only=True, frozen=True):
    """The quantile `q` of another run divided by that of the first.

    `low` and `high` bound the ratio at `confidence` within these two runs; None: unbounded.
    `outcome`: "higher" or "lower" if the interval is wholly beyond 1 + `margin` or its inverse, "no
    difference seen" if it is wholly within, else "not decided". `reason`: why it is not.
    """

    q: float
    ratio: float | None
    low: float | None
    high: float | None
    margin: float
    confidence: float
    outcome: Difference
    reason: str = ""


class QuantileEnds(msgspec.Struct, frozen=True):
    """A quantile of one run with its widened interval, none beyond minimum and maximum. `value` is
    None where it lies outside of the histogram; `high` None: unbounded."""

    value: float | None
    low: float
    high: float | None


def compare_quantile(
    first: Series,
    other: Series,
    q: float,
    *,
    margin: float = 0.10,
    confidence: float = CONFIDENCE,
    quantum: float = 0.0,
    ends: tuple[QuantileEnds, QuantileEnds] | None = None,
) -> QuantileRatio:
    """The quantile `q` of `other` over that of `first`.

    Each side gets half of what `confidence` leaves (Bonferroni), so that the ratio of the ends
    holds at `confidence`. `quantum` is the step of the clock in the unit of the series: both ends
    are open by as much. `ends`: what `quantile_ends` gives for both sides with the same arguments,
    where that is known. ValueError unless 0 < q < 1, 0 < confidence < 1, margin > 0, quantum >= 0.
    InputError if a histogram is unreadable.
    """
    if not (0 < q < 1 and 0 < confidence < 1 and margin > 0 and quantum >= 0):
        raise ValueError("0 < q < 1, 0 < confidence < 1, margin > 0 and quantum >= 0 are needed")
    ratio = low = high = None
    reason = _why_none(first, other, q)
    if not reason:
        below, above = ends or (
            quantile_ends(first, q, confidence, quantum),
            quantile_ends(other, q, confidence, quantum),
        )
        ratio = above.value / below.value if above.value and below.value else None
        low = above.low / below.high if below.high else None
        high = above.high / below.low if above.high is not None and below.low > 0 else None
        reason = "" if ratio else "a quantile is 0 or outside of the histogram: no ratio"
    outcome = _outcome(ratio, low, high, margin)
    if outcome == "not decided" and not reason:
        reason = _why_open(min(first.count, other.count), low, high)
    return QuantileRatio(
        q=q,
        ratio=ratio,
        low=low,
        high=high,
        margin=margin,
        confidence=confidence,
        outcome=outcome,
        reason=reason,
    )


def widened_quantile(bins: Ranked, q: float, confidence: float) -> Quantile | None:
    """The quantile with the interval of a sample of 1 / AS_ONE of its size; None if empty.

    Each rank of that sample stands for AS_ONE values, of which the middle one is taken.
    """
    count = bins.total
    if count == 0:
        return None
    independent = count // AS_ONE
    first, last = rank_interval(independent, q, confidence) if independent else (0, 1)
    low = max((2 * first - 1) * count // (2 * independent), 1) if first else 0
    high = ceil((2 * last - 1) * count / (2 * independent)) if last <= independent else count + 1
    return quantile_between(bins, q, (low, high), confidence)


def quantile_ends(
    series: Series, q: float, confidence: float = CONFIDENCE, quantum: float = 0.0
) -> QuantileEnds:
    """One side of a ratio that holds at `confidence`. InputError if the histogram is unreadable."""
    found = widened_quantile(ranked_counts_of(series.histogram), q, (1 + confidence) / 2)
    if found is None or series.min is None or series.max is None:
        return QuantileEnds(None, 0.0, None)
    value = None if found.value is None else max(min(found.value, series.max), series.min)
    low = 0 if found.low is None else max(found.low, series.min)
    high = None if found.high is None else min(found.high, series.max) + quantum
    return QuantileEnds(value, max(low - quantum, 0.0), high)


def _why_none(first: Series, other: Series, q: float) -> str:
    if first.unit != other.unit:
        return f"{first.unit} against {other.unit}: no ratio"
    count = min(first.count, other.count)
    if count == 0:
        return "no values"
    if not (is_printable(q, count) and is_printable(1 - q, count)):
        return f"fewer than 10 values are beyond the quantile, of {count}"
    return ""


def _why_open(count: int, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        independent = count // AS_ONE
        return (
            f"unbounded: {count} values of one run, which depend on each other, are taken "
            f"for {independent} independent ones"
        )
    return f"{low:.3g} to {high:.3g} reaches across a margin"


def _outcome(
    ratio: float | None, low: float | None, high: float | None, margin: float
) -> Difference:
    most = 1 + margin
    if ratio is None:
        return "not decided"
    if low is not None and low > most:
        return "higher"
    if high is not None and high < 1 / most:
        return "lower"
    if low is not None and high is not None and low >= 1 / most and high <= most:
        return "no difference seen"
    return "not decided"


SHIFT_CONFIDENCE = 0.95
LEVELS = (
    *(0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98),
    *(1 - part * 10.0**-power for power in (2, 3, 4, 5) for part in (1, 0.5, 0.2)),
    1 - 1e-6,
)
ABOUT = (
    "Ratio of the quantiles. 1: alike; a constant: one is a multiple of the other; a rise at the "
    "end: only the tail differs. The band holds at 95 % as a whole, widened because values of one "
    "run depend on each other. It ends where fewer than 10 values are beyond the quantile."
)


class ShiftPoint(msgspec.Struct, kw_only=True, frozen=True):
    """The quantile `q` of the other distribution divided by that of the first.

    `low` and `high` are the band there; None: unbounded.
    """

    q: float
    ratio: float
    low: float | None
    high: float | None


def shift_function(
    first: Histogram, other: Histogram, *, confidence: float = SHIFT_CONFIDENCE
) -> list[ShiftPoint]:
    """The ratios of `other` to `first`, q ascending, where both have at least 10 values beyond q.

    The band holds at `confidence` for all points together (Bonferroni), if the values depend on
    each other no more than stats.two_runs.DEPENDENCE allows. Where a quantile is 0 or outside of
    the buckets there is no point. ValueError unless 0 < confidence < 1; InputError if unreadable.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"the confidence must lie between 0 and 1, not {confidence}")
    below, above = bins_of(first), bins_of(other)
    count = min(below.total, above.total)
    levels = [q for q in LEVELS if is_printable(q, count) and is_printable(1 - q, count)]
    of_each = 1 - (1 - confidence) / 2 / max(len(levels), 1)
    points = (_point(below, above, q, of_each) for q in levels)
    return [point for point in points if point is not None]


def _point(below: Bins, above: Bins, q: float, confidence: float) -> ShiftPoint | None:
    one = widened_quantile(below, q, confidence)
    two = widened_quantile(above, q, confidence)
    if one is None or two is None or not one.value or not two.value:
        return None
    return ShiftPoint(
        q=q,
        ratio=two.value / one.value,
        low=(two.low or 0) / one.high if one.high else None,
        high=two.high / one.low if one.low and two.high is not None else None,
    )


DEPENDENT_CONFIDENCE = 0.95
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
    found = widened_quantile(bins_of(series.histogram), q, DEPENDENT_CONFIDENCE)
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
    error = (1 - DEPENDENT_CONFIDENCE) / 2
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
    error = (1 - DEPENDENT_CONFIDENCE) / 2
    return ceil(log(error) / log1p(-share)) * AS_ONE if 0 < share < 1 else 0
