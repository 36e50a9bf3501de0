"""The list of stored runs as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table

from hardstone.present.wording import shorten
from hardstone.store import RunEntry
from hardstone.terminal.console import make_console, print_command
from hardstone.terminal.widths import print_table
from hardstone.terminal.words import words


_HERE = "local"
_TARGET_CHARACTERS = 80


def print_runs(entries: Sequence[RunEntry], *, unreadable_count: int = 0) -> None:
    """Prints one row for each run, or a message if there is none or none is readable."""
    console = make_console()
    if not entries and unreadable_count:
        console.print(words(f"none of the stored runs is readable ({unreadable_count} found)"))
        return
    if not entries:
        console.print(words("no runs yet; to measure:"))
        print_command(console, "hardstone evaluate")
        return
    # Of runs on this machine alone the column would say nothing.
    has_targets = any(entry.target != _HERE for entry in entries)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("run", no_wrap=True)
    table.add_column("name", overflow="fold", ratio=1)
    if has_targets:
        table.add_column("target", overflow="fold", ratio=1)
    table.add_column("tests", justify="right")
    table.add_column("status", no_wrap=True)
    table.add_column("trust", no_wrap=True)
    for entry in entries:
        target = [shorten(entry.target, _TARGET_CHARACTERS)] if has_targets else []
        cells = (entry.id, entry.name, *target, str(entry.tests), entry.status, entry.grade)
        table.add_row(*(words(cell) for cell in cells))
    print_table(console, table)
