"""Tables of the terminal: what drawing them costs."""

from __future__ import annotations

import io

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table

from hardstone.terminal.console import make_console, print_table


class Cell:
    drawn = 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.drawn += 1
        yield "x"

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, 1)


def test_a_row_is_drawn_once() -> None:
    table, cells = Table("name"), [Cell() for _ in range(5)]
    for one in cells:
        table.add_row(one)
    stream = io.StringIO()
    print_table(make_console(stream), table)
    assert stream.getvalue().count("x") == 5
    assert [one.drawn for one in cells] == [1] * 5
