"""The table of what took the CPU from a watching loop, on a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hardstone.model import RunDocument
from hardstone.present.noise_table import COLUMNS, NoiseTable, noise_tables
from hardstone.stats.conditions import names_in
from hardstone.terminal.widths import print_table
from hardstone.terminal.words import words


def print_noise(console: Console, document: RunDocument) -> None:
    """A table for each result that has one, with its remarks."""
    names = names_in(document)
    for result in document.results:
        for found in noise_tables(result):
            title = f"what took the CPU, {names.name(result)}: {found.title}"
            console.print(words(title, "bold"))
            print_table(console, _table(found), indent=1)
            for remark in found.remarks:
                console.print(words(remark))
            console.print()


def _table(found: NoiseTable) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column(COLUMNS[0], overflow="fold", ratio=1)
    for title in COLUMNS[1:]:
        table.add_column(title, justify="right", no_wrap=True)
    for row in found.rows:
        table.add_row(*map(Text, row.cells))
    return table
