"""The tables of a result: its figures, its claims that hold, its worst values by cause."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hardstone.figure_text import Cell, level_text, quantile_cell
from hardstone.model import Instrument, Result, Series, Stopped, Unit, Verdict
from hardstone.present.why_late import LateValue
from hardstone.stats.consistency import MARK, MARK_NOTE, is_contradictory
from hardstone.stats.identity import parse_layout, step_of
from hardstone.stats.quantiles import (
    LADDER,
    Quantile,
    SeriesSummary,
    instrument_limit,
    is_count_known,
    quantum_of,
    summarise,
    why_no_quantile,
)
from hardstone.units import format_count
from hardstone.wording import (
    Claim,
    format_value,
    is_rate,
    read_value,
    series_text,
    spoken,
    work_text,
    worst_value,
)

MOST_ROWS = 12
NARROW_PERCENT = 10
_RANGE = re.compile(r"^([0-9.]+) to ([0-9.]+)")
_NARROW = NARROW_PERCENT / 100
_LEAST_SHARED = 3


@dataclass(frozen=True)
class Row:
    label: str
    count: str
    minimum: str
    quantiles: list[Cell]
    mean: str
    stddev: str
    worst: str
    notes: list[str]


@dataclass(frozen=True)
class Table:
    """`levels` are the headings of the quantile columns: "median", "p99". `left_out` counts the
    series without a row; `notes` are those of every row."""

    levels: list[str]
    rows: list[Row]
    empty: list[str]
    left_out: int = 0
    notes: tuple[str, ...] = ()


def table_of(
    found: list[Series],
    instrument: Instrument | None,
    deepest: float,
    calibrated: Mapping[str, int],
) -> Table:
    """Figures of the series with values: of more than MOST_ROWS those with the highest. Quantiles
    are as deep as the counts support, at most `deepest`. Empty series are listed below.
    `calibrated` is that of the result.
    """
    empty = [series_text(series) for series in found if not series.count]
    filled = [series for series in found if series.count]
    found = _highest(filled)
    summaries = [summarise(series, deepest=deepest) for series in found]
    present = {quantile.q for summary in summaries for quantile in summary.quantiles}
    levels = [q for q in LADDER if q in present or q == LADDER[0]]
    rows = [
        _row(
            series,
            summary,
            levels,
            instrument,
            _series_notes(series, instrument, calibrated),
        )
        for series, summary in zip(found, summaries, strict=True)
    ]
    first = rows[0].notes if len(rows) >= _LEAST_SHARED else []
    shared = [note for note in first if all(note in one.notes for one in rows)]
    rows = [replace(one, notes=[note for note in one.notes if note not in shared]) for one in rows]
    left_out = len(filled) - len(found)
    return Table([level_text(q) for q in levels], rows, empty, left_out, tuple(shared))


def _highest(found: list[Series]) -> list[Series]:
    """The MOST_ROWS of `found` with the highest values, in their order."""
    places = sorted(range(len(found)), key=lambda place: -(found[place].max or 0))[:MOST_ROWS]
    return [found[place] for place in sorted(places)]


def _row(
    series: Series,
    summary: SeriesSummary,
    levels: list[float],
    instrument: Instrument | None,
    notes: list[str],
) -> Row:
    unit, quantum_ns = series.unit, quantum_of(series, instrument)
    step_ns = instrument.quantum_ns if instrument else 1.0  # of means
    by_level = {quantile.q: quantile for quantile in summary.quantiles}
    mark = f" {MARK}" if is_contradictory(series) else ""
    return Row(
        label=series_text(series) + mark,
        count=summary.count_text,
        minimum=read_value(series.min, unit, quantum_ns),
        quantiles=[_quantile(by_level.get(q), unit, step_of(series), quantum_ns) for q in levels],
        mean=format_value(series.mean if _has_mean(series) else None, unit, step_ns),
        stddev=format_value(series.stddev if series.count > 1 else None, unit, step_ns),
        worst=read_value(worst_value(series), unit, quantum_ns),
        notes=notes,
    )


def _has_mean(series: Series) -> bool:
    """Of a single value it says nothing; of a file it may be all that there is, or of a number of
    values that is not known."""
    return series.count > 1 or series.max is None or not is_count_known(series)


def _quantile(found: Quantile | None, unit: Unit, step: int, quantum_ns: float) -> Cell:
    """A quantile, with its interval only where that is wider than _NARROW on a side."""
    cell = quantile_cell(found, unit, step=step, quantum_ns=quantum_ns)
    if found is None or not found.value or found.low is None or found.high is None:
        return cell
    if max(found.high - found.value, found.value - found.low) <= _NARROW * found.value:
        return Cell(cell.value)
    return Cell(cell.value, _RANGE.sub("\\1\N{EN DASH}\\2", cell.interval))


def _series_notes(
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
    if why := why_no_quantile(series):
        return [*notes, why]
    least = format_value(parse_layout(series.histogram.layout).least, series.unit)
    least = least if parse_layout(series.histogram.layout).least else "0"
    if series.histogram.underflow:
        notes.append(f"{format_count(series.histogram.underflow)} values below {least}, not drawn")
    if series.histogram.overflow:
        lost = format_count(series.histogram.overflow)
        notes.append(
            f"{lost} values past the last bucket: not drawn, but included in count and maximum"
        )
    if isinstance(series.stopped, Stopped):
        apart = format_count(series.stopped.count)
        worst = format_value(series.stopped.worst, series.unit)
        notes.append(
            f"set aside, because the program was stopped: {apart}, the worst {worst}; in no figure"
        )
    return notes


@dataclass(frozen=True)
class HeldClaim:
    """A claim that holds, with the evidence of its first cases, and the other cases."""

    name: str
    claim: str
    cases: str
    evidence: str
    others: str


@dataclass(frozen=True)
class CauseRow:
    """The worst values of one cause, the largest first: (value, moment and series). `counters`
    and `traces` (value, lines) are those of its largest values. `cause` is empty where nothing
    was watched."""

    values: list[tuple[str, str]]
    more: str
    cause: str
    counters: list[str]
    traces: list[tuple[str, list[str]]]


def held_claims(verdicts: Sequence[Verdict], claims: Sequence[Claim]) -> list[HeldClaim]:
    """The claims that hold: a row for all cases of one, and one text for equal evidence."""
    found: dict[str, dict[str, list[str]]] = {}
    meanings: dict[str, str] = {}
    for verdict, claim in zip(verdicts, claims, strict=True):
        if not verdict.passed:
            continue
        name, _, case = verdict.name.partition("/")
        found.setdefault(name, {}).setdefault(claim.evidence, []).append(case)
        meanings[name] = claim.claim
    return [_held_claim(name, meanings[name], by_evidence) for name, by_evidence in found.items()]


def _held_claim(name: str, meaning: str, by_evidence: Mapping[str, list[str]]) -> HeldClaim:
    (evidence, first), *others = by_evidence.items()
    more = [case for _, cases in others for case in cases]
    return HeldClaim(
        spoken(name), meaning, _joined(first), evidence, _joined(more) if any(more) else ""
    )


def _joined(cases: Iterable[str]) -> str:
    return ", ".join(filter(None, cases))


def cause_rows(late: Sequence[LateValue], each: int) -> list[CauseRow]:
    """A row for each cause, with `each` of its values."""
    groups: dict[str, list[LateValue]] = {}
    for one in late:
        groups.setdefault(one.cause, []).append(one)
    return [
        CauseRow(
            values=[(one.value, _place(one)) for one in group[:each]],
            more=_more_text([one.value for one in group[each:]]),
            cause=cause,
            counters=group[0].counters,
            traces=[(one.value, one.trace) for one in group if one.trace],
        )
        for cause, group in groups.items()
    ]


def _place(one: LateValue) -> str:
    cpu = "" if one.cpu == "-" else f", CPU {one.cpu}"
    return f"at {one.when}{cpu}: {one.series}"


def unwatched_rows(result: Result, each: int) -> list[CauseRow]:
    """The worst values of a result whose causes nobody watched, in one row."""
    found = [
        (one, series)
        for series in result.series
        if not is_rate(series.unit)
        for one in series.worst
    ]
    found.sort(key=lambda pair: -pair[0].value_ns)
    if not found:
        return []
    texts = [
        (
            format_value(one.value_ns, series.unit),
            f"at {one.at_ns / 1e9:.3f} s: {series_text(series)}",
        )
        for one, series in found
    ]
    more = _more_text([value for value, _ in texts[each:]])
    return [CauseRow(texts[:each], more, "", [], [])]


def _more_text(values: Sequence[str]) -> str:
    return f"and {format_count(len(values))} more, down to {values[-1]}" if values else ""


def left_out_text(rows: Sequence[CauseRow]) -> str:
    """What the rows beyond the last one shown have: "values of 12 more causes, up to 3.1 us"."""
    if not rows:
        return ""
    causes = "1 more cause" if len(rows) == 1 else f"{format_count(len(rows))} more causes"
    return f"values of {causes}, up to {rows[0].values[0][0]}"
