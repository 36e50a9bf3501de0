"""The terminal: its console, its width, and how wide a text is."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import IO

from rich import box
from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from hardstone.calling import as_typed
from hardstone.wording import clean, one_line


def words(text: str, style: str = "") -> Text:
    """Untrusted text without controls and without markup."""
    return Text(one_line(text), style=style)


Row = tuple[Text, ...]

_HEIGHT = 25  # not used here, but where it is unknown rich asks the terminal before each cell


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leaves the exit code to the command; rich would exit with 1."""
        raise BrokenPipeError


def make_console(stream: IO[str] | None = None) -> Console:
    """A console without markup that replaces characters its stream cannot encode."""
    reconfigure = getattr(stream or sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
    return _Console(
        file=stream,
        width=_width_of(stream),
        height=_HEIGHT,
        markup=False,
        highlight=False,
        emoji=False,
        soft_wrap=False,
    )


def make_table() -> Table:
    """A table without lines but the one below its heads, as all screens have it."""
    return Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)


def figures_table(titles: Sequence[str], left: int = 1) -> Table:
    """Columns of figures, after `left` columns of names."""
    table = make_table()
    for number, title in enumerate(titles):
        table.add_column(title, justify="left" if number < left else "right", overflow="fold")
    return table


def print_command(console: Console, command: str, indent: int = 4) -> None:
    """Prints a command as it must be typed here, on its own line and never wrapped."""
    text = Text(" " * indent) + Text(clean(as_typed(command)), style="cyan")
    console.print(text, soft_wrap=True)


_PARTS = re.compile(r"[^/]*/|[^/]+$")


def wrapped(text: str, width: int) -> list[str]:
    """`text` in lines of at most `width` characters, broken between words and, in a word that is
    longer than a line, such as an address, after "/". A part of one is broken only where it would
    be longer than any name."""
    lines, line = [], ""
    for word in one_line(text).split(" "):
        longer = f"{line} {word}" if line else word
        if len(longer) <= width:
            line = longer
            continue
        if line:
            lines.append(line)
        *full, line = _broken(word, width)
        lines += full
    return [*lines, line] if line or not lines else lines


def _broken(word: str, width: int) -> list[str]:
    """A word in lines, broken after "/" where it does not fit."""
    most, lines = max(width, _LONGEST_NAME), [""]
    for part in _PARTS.findall(word) or [word]:
        for start in range(0, len(part), most):
            piece = part[start : start + most]
            if lines[-1] and len(lines[-1]) + len(piece) > width:
                lines.append("")
            lines[-1] += piece
    return lines


def print_wrapped(console: Console, text: str, lead: str = "", style: str = "") -> None:
    """Prints `text` wrapped between words, after `lead`; further lines are indented as much."""
    width = console.width - len(lead)
    for number, line in enumerate(wrapped(text, width)):
        start = " " * len(lead) if number else lead
        console.print(Text(start) + Text(line, style=style), soft_wrap=True)


def print_rows(
    console: Console, title: str, rows: Iterable[Row], commands: Iterable[str] = ()
) -> None:
    """Prints rows in columns; the last column takes the remaining width and wraps.

    `commands` are those that the rows refer to.
    """
    found = list(rows)
    if not found:
        return
    grid = Table.grid(padding=(0, 1, 0, 0))
    for column in range(len(found[0])):
        is_long = column == len(found[0]) - 1
        grid.add_column(overflow="fold", ratio=1 if is_long else None)
    for row in found:
        grid.add_row(*row)
    if title:
        console.print(words(title, "bold"))
    print_table(console, grid)
    for command in commands:
        print_command(console, command)
    console.print()


_LONGEST_NAME = 24
_LONGEST_WORD = 9  # of a column of figures
_WIDE = 10_000


def print_table(console: Console, table: Table, indent: int = 0) -> None:
    """Prints `table` without breaking words such as test IDs.

    Columns that may wrap shrink to their longest word. If that is not enough, lines are longer
    than the terminal.
    """
    contents = [_Content(console, column) for column in table.columns]
    spans = [one.span for one in contents]
    room = console.width - indent
    gaps = (len(spans) - 1) * (1 if table.box is None else 2)
    widths = _widths_by_rich(console, table, contents, room)
    if sum(widths) + gaps > room:
        widths = _narrow(spans, room - gaps)
    for column, width in zip(table.columns, widths, strict=True):
        column.width = width
    usual, console.width = console.width, max(console.width, sum(widths) + gaps + indent)
    try:
        console.print(Padding(table, (0, 0, 0, indent)) if indent else table)
    finally:
        console.width = usual


class _Content:
    """Stands for all cells of a column: as wide as they are, and knows the width it was given."""

    def __init__(self, console: Console, column: Column) -> None:
        wide = console.options.update_width(_WIDE)
        shown = [Measurement.get(console, wide, cell) for cell in (column.header, *column.cells)]
        self._measured = Measurement(
            max((one.minimum for one in shown), default=1),
            max((one.maximum for one in shown), default=1),
        )
        self._column = column
        self.width = 0

    @property
    def span(self) -> Measurement:
        """The minimum is the longest word that must stay whole, the maximum one line."""
        column = self._column
        if column.width is not None:
            return Measurement(column.width, column.width)
        most = min(self._measured.maximum, column.max_width or _WIDE)
        if column.no_wrap:
            return Measurement(most, most)
        whole = _LONGEST_NAME if column.justify == "left" else _LONGEST_WORD
        return Measurement(min(self._measured.minimum, whole, most), most)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return self._measured

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        self.width = options.max_width
        yield Text()


def _widths_by_rich(
    console: Console, table: Table, contents: Sequence[_Content], room: int
) -> list[int]:
    """The widths that rich gives the columns. It measures each cell three times, and long tables
    take most of the time of a screen: here a table of one row stands for all."""
    sketch = Table(
        box=table.box,
        padding=table.padding,
        collapse_padding=table.collapse_padding,
        pad_edge=table.pad_edge,
        show_edge=table.show_edge,
        expand=table.expand,
        show_header=False,
    )
    for column, one in zip(table.columns, contents, strict=True):
        sketch.add_column(
            width=column.width,
            min_width=one.span.minimum,
            max_width=column.max_width,
            ratio=column.ratio,
            no_wrap=column.no_wrap,
        )
    sketch.add_row(*contents)
    list(console.render(sketch, console.options.update_width(room)))
    return [one.width for one in contents]


def _narrow(spans: Sequence[Measurement], room: int) -> list[int]:
    """The width of every column within `room`, shrinking the widest first."""
    widths = [span.maximum for span in spans]
    while sum(widths) > room:
        able = [place for place, span in enumerate(spans) if widths[place] > span.minimum]
        if not able:
            break
        widths[max(able, key=lambda place: widths[place])] -= 1
    return widths


_USUAL, _LEAST = 80, 40


def _width_of(stream: IO[str] | None) -> int:
    """Columns from $COLUMNS, else of the terminal of `stream`, else 80; at least 40."""
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isascii() and columns.isdigit() and len(columns) < 6 else 0
    return max(width or _terminal_width(stream) or _USUAL, _LEAST)


def _terminal_width(stream: IO[str] | None) -> int:
    try:
        descriptors = [1, 2, 0] if stream is None else [stream.fileno()]
    except (OSError, ValueError):  # a stream of no file, or a closed one
        return 0
    for descriptor in descriptors:
        try:
            return os.get_terminal_size(descriptor).columns
        except OSError:
            continue
    return 0
