"""A run with several conditions on one screen: tests as rows, conditions as columns."""

from __future__ import annotations

from rich.text import Text

from hardstone.catalogue import kind_of
from hardstone.model import RunDocument
from hardstone.present.wording import format_value, ratio_text, shorten, spoken
from hardstone.stats.comparison import (
    Comparison,
    SeriesRow,
    comparisons_in,
    decisive_row,
    ratio_to_first,
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
        return max((ratio_to_first(row, place) or 0.0 for _, row in found), default=0.0)

    others = sorted(range(1, count), key=lambda place: -highest(place))
    return [0, *sorted(others[: MOST_COLUMNS - 1])]


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
    for place in places:
        series, result = row.found[place], one.results[place]
        if series is None:
            status = "not run" if result is None else "-" if has_run(result) else result.status
            line += Text(f"{shorten(status, cell - 1):>{cell}}", style="yellow")
            continue
        ratio = ratio_to_first(row, place)
        mark = MARK if is_contradictory(series) else ""
        times = "" if ratio is None else f" x{ratio_text(ratio)}"
        style = "bold red" if ratio is not None and ratio >= _FAR else ""
        text = f"{format_value(series.max, series.unit)}{mark}{times}"
        line += Text(f"{text:>{cell}}", style=style)
    return line
