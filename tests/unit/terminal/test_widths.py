"""Tables of the terminal: what drawing them costs, and where the words in them are broken."""

from __future__ import annotations

import io

import pytest
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table

from hardstone.systems.published import figures_of
from hardstone.terminal.console import Addresses, make_console, make_table, print_table, wrapped
from hardstone.terminal.explain import print_published, published_tables


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


@pytest.mark.parametrize("width", [80, 60])
def test_an_address_is_broken_after_a_slash_only(width: int) -> None:
    stream = io.StringIO()
    console = make_console(stream)
    console.width = width
    table = make_table()
    for title in ("address", "load", "system", "figures"):
        table.add_column(title, overflow="fold")
    for one in ADDRESSES:
        figures = "mean 0.7, max 11.7 us, and a remark on it"
        table.add_row(Addresses(one), "not published", "QNX Neutrino 6.5", figures)
    print_table(console, table)
    shown = [part for part in parts_of(stream.getvalue()) if "/" in part or "-" in part]
    whole = {part for one in ADDRESSES for part in one.split("/")}
    assert {part for text in shown for part in text.split("/")} - {""} <= whole
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= width


def test_words_are_broken_at_blanks_first() -> None:
    address = ADDRESSES[0]
    assert wrapped(f"the worst of {address}", 80) == [f"the worst of {address}"]
    assert wrapped(f"the worst of {address}", 40) == ["the worst of", address]
    assert wrapped(f"of {address}", 30) == ["of", "SEM-P-NEW/used/unnamed/thread/", "create"]
    assert wrapped("", 10) == [""] and wrapped("a" * 50, 10) == ["a" * 24, "a" * 24, "aa"]
    assert wrapped("a\x1b[31m/b", 80) == ["a\N{REPLACEMENT CHARACTER}[31m/b"]


@pytest.mark.parametrize("width", [80, 60])
def test_published_addresses_stay_whole(width: int) -> None:
    for key in ("SEM-P-NEW", "THR-P-NEW", "MSG-P-THR"):
        stream = io.StringIO()
        console = make_console(stream)
        console.width = width
        for table in published_tables(key):
            print_published(console, table)
        known = {part for one in figures_of(key) for part in str(one.address).split("/")}
        shown = [one for one in parts_of(stream.getvalue()) if one.endswith("/")]
        assert shown or width == 80
        assert {part for one in shown for part in one.split("/")[:-1]} <= known
