"""The ratio of one quantile of two runs, and whether it can be called a difference.

Samples of one run depend on each other: intervals by order statistics, which assume independence,
were 3 to 7 times too narrow on real data, and more where the machine changed between the runs. So
AS_ONE values count as one: the ranks are those of so much smaller a sample, whose interval is
DEPENDENCE times as wide. With 49 for AS_ONE up to 9 % of pairs of real runs of the same system were
called different, with 125 below 1 % (docs/method.md). What changes from run to run is in no single
run: only interleaved pairs (stats.pair_gate) decide about systems.
"""

from __future__ import annotations

from math import ceil
from typing import Literal

import msgspec

from hardstone.model import Series
from hardstone.stats.quantiles import (
    Quantile,
    Ranked,
    is_printable,
    quantile_between,
    rank_interval,
)
from hardstone.stats.ranked_counts import ranked_counts_of

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
