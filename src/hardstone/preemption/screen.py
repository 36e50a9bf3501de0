"""The table of kernel preemption off and on, on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hardstone.preemption.tables import PreemptionPair, PreemptionRow, PreemptionTable
from hardstone.terminal.console import figures_table, make_console, print_table, words
from hardstone.wording import one_line


def print_pairs(found: Sequence[PreemptionPair]) -> None:
    """Prints each table below its condition."""
    console = make_console()
    for pair in found:
        console.print()
        show_pair(console, pair)


def show_pair(console: Console, pair: PreemptionPair) -> None:
    """The rows of all operations together compared with HP's, those of each, and what limits
    them."""
    found = pair.table
    if pair.under:
        console.print(words(pair.under, "bold"))
    title = f"kernel preemption off ({found.off}) and on ({found.on})"
    console.print(words(title, "bold"))
    if not found.rows:
        console.print(words("neither side has figures"))
    whole = [row for row in found.rows if row.published]
    if whole:
        console.print(Text("all operations together, compared with ") + words(found.published))
        print_table(console, _whole(whole, found))
        means = " and ".join(name for name, _ in found.history.sides)
        console.print(words(f"{found.history.short}: {means}", "dim"))
        console.print()
    each = [row for row in found.rows if not row.published]
    if each:
        print_table(console, _each(each, found))
        console.print()
    console.print(words(found.meaning, "dim"))
    for line in found.unlike:
        console.print(words(f"differs: {line}", "yellow"))
    for line in found.notes:
        console.print(words(line, "yellow"))


def _whole(rows: Sequence[PreemptionRow], found: PreemptionTable) -> Table:
    short = found.history.short
    titles = ("", *_sides(found), "improve-\nment", f"{short}\noff", "on", "improve-\nment")
    table = figures_table(titles)
    for row in rows:
        ours = _figure(row.off, row.off_interval), _figure(row.on, row.on_interval)
        table.add_row(words(row.figure), *ours, _improvement(row), *map(words, row.published))
    return table


def _sides(found: PreemptionTable) -> tuple[str, str]:
    """The heads of both sides, each with its model of preemption."""
    return f"off\n({one_line(found.off)})", f"on\n({one_line(found.on)})"


def _each(rows: Sequence[PreemptionRow], found: PreemptionTable) -> Table:
    """The name of an operation stands in the first of its rows."""
    table = figures_table(("operation", "", *_sides(found), "improve-\nment"))
    table.columns[1].justify = "left"
    before = ""
    for row in rows:
        name = "" if row.operation == before else row.operation
        before = row.operation
        ours = _figure(row.off, row.off_interval), _figure(row.on, row.on_interval)
        table.add_row(words(name), words(row.figure), *ours, _improvement(row))
    return table


def _figure(value: str, interval: str) -> Text:
    """The interval is on a line of its own."""
    below = Text("\n") + words(interval, "dim") if interval else Text("")
    return words(value) + below


def _improvement(row: PreemptionRow) -> Text:
    shown = _figure(row.improvement, row.improvement_interval)
    return shown + Text("\n") + words(row.doubt, "yellow") if row.doubt else shown
