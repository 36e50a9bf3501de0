"""A table of published figures on a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from hardstone.terminal.published import PublishedTable
from hardstone.terminal.widths import print_table
from hardstone.terminal.words import words


def published_parts(table: PublishedTable) -> Iterator[RenderableType]:
    """The rows, then the conditions that the study gives, then the note."""
    yield _rows(table)
    yield from (words(condition) for condition in table.conditions)
    if table.note:
        yield words(table.note)


def print_published(console: Console, table: PublishedTable) -> None:
    """Prints all parts of `table`."""
    for part in published_parts(table):
        if isinstance(part, Table):
            print_table(console, part)
        else:
            console.print(part)


def _rows(table: PublishedTable) -> Table:
    shown = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for title in table.columns:
        shown.add_column(title, overflow="fold")
    for row in table.rows:
        cells = {"load": row.load, "system": row.system or "the study", "figures": row.figures}
        addresses = Text("\n".join(address or "verdicts" for address in row.addresses))
        shown.add_row(addresses, *(words(cells[title] or "-") for title in table.columns[1:]))
    return shown
