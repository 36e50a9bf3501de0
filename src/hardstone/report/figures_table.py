"""The table of figures of one result: one row per series, with its notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hardstone.model import Instrument, Series, Stopped
from hardstone.present.wording import (
    Cell,
    bound_text,
    format_value,
    lacking_quantile,
    level_text,
    quantile_cell,
    series_text,
    work_text,
    worst_value,
)
from hardstone.stats.contradictions import MARK, MARK_NOTE, is_contradictory
from hardstone.stats.quantiles import LADDER, SeriesSummary, instrument_limit, summarise
from hardstone.units import format_count


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
    """`levels` are the headings of the quantile columns: "median", "p99"."""

    levels: list[str]
    rows: list[Row]
    empty: list[str]


def table_of(
    found: list[Series],
    instrument: Instrument | None,
    deepest: float,
    calibrated: Mapping[str, int],
) -> Table:
    """Figures of all series with values. Quantiles are as deep as the counts support, at most
    `deepest`. Empty series are listed below. `calibrated` is that of the result.
    """
    empty = [series_text(series) for series in found if not series.count]
    found = [series for series in found if series.count]
    summaries = [summarise(series, deepest=deepest) for series in found]
    present = {quantile.q for summary in summaries for quantile in summary.quantiles}
    levels = [q for q in LADDER if q in present or q == LADDER[0]]
    quantum_ns = instrument.quantum_ns if instrument else 1.0
    rows = [
        _row(series, summary, levels, quantum_ns, _notes(series, instrument, calibrated))
        for series, summary in zip(found, summaries, strict=True)
    ]
    return Table([level_text(q) for q in levels], rows, empty)


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
        quantiles=[
            quantile_cell(by_level.get(q), unit, lacking_quantile(q, series.count)) for q in levels
        ],
        mean=format_value(series.mean if series.count > 1 else None, unit, quantum_ns),
        stddev=format_value(series.stddev if series.count > 1 else None, unit, quantum_ns),
        worst=format_value(worst_value(series), unit),
        bound=bound_text(summary),
        notes=notes,
    )


def _notes(
    series: Series, instrument: Instrument | None, calibrated: Mapping[str, int]
) -> list[str]:
    work = work_text(series, calibrated)
    notes = [MARK_NOTE] if is_contradictory(series) else []
    notes += [f"work per value: {work}"] if work else []
    if series.derived:
        notes.append(f"derived, not timed: {series.derived}")
    limit = instrument_limit(series, instrument)
    if limit:
        notes.append(limit)
    if series.histogram.underflow:
        notes.append(f"{format_count(series.histogram.underflow)} values below 0, not drawn")
    if series.histogram.overflow:
        lost = format_count(series.histogram.overflow)
        notes.append(
            f"{lost} values past the last bucket: not drawn, but included in count and maximum"
        )
    if isinstance(series.stopped, Stopped):
        apart = format_count(series.stopped.count)
        worst = format_value(series.stopped.worst, series.unit)
        notes.append(
            f"kept apart, because the program was stopped: {apart}, the worst {worst}; in no figure"
        )
    return notes
