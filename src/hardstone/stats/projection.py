"""The next maximum by extreme values: a projection, and only where nothing speaks against it.

Peaks over threshold: the largest 1 % of the values, at most 1000 of them, follow a generalised
Pareto distribution (Pickands 1975) if they are independent, of one kind and of one time. Each of
these is checked first (stats.tail_checks), and each failure is a reason to refuse. A refusal is
the usual outcome: what makes a maximum is seldom of one kind.

The interval holds for the largest of as many values again, or up to ten times as many, measured
in the same way on the same system in the same state. It is never a worst case.
"""

from __future__ import annotations

import msgspec

from hardstone.model import Result, RunDocument, Series
from hardstone.stats.histogram import bins_of
from hardstone.stats.pareto_tail import next_maximum, zhang_stephens
from hardstone.stats.tail import Tail, tail_of
from hardstone.stats.tail_checks import CONFIDENCE, Reason, reasons_before, reasons_of_tail
from hardstone.units import format_count, format_ns

MOST_TIMES = 10
PATH_NOT_TAKEN = "No test inside a sample detects a path that was not taken."
PROJECTED = "projection, not observed"


class Projection(msgspec.Struct, kw_only=True, frozen=True):
    """The largest of `next_count` further values lies from `low_ns` to `high_ns`, with `median_ns`
    in the middle, at `confidence`, if nothing changes. `worst_ns` was observed, in `count` values.

    The tail: `exceedances_count` values above `threshold_ns`, with `shape` and `scale_ns`.
    `text` says it in words.
    """

    low_ns: float
    median_ns: float
    high_ns: float
    confidence: float
    next_count: int
    worst_ns: int
    count: int
    threshold_ns: float
    exceedances_count: int
    shape: float
    scale_ns: float
    text: str


class Refusal(msgspec.Struct, kw_only=True, frozen=True):
    """Why nothing is projected: every reason, not only the first. `text` says it in words."""

    reasons: list[Reason]
    text: str


def project(
    series: Series, result: Result, document: RunDocument, *, times: float = 1.0
) -> Projection | Refusal:
    """The next maximum of a series of `result`, which is one of `document`: of `times` as many
    values as it has.

    ValueError unless 0 < times <= MOST_TIMES; InputError if the histogram is unreadable.
    """
    if not 0 < times <= MOST_TIMES:
        raise ValueError(f"{times:g} times the data: at most {MOST_TIMES} are projected")
    reasons = reasons_before(series, result, document)
    bins = bins_of(series.histogram)
    tail = tail_of(bins, series.max or 0)
    if tail is not None:
        reasons += reasons_of_tail(tail, series, bins)
    if reasons or tail is None:
        return Refusal(reasons=reasons, text=_refused(reasons))
    return _projected(series, tail, times)


def _projected(series: Series, tail: Tail, times: float) -> Projection:
    foreseen = next_maximum(tail.exceedances, times)
    side = (1 - CONFIDENCE) / 2
    low, median, high = (tail.threshold + foreseen.quantile(one) for one in (side, 0.5, 1 - side))
    fit = zhang_stephens(tail.exceedances)
    next_count = round(times * series.count)
    worst = series.max or 0
    return Projection(
        low_ns=low,
        median_ns=median,
        high_ns=high,
        confidence=CONFIDENCE,
        next_count=next_count,
        worst_ns=worst,
        count=series.count,
        threshold_ns=tail.threshold,
        exceedances_count=tail.exceedances.size,
        shape=fit.shape,
        scale_ns=fit.scale,
        text=" ".join(
            [
                "Projection, not observed: if nothing changes, the largest of",
                f"{format_count(next_count)} more values is {format_ns(low)} to {format_ns(high)}",
                f"({CONFIDENCE:.0%}). Worst observed: {format_ns(worst)} in",
                f"{format_count(series.count)}. {PATH_NOT_TAKEN}",
            ]
        ),
    )


def _refused(reasons: list[Reason]) -> str:
    told = "; ".join(one.text for one in reasons)
    return f"No projection: {told}. {PATH_NOT_TAKEN}"
