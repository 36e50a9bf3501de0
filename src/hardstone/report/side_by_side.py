"""The tables of a run with several conditions: one per test, one column per condition."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from hardstone.catalogue import kind_of
from hardstone.errors import remedy_text
from hardstone.figure_text import level_text, quantile_value
from hardstone.model import Result, Series
from hardstone.present.measured_tables import common_work, works_of
from hardstone.present.notices import column_note
from hardstone.report.charts import exceedance_chart, range_chart
from hardstone.report.figures import KINDS, Figure, figure_of
from hardstone.report.results import Settings
from hardstone.stats.conditions import (
    Comparison,
    Condition,
    Names,
    SeriesRow,
    decisive_row,
    ratio_to_first,
)
from hardstone.stats.consistency import MARK, MARK_NOTE, UNEQUAL, UNLIKE_COUNTS, is_contradictory
from hardstone.stats.identity import step_of
from hardstone.stats.quantiles import (
    count_text,
    lacking_quantile,
    printable_quantiles,
    quantum_of,
    summarise,
)
from hardstone.wording import (
    claim_of,
    ratio_text,
    read_value,
    series_text,
    shorten,
    worst_value,
)

MOST_ROWS = 40
_CHARTS_EACH = 2
_MOST_TESTS_DRAWN = 12
_TAIL = 0.999
_KINDS = [kind for kind in KINDS if kind.chart in (exceedance_chart, range_chart)]


@dataclass(frozen=True)
class Cell:
    """A series under one condition. `look` is a CSS class."""

    value: str
    ratio: str = ""
    lines: tuple[str, ...] = ()
    look: str = ""


@dataclass(frozen=True)
class Column:
    """A condition. `anchor` is the section of its result, `note` its most severe deviation."""

    label: str
    anchor: str
    note: str


@dataclass(frozen=True)
class SideRow:
    label: str
    cells: list[Cell]


@dataclass(frozen=True)
class SideTable:
    test: str
    title: str
    columns: list[Column]
    rows: list[SideRow]
    notes: list[str]
    drawn: str
    figures: list[Figure]


def condition_chart_count(found: list[Comparison]) -> int:
    """The number of charts in this part of the page."""
    timed = sum(1 for one in found if one.series and kind_of(one.test) != "behaviour")
    return min(timed, _MOST_TESTS_DRAWN) * _CHARTS_EACH


def side_tables(
    found: list[Comparison], anchors: dict[int, str], names: Names, settings: Settings
) -> list[SideTable]:
    """A table for each test with rows. `anchors` are keyed by the identity of a result."""
    tables: list[SideTable] = []
    for one in found:
        rows = _rows(one, settings)
        if not rows:
            continue
        is_drawn = len(tables) < _MOST_TESTS_DRAWN and kind_of(one.test) != "behaviour"
        row = decisive_row(one) if is_drawn else None
        spec = settings.lookup(one.test)
        tables.append(
            SideTable(
                test=one.test,
                title=spec.title if spec else "",
                columns=[
                    Column(names.label(condition), anchors.get(id(result), ""), column_note(result))
                    for condition, result in zip(one.conditions, one.results, strict=True)
                ],
                rows=rows[:MOST_ROWS],
                notes=_notes(one, names, len(rows)),
                drawn=series_text(row.first) if row else "",
                figures=_figures(one, row, names, len(tables) + 1, settings) if row else [],
            )
        )
    return tables


def _rows(one: Comparison, settings: Settings) -> list[SideRow]:
    claims = []
    for row in one.verdicts:
        if all(verdict is None or verdict.passed for verdict in row.found):
            continue
        found = [None if verdict is None else claim_of(verdict, one.test) for verdict in row.found]
        cells = [Cell("-") if each is None else Cell(each.word, look=each.look) for each in found]
        claims.append(SideRow(shorten(row.name.replace("_", " ")), cells))
    if kind_of(one.test) == "behaviour":
        return claims
    return claims + [_series_row(one, each, settings) for each in one.series]


def _series_row(one: Comparison, row: SeriesRow, settings: Settings) -> SideRow:
    works = works_of(one.results, row)
    common = common_work(works)
    cells = [
        _series_cell(row, place, result, settings.deepest, "" if common else works[place])
        for place, result in enumerate(one.results)
    ]
    return SideRow(", ".join(part for part in (series_text(row.first), common) if part), cells)


def _series_cell(
    row: SeriesRow, place: int, result: Result | None, deepest: float, work: str
) -> Cell:
    series = row.found[place]
    if series is None:
        if result is None or result.status == "measured":
            return Cell("-")
        return Cell(result.status, look="status-other")
    summary = summarise(series, deepest=min(deepest, _TAIL))
    counts = [one.count for one in row.found if one is not None]
    # The deepest quantile that the counts of all conditions support.
    common = max(printable_quantiles(min(counts), _TAIL), default=0.5)
    shown = [found for found in summary.quantiles if found.q in (0.5, common)]
    step, quantum_ns = step_of(series), quantum_of(series, result.instrument if result else None)
    lines = [
        f"{level_text(found.q)} {quantile_value(found, series.unit, quantum_ns, step)}"
        for found in shown
    ]
    lacks = lacking_quantile(0.5, series)
    if lacks:
        lines.append(f"median {lacks}")
    if max(counts) > UNLIKE_COUNTS * min(counts):
        lines.append(f"{count_text(series)} values")
    if work:
        lines.append(work)
    ratio = ratio_to_first(row, place)
    return Cell(
        read_value(worst_value(series), series.unit, quantum_ns)
        + (f" {MARK}" if is_contradictory(series) else ""),
        "" if ratio is None else f"\N{MULTIPLICATION SIGN}\N{NO-BREAK SPACE}{ratio_text(ratio)}",
        tuple(lines),
    )


def _notes(one: Comparison, names: Names, rows: int) -> list[str]:
    notes = []
    for condition, result in zip(one.conditions, one.results, strict=True):
        if result is not None and result.status != "measured":
            said = f": {result.reason}" if result.reason else ""
            remedy = remedy_text(result.remedy, result.command)
            notes.append(
                f"{names.label(condition)}: {result.status}{said}{f'; {remedy}' if remedy else ''}."
            )
    works = [works_of(one.results, row) for row in one.series]
    if any(any(found) and not common_work(found) for found in works):
        notes.append(f"{UNEQUAL.capitalize()}.")
    if any(is_contradictory(found) for row in one.series for found in row.found if found):
        notes.append(f"{MARK_NOTE}.")
    if rows > MOST_ROWS:
        notes.append(f"{rows - MOST_ROWS} more series in the sections of the results.")
    return notes


def _figures(
    one: Comparison, row: SeriesRow, names: Names, place: int, settings: Settings
) -> list[Figure]:
    lines = [
        _line(series, condition, one.conditions, names)
        for condition, series in zip(one.conditions, row.found, strict=True)
        if series is not None
    ]
    figures = [
        figure_of(
            kind,
            lines,
            f"{one.test} {series_text(row.first)}",
            f"beside-{place}-{number}",
            settings.drawer,
        )
        for number, kind in enumerate(_KINDS)
    ]
    return [figure for figure in figures if figure is not None]


def _line(
    series: Series, condition: Condition, conditions: list[Condition], names: Names
) -> Series:
    """The series named after its condition: two loads get dashes, the rest colours."""
    loads = {one.load for one in conditions}
    load = names.load(condition.load)
    is_switched = any(one.preemption for one in conditions)
    if len(loads) == 2 and len({one.cpu_config for one in conditions}) > 1 and not is_switched:
        return msgspec.structs.replace(
            series, name=f"load {load}", labels={"cpus": condition.cpu_config}
        )
    return msgspec.structs.replace(series, labels={"condition": names.label(condition)})
