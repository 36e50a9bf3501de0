"""Widths of table columns."""

from __future__ import annotations

from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Column, Table

_LONGEST_NAME = 24
_LONGEST_WORD = 9  # of a column of figures
_WIDE = 10_000


def print_table(console: Console, table: Table, indent: int = 0) -> None:
    """Prints `table` without breaking words such as test IDs.

    Columns that may wrap shrink to their longest word. If that is not enough, lines are longer
    than the terminal.
    """
    spans = [_span(console, column) for column in table.columns]
    for column, span in zip(table.columns, spans, strict=True):
        column.min_width = span.minimum
    room = console.width - indent
    needed = _width_drawn(console, table, room)
    if needed > room:
        needed = _narrow(table, spans, room)
    usual, console.width = console.width, max(console.width, needed + indent)
    try:
        console.print(Padding(table, (0, 0, 0, indent)) if indent else table)
    finally:
        console.width = usual


def _span(console: Console, column: Column) -> Measurement:
    """The minimum is the longest word that must stay whole, the maximum one line."""
    if column.width is not None:
        return Measurement(column.width, column.width)
    shown = [
        Measurement.get(console, console.options.update_width(_WIDE), cell)
        for cell in (column.header, *column.cells)
    ]
    most = min(max((one.maximum for one in shown), default=1), column.max_width or _WIDE)
    if column.no_wrap:
        return Measurement(most, most)
    longest = max((one.minimum for one in shown), default=1)
    whole = _LONGEST_NAME if column.justify == "left" else _LONGEST_WORD
    return Measurement(min(longest, whole, most), most)


def _width_drawn(console: Console, table: Table, room: int) -> int:
    """The width of the first line, which all lines have; a long table is not drawn for it."""
    drawn = console.render(table, console.options.update_width(room))
    return sum(part.cell_length for part in next(iter(Segment.split_lines(drawn)), ()))


def _narrow(table: Table, spans: list[Measurement], width: int) -> int:
    """Sets the width of every column, shrinking the widest first. Returns the table's width."""
    widths = [span.maximum for span in spans]
    gaps = (len(widths) - 1) * (1 if table.box is None else 2)
    while sum(widths) + gaps > width:
        able = [place for place, span in enumerate(spans) if widths[place] > span.minimum]
        if not able:
            break
        widths[max(able, key=lambda place: widths[place])] -= 1
    for column, own in zip(table.columns, widths, strict=True):
        column.width = own
    return sum(widths) + gaps
