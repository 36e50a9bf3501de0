"""IRQ-S-SUS on a terminal: the steps of the search."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table

from hardstone.model import RunDocument
from hardstone.present.search_steps import CAPTION, HEADINGS, step_rows
from hardstone.stats.conditions import names_in
from hardstone.terminal.widths import print_table
from hardstone.terminal.words import words


def show_search(console: Console, document: RunDocument) -> None:
    """The steps of each result of IRQ-S-SUS; nothing where there is none."""
    names = names_in(document)
    for result in document.results:
        rows = step_rows([result])
        if rows:
            console.print(words(f"steps of {names.name(result)}", "bold"))
            print_table(console, _table(rows))
            console.print(words(CAPTION, "dim"))
            console.print()


def _table(rows: list[tuple[str, ...]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for number, title in enumerate(HEADINGS):
        table.add_column(title, justify="right" if 0 < number < 6 else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(words, row))
    return table
