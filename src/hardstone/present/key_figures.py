"""Key findings: the worst observed of each timing test, with its confidence bound."""

from __future__ import annotations

from dataclasses import dataclass

from hardstone.model import Result, Series
from hardstone.present.overview import decisive_series
from hardstone.present.quantile_text import (
    Cell,
    lacking_quantile,
    level_text,
    quantile_cell,
    share_text,
)
from hardstone.present.wording import format_value, series_text, work_text
from hardstone.stats.summary import SeriesSummary, summarise
from hardstone.units import format_count, format_span

LIMIT_OF_MAXIMA = (
    "worst observed: the largest value of this run, of a throughput the least. It says nothing "
    "about code paths that were not taken."
)


@dataclass(frozen=True)
class Finding:
    test: str
    anchor: str
    condition: str
    series: str
    worst: str
    median: Cell
    deepest_level: str
    deepest: Cell
    count: str
    span: str
    bound: str


def finding_of(result: Result, anchor: str, condition: str, deepest: float) -> Finding | None:
    """The series of `result` with the highest value; None where no duration was timed."""
    series = decisive_series(result)
    if series is None:
        return None
    return _finding(result, series, summarise(series, deepest=deepest), anchor, condition)


def _finding(
    result: Result, series: Series, summary: SeriesSummary, anchor: str, condition: str
) -> Finding:
    quantiles = {quantile.q: quantile for quantile in summary.quantiles}
    last = max(quantiles, default=None)
    work = work_text(series, result.calibrated)
    return Finding(
        test=result.test,
        anchor=anchor,
        condition=condition,
        series=f"{series_text(series)}, {work}" if work else series_text(series),
        worst=format_value(series.max, series.unit),
        median=quantile_cell(quantiles.get(0.5), series.unit, lacking_quantile(0.5, series.count)),
        deepest_level="" if last in (None, 0.5) else level_text(last or 0),
        deepest=quantile_cell(quantiles.get(last or 0), series.unit),
        count=format_count(series.count),
        span=format_span(result.duration_ns) if result.duration_ns else "-",
        bound=_unseen(series, summary),
    )


def _unseen(series: Series, summary: SeriesSummary) -> str:
    if series.derived:
        return f"derived: {series.derived}"
    return (
        f"none of {format_count(series.count)} values is above "
        f"{format_value(series.max, series.unit)}; at 95 % confidence fewer than "
        f"{share_text(summary.p_exceed_bound)} are"
    )
