"""The table of our own has the lines of rich's, whatever its cells hold."""

from __future__ import annotations

import random

import pytest
from rich import box
from rich.table import Table

from hardstone.terminal.console import make_console
from hardstone.terminal.light_table import print_light_table
from hardstone.terminal.widths import print_table
from hardstone.terminal.words import words

pytestmark = pytest.mark.slow

HEADS = ("test", "title", "kind", "origin", "needs")
WRAPPING = (False, True, False, True, True)
PIECES = (
    "a",
    "of",
    "clock",
    "resolution",
    "[O]",
    "2000;",
    "section:4",
    "-",
    "\u6642\u9593",
    "e\u0301",
)
LONG = ("x" * 30, "setitimer/" * 9, "\u6e2c" * 17)


def drawn_by_rich(rows: list[tuple[str, ...]]) -> None:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for head, wraps in zip(HEADS, WRAPPING, strict=True):
        table.add_column(head, overflow="fold", no_wrap=not wraps)
    for row in rows:
        table.add_row(*(words(cell) for cell in row))
    print_table(make_console(), table)


def made_rows(seed: int) -> list[tuple[str, ...]]:
    draw = random.Random(seed)
    pieces = PIECES + LONG if seed % 2 == 0 else PIECES
    most = draw.choice((2, 6, 20))

    def cell() -> str:
        return " ".join(draw.choices(pieces, k=draw.randint(1, most)))

    if seed % 3 == 1:  # a word that cannot be broken beside a long text
        return [("A-B-C", "w" * 23, "timing", "ab " * draw.randint(20, 70), cell())]
    if seed % 3 == 2:
        texts = ("ab " * draw.randint(10, 90), "a bc " * draw.randint(10, 90))
        return [("A-B-C", texts[0], "timing", texts[1], "a_cpu, realtime")]

    return [(f"CLK-B-{n}", cell(), "behaviour", cell(), cell()) for n in range(draw.randint(1, 4))]


def made_tables() -> list[list[tuple[str, ...]]]:
    edge = [[("A-B-C", "", "timing", "", "-")], [("A-B-C", "\x1b[1m a\nb", "timing", "c\td", "-")]]
    return [*edge, *(made_rows(seed) for seed in range(24))]


@pytest.mark.parametrize(
    ("width", "colour"), [(40, ""), (60, ""), (61, "1"), (80, ""), (120, "1"), (200, "")]
)
def test_its_lines_are_those_of_rich(
    width: int, colour: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", colour)
    for rows in made_tables():
        drawn_by_rich(rows)
        expected = capsys.readouterr().out
        print_light_table(HEADS, rows, WRAPPING)
        assert capsys.readouterr().out == expected
