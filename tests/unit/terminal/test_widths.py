"""Tables of the terminal: what drawing them costs, and where the words in them are broken."""

from __future__ import annotations

import io

import pytest
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table

from hardstone.comparison.assemble import compare_view
from hardstone.comparison.screen import comparison_lines
from hardstone.systems.subjects import published_system
from hardstone.terminal.console import make_console, print_table, wrapped


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


ADDRESSES = (
    "SEM-P-NEW/used/unnamed/thread/create",
    "KRN-P-PRE/all/dispatch",
    "THR-P-NEW/run-and-terminate/delete",
)


def parts_of(text: str) -> list[str]:
    """What a terminal shows between blanks."""
    return text.replace("\n", " ").split()


def test_words_are_broken_at_blanks_first() -> None:
    address = ADDRESSES[0]
    assert wrapped(f"the worst of {address}", 80) == [f"the worst of {address}"]
    assert wrapped(f"the worst of {address}", 40) == ["the worst of", address]
    assert wrapped(f"of {address}", 30) == ["of", "SEM-P-NEW/used/unnamed/thread/", "create"]
    assert wrapped("", 10) == [""] and wrapped("a" * 50, 10) == ["a" * 24, "a" * 24, "aa"]
    assert wrapped("a\x1b[31m/b", 80) == ["a\N{REPLACEMENT CHARACTER}[31m/b"]


@pytest.mark.parametrize("width", [80, 60])
def test_a_comparison_breaks_addresses_after_a_slash_only(width: int) -> None:
    names = ("lynx", "solaris-1rt", "solaris-2proc", "solaris-1proc")
    view = compare_view([published_system(one) for one in names])
    lines = [line.plain for line in comparison_lines(view, width)]
    addresses = {row.address for test in view.tests for row in test.rows}
    whole = {part for one in addresses for part in one.split("/")}
    shown = [one for line in lines for one in parts_of(line) if "/" in one and "MB/s" not in one]
    broken = [one for one in shown if one.endswith("/")]
    assert broken and {part for one in shown for part in one.split("/")} - {""} <= whole
