"""The list of tests as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table

from hardstone.model import Descriptor
from hardstone.summary.show import make_console
from hardstone.summary.text import words
from hardstone.summary.widths import print_table

_KINDS = {"B": "behaviour", "P": "timing", "S": "sustained"}


def kind_of(test: str) -> str:
    """What the middle part of an ID says: behaviour, timing or sustained load."""
    parts = test.split("-")
    return _KINDS.get(parts[1], "other") if len(parts) > 1 else "other"


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
