"""The list of tests as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table

from hardstone.catalogue import kind_of
from hardstone.model import Descriptor
from hardstone.terminal.console import make_console
from hardstone.terminal.widths import print_table
from hardstone.terminal.words import words


def print_tests(tests: Sequence[Descriptor]) -> None:
    """Prints one row for each test."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("test", no_wrap=True)
    table.add_column("title", overflow="fold", ratio=1)
    table.add_column("kind", no_wrap=True)
    table.add_column("origin", overflow="fold", ratio=1)
    table.add_column("needs", overflow="fold")
    for test in tests:
        needs = ", ".join(test.needs) or "-"
        cells = (test.id, test.title, kind_of(test.id), test.source, needs)
        table.add_row(*(words(cell) for cell in cells))
    print_table(make_console(), table)
