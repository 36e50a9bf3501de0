"""The console for all output, with rows in columns and commands."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import IO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hardstone.calling import as_typed
from hardstone.present.wording import clean
from hardstone.terminal.screen_width import width_of
from hardstone.terminal.widths import print_table
from hardstone.terminal.words import words

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
        width=width_of(stream),
        height=_HEIGHT,
        markup=False,
        highlight=False,
        emoji=False,
        soft_wrap=False,
    )


def print_command(console: Console, command: str, indent: int = 4) -> None:
    """Prints a command as it must be typed here, on its own line and never wrapped."""
    text = Text(" " * indent) + Text(clean(as_typed(command)), style="cyan")
    console.print(text, soft_wrap=True)


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
