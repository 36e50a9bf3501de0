"""The figures of a series that terminal and page print."""

from __future__ import annotations

import msgspec

from hardstone.model import Instrument, Series, Unit
from hardstone.stats.exceedance import upper_bound
from hardstone.stats.histogram import Bins, bins_of
from hardstone.stats.quantiles import (
    CONFIDENCE,
    LADDER,
    Quantile,
    printable_quantiles,
    quantile_of_bins,
)

AT_LIMIT_RATIO = 5
NEAR_LIMIT_RATIO = 10


class SeriesSummary(msgspec.Struct, kw_only=True, frozen=True):
    """Figures of one series in its unit, None if it has no value.

    `quantiles` are only those that the count supports. `p_exceed_bound` is the upper bound, at
    95 % confidence, of the probability that a value exceeds `max`. It assumes independent
    samples.
    """

    name: str
    labels: dict[str, int | str]
    unit: Unit
    count: int
    min: int | None
    mean: float | None
    stddev: float | None
    max: int | None
    quantiles: list[Quantile]
    p_exceed_bound: float
    overflow: int
    underflow: int
    derived: str | None


def summarise(series: Series, *, deepest: float = LADDER[-1]) -> SeriesSummary:
    """The summary of `series`, with no quantile beyond `deepest`. InputError if its histogram is
    unreadable."""
    bins = bins_of(series.histogram)
    return SeriesSummary(
        name=series.name,
        labels=series.labels,
        unit=series.unit,
        count=series.count,
        min=series.min,
        mean=series.mean,
        stddev=series.stddev,
        max=series.max,
        quantiles=_quantiles(series, bins, printable_quantiles(bins.total, deepest)),
        p_exceed_bound=upper_bound(0, max(series.count, 0)),
        overflow=series.histogram.overflow,
        underflow=series.histogram.underflow,
        derived=series.derived,
    )


def median_of(series: Series) -> int | None:
    """Upper edge of the bucket of the median, at most the maximum; None if out of range."""
    found = _quantiles(series, bins_of(series.histogram), [0.5])
    return found[0].value if found else None


def instrument_limit(series: Series, instrument: Instrument | None) -> str | None:
    """A note for a series of durations close to the cost of reading the clock.

    Below 5 times the median cost of a pair of time stamps the series is at the instrument's
    limit. Below 10 times both figures are shown together. None: neither, or not timed.
    """
    is_timed = series.unit == "ns" and series.derived is None
    median = median_of(series) if instrument is not None and is_timed else None
    return median_limit(median, instrument)


def median_limit(median: float | None, instrument: Instrument | None) -> str | None:
    """The same of a median in ns that is known already."""
    if instrument is None or median is None:
        return None
    cost_ns = instrument.pair.median
    if median < AT_LIMIT_RATIO * cost_ns:
        return f"at the instrument's limit: a pair of time stamps costs {cost_ns} ns"
    if median < NEAR_LIMIT_RATIO * cost_ns:
        return f"within 10 times the cost of the clock: a pair of time stamps costs {cost_ns} ns"
    return None


def quantile_of_series(series: Series, q: float, confidence: float = CONFIDENCE) -> Quantile | None:
    """The `q` quantile of `series`, no further out than its exact minimum and maximum; None without
    values. InputError if its histogram is unreadable."""
    found = quantile_of_bins(bins_of(series.histogram), q, confidence)
    return None if found is None else _within_extremes(found, series)


def _quantiles(series: Series, bins: Bins, wanted: list[float]) -> list[Quantile]:
    found = [quantile_of_bins(bins, q) for q in wanted]
    return [_within_extremes(entry, series) for entry in found if entry is not None]


def _within_extremes(entry: Quantile, series: Series) -> Quantile:
    """Limits a quantile to the exact minimum and maximum, which are tighter than bucket edges."""
    if series.min is None or series.max is None:
        return entry
    return msgspec.structs.replace(
        entry,
        value=_at_most(entry.value, series.max),
        low=None if entry.low is None else max(entry.low, series.min),
        high=_at_most(entry.high, series.max),
    )


def _at_most(value: int | None, limit: int) -> int | None:
    return None if value is None else min(value, limit)
