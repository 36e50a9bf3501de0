"""The table of figures of one result: one row a series, with everything said about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor

from hardstone.model import Instrument, Series, Unit
from hardstone.report.text import format_value, range_text, series_text, work_text
from hardstone.stats.contradictions import MARK, MARK_NOTE, is_contradictory
from hardstone.stats.quantiles import LADDER, Quantile
from hardstone.stats.summary import SeriesSummary, instrument_limit, summarise
from hardstone.units import format_count


@dataclass(frozen=True)
class Cell:
    """A figure and, under it, its interval."""

    value: str
    interval: str = ""


@dataclass(frozen=True)
class Row:
    label: str
    count: str
    minimum: str
    quantiles: list[Cell]
    mean: str
    stddev: str
    worst: str
    bound: str
    notes: list[str]


@dataclass(frozen=True)
class Table:
    """`levels` are the headings of the quantile columns: "median", "99 %"."""

    levels: list[str]
    rows: list[Row]
    empty: list[str]


def table_of(
    found: list[Series],
    instrument: Instrument | None,
    deepest: float,
    calibrated: Mapping[str, int],
) -> Table:
    """Figures of all series that hold values; quantiles as deep as the counts allow, at most
    to `deepest`. Empty series are named in one line below. `calibrated` is that of the result.
    """
    empty = [series_text(series) for series in found if not series.count]
    found = [series for series in found if series.count]
    summaries = [summarise(series, deepest=deepest) for series in found]
    present = {quantile.q for summary in summaries for quantile in summary.quantiles}
    levels = [q for q in LADDER if q in present]
    quantum_ns = instrument.quantum_ns if instrument else 1.0
    rows = [
        _row(series, summary, levels, quantum_ns, _notes(series, instrument, calibrated))
        for series, summary in zip(found, summaries, strict=True)
    ]
    return Table([level_text(q) for q in levels], rows, empty)


def level_text(q: float) -> str:
    """A quantile as a heading: "median", "99.9 %"."""
    return "median" if q == 0.5 else f"{100 * q:.10g} %"


def _row(
    series: Series,
    summary: SeriesSummary,
    levels: list[float],
    quantum_ns: float,
    notes: list[str],
) -> Row:
    unit = series.unit
    by_level = {quantile.q: quantile for quantile in summary.quantiles}
    mark = f" {MARK}" if is_contradictory(series) else ""
    return Row(
        label=series_text(series) + mark,
        count=format_count(series.count),
        minimum=format_value(series.min, unit),
        quantiles=[quantile_cell(by_level.get(q), unit) for q in levels],
        mean=format_value(series.mean if series.count > 1 else None, unit, quantum_ns),
        stddev=format_value(series.stddev if series.count > 1 else None, unit, quantum_ns),
        worst=format_value(series.max, unit),
        bound=bound_text(summary),
        notes=notes,
    )


def quantile_cell(quantile: Quantile | None, unit: Unit) -> Cell:
    """A quantile with its 95 % interval; what lies outside of all buckets is said so."""
    if quantile is None:
        return Cell("-")
    if quantile.value is None:
        beyond = f"above {format_value(quantile.above, unit)}"
        return Cell(beyond if quantile.above is not None else "below 0")
    low = "unbounded" if quantile.low is None else format_value(quantile.low, unit)
    high = "unbounded" if quantile.high is None else format_value(quantile.high, unit)
    return Cell(format_value(quantile.value, unit), range_text(low, high))


def bound_text(summary: SeriesSummary) -> str:
    """The bound for what was not seen: none above the worst observed, at 95 %."""
    if summary.derived or summary.p_exceed_bound > 0.1:
        return "-"
    return f"< {share_text(summary.p_exceed_bound)}"


def share_text(share: float) -> str:
    """A share, never rounded in favour of the system: "1 in 10 000", "63 %"."""
    if share > 0.1:
        return f"{min(ceil(100 * share), 100)} %"
    whole = floor(1 / share)
    digits = 10 ** max(len(str(whole)) - 3, 0)
    return f"1 in\N{NO-BREAK SPACE}{format_count(whole // digits * digits)}"


def _notes(
    series: Series, instrument: Instrument | None, calibrated: Mapping[str, int]
) -> list[str]:
    work = work_text(series, calibrated)
    notes = [MARK_NOTE] if is_contradictory(series) else []
    notes += [f"work of each value: {work}"] if work else []
    if series.derived:
        notes.append(f"derived, not timed: {series.derived}")
    limit = instrument_limit(series, instrument)
    if limit:
        notes.append(limit)
    if series.histogram.underflow:
        notes.append(f"{format_count(series.histogram.underflow)} values below 0, not drawn")
    if series.histogram.overflow:
        lost = format_count(series.histogram.overflow)
        notes.append(f"{lost} values past the last bucket: not drawn, but in count and extremes")
    return notes
