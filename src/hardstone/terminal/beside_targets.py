"""The table of several targets on a terminal or a pipe."""

from __future__ import annotations

from textwrap import wrap
from typing import IO

from rich import box
from rich.table import Table
from rich.text import Text

from hardstone.present.target_figures import FigureCell
from hardstone.present.target_table import TargetRow, TargetTable
from hardstone.terminal.console import make_console
from hardstone.terminal.widths import print_table
from hardstone.terminal.words import words

MOST_COLUMNS = 3
_LABEL_WIDTH = 24
_INDENT = {"test": "", "series": " ", "figure": "  "}
_LOOKS = {"failed": "bold red", "uncounted": "yellow", "passed": "green", "lacking": "yellow"}


def print_target_table(table: TargetTable, stream: IO[str] | None = None) -> None:
    """Prints `table` to `stream` (default: standard output); several tables for many targets.

    Every one has the first target, since ratios refer to it.
    """
    console = make_console(stream)
    places = range(len(table.columns))
    for start in range(1, len(places), MOST_COLUMNS - 1):
        print_table(console, _grid(table, [0, *places[start : start + MOST_COLUMNS - 1]]))
        console.print()
    for column in table.columns:
        if column.legend:
            console.print(words(f"{column.short}: {column.legend}"), soft_wrap=True)
    for note in table.notes:
        console.print(words(note, "dim"))


def _grid(table: TargetTable, places: list[int]) -> Table:
    grid = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    grid.add_column("test, series", overflow="fold", max_width=_LABEL_WIDTH)
    for place in places:
        column = table.columns[place]
        lines = [*column.lines, *([column.kind] if column.kind else [])]
        heading = Text("\n").join(words(line) for line in lines)
        grid.add_column(heading, justify="right", overflow="fold")
    for row in table.rows:
        grid.add_row(_label(row), *(_cell(row, place) for place in places))
    return grid


def _label(row: TargetRow) -> Text:
    """What does not fit into a line goes on below, one further in."""
    style = {"test": "bold", "series": "", "figure": "dim"}[row.level]
    indent = _INDENT[row.level]
    first, *more = wrap(row.label, _LABEL_WIDTH - len(indent) - 1, break_on_hyphens=False) or [""]
    lines = [Text(indent) + words(first, style)]
    lines += [Text(f"{indent} ") + words(line, style) for line in more]
    return Text("\n").join(lines)


def _cell(row: TargetRow, place: int) -> Text:
    if not row.cells:
        return Text("")
    cell: FigureCell = row.cells[place]
    text = words(cell.text, _LOOKS.get(cell.look, ""))
    return text + Text(f" {cell.ratio}", style="bold") if cell.ratio else text
