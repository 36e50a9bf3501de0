"""A table of 80 columns for several conditions: worst observed, ratio, median."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hardstone.errors import InputError
from hardstone.model import RunDocument, Series
from hardstone.present.calibrated_work import common_work, works_of
from hardstone.present.load_table import LoadTable, load_table
from hardstone.present.notices import idle_remarks
from hardstone.present.quantile_text import lacking_quantile
from hardstone.present.wording import format_value, labels_text, ratio_text, spoken
from hardstone.stats.comparison import Comparison, SeriesRow, comparisons_in, ratio_to_first
from hardstone.stats.conditions import Names, names_in
from hardstone.stats.contradictions import MARK, MARK_NOTE, is_contradictory
from hardstone.stats.summary import median_of
from hardstone.terminal.console import print_command
from hardstone.terminal.widths import print_table
from hardstone.terminal.words import words

MOST_COLUMNS = 4
_LEAST_SERIES = 4  # of one test
_MOST_CELLS = 4000  # they take time to print, and nobody reads more
_SERIES_WIDTH = 19
_NOTE = "worst observed, ratio to the first condition, median; for the quantiles:"
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
    console.print(words(_NOTE, "dim"))
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
    print_table(console, _load_grid(table))
    console.print()


def _table(found: list[Comparison], names: Names, places: list[int], most: int) -> Table:
    """At most `most` series of each test, those with the highest values."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("test, series", overflow="fold", width=_SERIES_WIDTH)
    for place in places:
        title = names.label(found[0].conditions[place]).replace(", ", "\n")
        table.add_column(words_of_lines(title), justify="right", overflow="fold")
    for one in found:
        table.add_row(words(one.test, "bold"), *(_state(one, place) for place in places))
        rows = sorted(one.series, key=lambda row: -row.highest)[:most]
        for row in rows:
            table.add_row(*_row(one, row, places))
        if len(rows) < len(one.series):
            table.add_row(words(f" {len(one.series) - len(rows)} more series", "dim"))
    return table


def words_of_lines(text: str) -> Text:
    return Text("\n").join(words(line) for line in text.split("\n"))


def _row(one: Comparison, row: SeriesRow, places: list[int]) -> Iterator[Text]:
    """Calibrated work is part of the label, or of each cell if it differs."""
    works = works_of(one, row)
    common = common_work(works)
    yield _label(row, common)
    for place in places:
        yield _cell(row, place, "" if common else works[place])


def _label(row: SeriesRow, work: str) -> Text:
    labels = labels_text(row.first.labels)
    name = words(f"{spoken(row.first.name)}, {labels}" if labels else spoken(row.first.name))
    return Text("\n").join([name, Text(work)]) if work else name


def _state(one: Comparison, place: int) -> Text:
    """The status of the result if it was not measured in full."""
    result = one.results[place]
    if result is None:
        return words("not run", "yellow")
    if result.status != "measured":
        return words(result.status, "yellow")
    return words("") if result.complete else words("incomplete", "yellow")


def _cell(row: SeriesRow, place: int, work: str) -> Text:
    return Text("\n").join(_cell_lines(row, place, work))


def _cell_lines(row: SeriesRow, place: int, work: str) -> Iterator[Text]:
    series = row.found[place]
    if series is None:
        yield Text("-")
        return
    ratio = ratio_to_first(row, place)
    times = "" if ratio is None else f" x{ratio_text(ratio)}"
    mark = MARK if is_contradictory(series) else ""
    yield Text(format_value(series.max, series.unit) + mark, style="bold") + Text(times)
    yield Text(_median(series), style="dim")
    if work:
        yield Text(work, style="yellow")


def _median(series: Series) -> str:
    """The median, or how many values it needs; "?" if the histogram is unreadable."""
    lacks = lacking_quantile(0.5, series.count) if series.count else ""
    if lacks:
        return f"median {lacks}"
    try:
        median = median_of(series)
    except InputError:
        return "?"
    return "" if median is None else format_value(median, series.unit)


def _load_grid(table: LoadTable) -> Table:
    grid = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
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
    return grid


def _parted(text: str) -> list[str]:
    """A long range on several lines, since a terminal would break it inside a number."""
    low, to, high = text.partition(" to ")
    if not to or len(text) <= _RANGE_CHARACTERS:
        return [text]
    return [low, *f"to {high}".replace(" rounds", "\nrounds").split("\n")]
