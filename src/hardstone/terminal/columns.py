"""Conditions or targets, side by side on a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from textwrap import wrap
from typing import IO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hardstone.errors import InputError
from hardstone.model import RunDocument, Series
from hardstone.present.measured_tables import common_work, load_table, works_of
from hardstone.present.notices import idle_remarks
from hardstone.present.target_table import TargetRow, TargetTable
from hardstone.stats.conditions import (
    Comparison,
    Names,
    SeriesRow,
    comparisons_in,
    names_in,
    ratio_to_first,
)
from hardstone.stats.consistency import (
    MARK,
    MARK_NOTE,
    is_contradictory,
)
from hardstone.stats.quantiles import lacking_quantile, median_of, quantum_of
from hardstone.terminal.console import make_console, make_table, print_command, print_table, words
from hardstone.wording import labels_text, ratio_text, read_value, spoken

MOST_COLUMNS = 4
_LEAST_SERIES = 4  # of one test
_MOST_CELLS = 4000  # they take time to print, and nobody reads more
_SERIES_WIDTH = 19
_RANGE_CHARACTERS = 14


def print_side_by_side(console: Console, document: RunDocument) -> None:
    """Prints each test with one column per condition, series with the highest values first.
    Prints nothing for a run with one condition."""
    found = comparisons_in(document)
    timed = [one for one in found if one.series]
    names = names_in(document)
    if not timed:
        return
    configs = len({condition[1:] for condition in found[0].conditions})
    step = configs if 1 < configs < MOST_COLUMNS else MOST_COLUMNS - 1
    places = range(len(found[0].conditions))
    most = max(_LEAST_SERIES, _MOST_CELLS // (len(timed) * len(places)))
    for start in range(0, len(places), step):
        # Every table has the first condition, since ratios refer to it.
        shown = [0, *places[max(start, 1) : start + step]]
        print_table(console, _table(timed, names, shown, most))
        console.print()
    rows = (series for one in timed for row in one.series for series in row.found)
    if any(series is not None and is_contradictory(series) for series in rows):
        console.print(words(MARK_NOTE))
    for remark in idle_remarks(document):
        console.print(words(remark))
    note = "worst observed, ratio to the first condition, median; for the quantiles:"
    console.print(words(note, "dim"))
    print_command(console, f"hardstone report {shlex.quote(document.id)}")
    console.print()


def print_legend(console: Console, document: RunDocument) -> None:
    """Prints the full text of each load whose name is shortened."""
    legend = names_in(document).legend()
    if not legend:
        return
    console.print(words("loads with shortened names", "bold"))
    for text, load in legend.items():
        console.print(words(f"{text}: {load}"))
    console.print()


def print_loads(console: Console, document: RunDocument) -> None:
    """Prints the requested and reached load, one line per element."""
    table = load_table(document)
    if table is None:
        return
    console.print(words("load: requested and reached", "bold"))
    grid = make_table()
    grid.add_column("load", overflow="fold", max_width=12)
    longest = max(len(row.name) for row in table.rows)
    grid.add_column("element", overflow="fold", min_width=min(longest, 20), max_width=20)
    grid.add_column("requested", justify="right", overflow="fold")
    for config in table.cpu_configs:
        grid.add_column(words(config), justify="right", overflow="fold")
    before = ""
    for row in table.rows:
        load, before = "" if row.load == before else row.load, row.load
        reached = (
            Text("\n").join(words(part, "bold red" if is_short else "") for part in _parted(text))
            for text, is_short in zip(row.reached, row.is_short, strict=True)
        )
        grid.add_row(words(load), words(row.name), words(row.asked), *reached)
    print_table(console, grid)
    console.print()


def _parted(text: str) -> list[str]:
    """A long range on several lines, since a terminal would break it inside a number."""
    low, to, high = text.partition(" to ")
    if not to or len(text) <= _RANGE_CHARACTERS:
        return [text]
    return [low, *f"to {high}".replace(" rounds", "\nrounds").split("\n")]


def _table(found: list[Comparison], names: Names, places: list[int], most: int) -> Table:
    """At most `most` series of each test, those with the highest values."""
    table = make_table()
    table.add_column("test, series", overflow="fold", width=_SERIES_WIDTH)
    for place in places:
        title = names.label(found[0].conditions[place]).replace(", ", "\n")
        heading = Text("\n").join(words(line) for line in title.split("\n"))
        table.add_column(heading, justify="right", overflow="fold")
    for one in found:
        table.add_row(words(one.test, "bold"), *(_state(one, place) for place in places))
        rows = sorted(one.series, key=lambda row: -row.highest)[:most]
        for row in rows:
            table.add_row(*_row(one, row, places))
        if len(rows) < len(one.series):
            table.add_row(words(f" {len(one.series) - len(rows)} more series", "dim"))
    return table


def _row(one: Comparison, row: SeriesRow, places: list[int]) -> Iterator[Text]:
    """Calibrated work is part of the label, or of each cell if it differs."""
    works = works_of(one.results, row)
    common = common_work(works)
    labels = labels_text(row.first.labels)
    label = words(f"{spoken(row.first.name)}, {labels}" if labels else spoken(row.first.name))
    yield Text("\n").join([label, Text(common)]) if common else label
    for place in places:
        yield Text("\n").join(_cell_lines(one, row, place, "" if common else works[place]))


def _state(one: Comparison, place: int) -> Text:
    """The status of the result if it was not measured in full."""
    result = one.results[place]
    if result is None:
        return words("not run", "yellow")
    if result.status != "measured":
        return words(result.status, "yellow")
    return words("") if result.complete else words("incomplete", "yellow")


def _cell_lines(one: Comparison, row: SeriesRow, place: int, work: str) -> Iterator[Text]:
    series, result = row.found[place], one.results[place]
    if series is None:
        yield Text("-")
        return
    ratio = ratio_to_first(row, place)
    times = "" if ratio is None else f" x{ratio_text(ratio)}"
    mark = MARK if is_contradictory(series) else ""
    quantum_ns = quantum_of(series, result.instrument if result is not None else None)
    yield Text(read_value(series.max, series.unit, quantum_ns) + mark, style="bold") + Text(times)
    yield Text(_median(series, quantum_ns), style="dim")
    if work:
        yield Text(work, style="yellow")


def _median(series: Series, quantum_ns: float) -> str:
    """The median, or how many values it needs; "?" if the histogram is unreadable."""
    lacks = lacking_quantile(0.5, series) if series.count else ""
    if lacks:
        return f"median {lacks}"
    try:
        median = median_of(series)
    except InputError:
        return "?"
    return "" if median is None else read_value(median, series.unit, quantum_ns)


_MOST_TARGETS = 3
_LABEL_WIDTH = 24
_LEVELS = {"test": ("", "bold"), "series": (" ", ""), "figure": ("  ", "dim")}  # indent, style
_LOOKS = {"failed": "bold red", "uncounted": "yellow", "passed": "green", "lacking": "yellow"}


def print_target_table(table: TargetTable, stream: IO[str] | None = None) -> None:
    """Prints `table` to `stream` (default: standard output); several tables for many targets.

    Every one has the first target, since ratios refer to it.
    """
    console = make_console(stream)
    places = range(len(table.columns))
    for start in range(1, len(places), _MOST_TARGETS - 1):
        print_table(console, _grid(table, [0, *places[start : start + _MOST_TARGETS - 1]]))
        console.print()
    for column in table.columns:
        if column.legend:
            console.print(words(f"{column.short}: {column.legend}"), soft_wrap=True)
    for note in table.notes:
        console.print(words(note, "dim"))


def _grid(table: TargetTable, places: list[int]) -> Table:
    grid = make_table()
    grid.add_column("test, series", overflow="fold", max_width=_LABEL_WIDTH)
    for place in places:
        column = table.columns[place]
        lines = [*column.lines, *([column.kind] if column.kind else [])]
        heading = Text("\n").join(words(line) for line in lines)
        grid.add_column(heading, justify="right", overflow="fold")
    for row in table.rows:
        grid.add_row(_target_label(row), *(_target_cell(row, place) for place in places))
    return grid


def _target_label(row: TargetRow) -> Text:
    """The label; further lines are indented by one more."""
    indent, style = _LEVELS[row.level]
    first, *more = wrap(row.label, _LABEL_WIDTH - len(indent) - 1, break_on_hyphens=False) or [""]
    lines = [Text(indent) + words(first, style)]
    lines += [Text(f"{indent} ") + words(line, style) for line in more]
    return Text("\n").join(lines)


def _target_cell(row: TargetRow, place: int) -> Text:
    if not row.cells:
        return Text("")
    cell = row.cells[place]
    text = words(cell.text, _LOOKS.get(cell.look, ""))
    return text + Text(f" {cell.ratio}", style="bold") if cell.ratio else text
