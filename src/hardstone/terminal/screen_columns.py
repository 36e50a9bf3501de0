"""A run with several conditions on one screen: tests as rows, conditions as columns."""

from __future__ import annotations

from rich.text import Text

from hardstone.catalogue import kind_of
from hardstone.model import Result, RunDocument
from hardstone.present.wording import format_value, ratio_text, shorten, spoken
from hardstone.stats.comparison import (
    Comparison,
    SeriesRow,
    Worst,
    comparisons_in,
    decisive_row,
    worst_on_any_cpu,
)
from hardstone.stats.conditions import Condition, names_in
from hardstone.stats.contradictions import MARK, is_contradictory
from hardstone.stats.trust import has_run

MOST_COLUMNS = 4
_TEST = 10
_LEAST_LABEL = 14
_MOST_CELL = 16
_LEAST_CELL = 8
_FAR = 2.0  # times the first condition: the load, or the CPU configuration, matters


def column_lines(document: RunDocument, width: int, room: int) -> list[Text]:
    """Worst observed of each test under each condition, and its ratio to the first, in at most
    `room` lines; empty if nothing was timed."""
    timed = [one for one in comparisons_in(document) if kind_of(one.test) != "behaviour"]
    found = [(one, row) for one in timed if (row := decisive_row(one)) is not None]
    if not found or room < 4:
        return []
    conditions = found[0][0].conditions
    places = _places(found)
    cell = min((width - _TEST - _LEAST_LABEL) // len(places), _MOST_CELL)
    cell = max(cell, _LEAST_CELL)
    label = max(width - _TEST - cell * len(places), _LEAST_LABEL)
    notes = []
    if len(places) < len(conditions):
        notes.append(f"and {len(conditions) - len(places)} more conditions, with --all")
    headings = _headings(document, [conditions[place] for place in places], cell, label)
    most = room - len(headings) - len(notes)
    shown = found if len(found) <= most else _highest(found, most - 1)
    if len(shown) < len(found):
        notes.append(f"and {len(found) - len(shown)} more tests, with --all")
    lines = [_line(one, row, places, label, cell) for one, row in shown]
    return [*headings, *lines, *(Text(note, style="dim") for note in notes)]


def _places(found: list[tuple[Comparison, SeriesRow]]) -> list[int]:
    """The first condition, which is the reference, and those with the highest ratios."""
    count = len(found[0][0].conditions)
    if count <= MOST_COLUMNS:
        return list(range(count))

    def highest(place: int) -> float:
        return max(_ratio(one, row, place) for one, row in found)

    others = sorted(range(1, count), key=lambda place: -highest(place))
    return [0, *sorted(others[: MOST_COLUMNS - 1])]


def _ratio(one: Comparison, row: SeriesRow, place: int) -> float:
    """The ratio to the first condition, whatever the CPUs; 0 where there is none."""
    worst = worst_on_any_cpu(row, one.results[place])
    return (worst and worst.ratio_to(worst_on_any_cpu(row, one.results[0]))) or 0.0


def _highest(
    found: list[tuple[Comparison, SeriesRow]], most: int
) -> list[tuple[Comparison, SeriesRow]]:
    ranked = sorted(found, key=lambda pair: -pair[1].highest)[: max(most, 0)]
    kept = {id(row) for _, row in ranked}
    return [pair for pair in found if id(pair[1]) in kept]


def _headings(
    document: RunDocument, conditions: list[Condition], cell: int, label: int
) -> list[Text]:
    """The load above the CPU configuration if both differ within the run."""
    names = names_in(document)
    parts = [names.label(one).split(", ") for one in conditions]
    lines = max(len(part) for part in parts)
    first = f"{'test':{_TEST}}{'worst observed':{label}}"
    return [
        Text(
            (first if number == lines - 1 else " " * len(first))
            + "".join(
                f"{shorten(part[number] if number < len(part) else '', cell - 1):>{cell}}"
                for part in parts
            ),
            style="bold",
        )
        for number in range(lines)
    ]


def _line(one: Comparison, row: SeriesRow, places: list[int], label: int, cell: int) -> Text:
    line = Text(f"{shorten(one.test, _TEST - 1):{_TEST}}")
    line += Text(f"{shorten(spoken(row.first.name), label - 1):{label}}")
    first = worst_on_any_cpu(row, one.results[0])
    for place in places:
        line += _cell(first if place else None, one.results[place], row, cell)
    return line


def _cell(first: Worst | None, result: Result | None, row: SeriesRow, cell: int) -> Text:
    """Worst observed with its ratio to that of `first`, or with its CPU if that is another."""
    worst = worst_on_any_cpu(row, result)
    if worst is None:
        status = "not run" if result is None else "-" if has_run(result) else result.status
        return Text(f"{shorten(status, cell - 1):>{cell}}", style="yellow")
    series = worst.series
    mark = MARK if is_contradictory(series) else ""
    text, style = f"{format_value(series.max, series.unit)}{mark}", ""
    if first is not None and first.cpus != worst.cpus:
        text += f", CPU {series.labels.get('cpu', '?')}"
    elif (ratio := worst.ratio_to(first)) is not None:
        text += f" x{ratio_text(ratio)}"
        style = "bold red" if ratio >= _FAR else ""
    return Text(f"{shorten(text, cell - 1):>{cell}}", style=style)
