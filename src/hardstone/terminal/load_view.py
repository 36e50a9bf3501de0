"""What a load reached, on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rich import box
from rich.table import Table

from hardstone.present.measured_tables import load_figure
from hardstone.terminal.console import make_console, print_table, words
from hardstone.wording import shorten


class Reached(Protocol):
    """What one element of a load reached."""

    element: str
    degree: str
    asked: float | None
    reached: float
    unit: str
    processes: int
    how: str | None
    counters: dict[str, int]


def print_load(lines: Sequence[Reached]) -> None:
    """Prints one row for each element; shares and rates are those of one of its processes."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("element", no_wrap=True)
    table.add_column("degree", overflow="fold")
    for heading in ("asked", "reached", "processes", "CPU time"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("how", overflow="fold")
    for line in lines:
        cpu_ns = line.counters.get("cpu_ns")
        cells = (
            line.element,
            shorten(line.degree, 60),
            load_figure(line.asked, line.unit),
            load_figure(line.reached, line.unit),
            str(line.processes),
            "-" if cpu_ns is None else f"{cpu_ns / 1e9:.3g} s",
            shorten(line.how or "", 60),
        )
        table.add_row(*(words(cell) for cell in cells))
    print_table(make_console(), table)
