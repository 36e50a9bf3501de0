"""The summary of a run, from its document alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hardstone.calling import as_typed
from hardstone.catalogue import load_catalogue
from hardstone.model import RunDocument
from hardstone.report.text import clean
from hardstone.stats.conditions import conditions_in, names_in
from hardstone.summary.findings import (
    advice_commands,
    advice_rows,
    contradiction_lines,
    remedy_commands,
    status_rows,
    trust_rows,
    verdict_row,
)
from hardstone.summary.header import grants, header_lines, not_realtime_lines
from hardstone.summary.notes import (
    Row,
    event_commands,
    event_rows,
    left_rows,
    load_rows,
    work_rows,
)
from hardstone.summary.table import SeriesTable
from hardstone.summary.text import words
from hardstone.summary.widths import print_table, width_of

CLOSING = (
    "worst observed: the largest value of this run. No test inside a sample detects a "
    "path that was not taken."
)


def print_summary(document: RunDocument, stream: IO[str] | None = None) -> None:
    """Prints `document` to `stream` (default: standard output), in colour on a terminal."""
    from hardstone.summary.beside import print_legend, print_loads, print_side_by_side

    console = make_console(stream)
    print_head(console, document)
    console.print()
    if len(conditions_in(document)) > 1:
        print_side_by_side(console, document)
    else:
        _print_series(console, document)
    print_loads(console, document)
    print_legend(console, document)
    _print_verdicts(console, document)
    unlike = [
        *left_rows(document),
        *status_rows(document),
        *work_rows(document),
        *load_rows(document),
    ]
    _print_rows(console, "not as asked", unlike, remedy_commands(document))
    _print_rows(console, "to know", event_rows(document), event_commands(document))
    _print_rows(console, "", trust_rows(document))
    _print_rows(console, "advice", advice_rows(document), advice_commands(document))


def print_head(console: Console, document: RunDocument) -> None:
    """Prints the title lines, the gravest caveat and what to type against it first."""
    for line in (*contradiction_lines(document), *not_realtime_lines(document)):
        console.print(line)
    for command in grants(document):
        print_command(console, command)
    for line in header_lines(document):
        console.print(line)


def _print_series(console: Console, document: RunDocument) -> None:
    series = SeriesTable(document)
    table = series.build()
    if table is None:
        return
    print_table(console, table)
    console.print()
    for note in series.notes:
        console.print(Text(note))
    console.print(Text(CLOSING, style="dim"))
    console.print()


def _print_verdicts(console: Console, document: RunDocument) -> None:
    names = names_in(document)
    for result in document.results:
        entry = load_catalogue().entry(result.test)
        rows = [verdict_row(verdict, entry) for verdict in result.verdicts]
        _print_rows(console, f"behaviours of {names.name(result)}", rows)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Left to the command, which knows its exit code; rich would exit with 1."""
        raise BrokenPipeError


def make_console(stream: IO[str] | None = None) -> Console:
    """A console that reads no markup in what it prints."""
    return _Console(
        file=stream,
        width=width_of(stream),
        markup=False,
        highlight=False,
        emoji=False,
        soft_wrap=False,
    )


def print_command(console: Console, command: str, indent: int = 4) -> None:
    """Prints what is to be typed as it works here: on a line of its own, never wrapped."""
    text = Text(" " * indent) + Text(clean(as_typed(command)), style="cyan")
    console.print(text, soft_wrap=True)


def _print_rows(
    console: Console, title: str, rows: Iterable[Row], commands: Iterable[str] = ()
) -> None:
    """Rows in columns; the last one takes what is left and wraps below itself.

    `commands` are what the rows say is to be typed.
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
