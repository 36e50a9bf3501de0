"""The summary of a run, from its document alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO

from rich.console import Console
from rich.text import Text

from hardstone.model import RunDocument
from hardstone.summary.findings import event_lines, status_lines, trust_lines, verdict_lines
from hardstone.summary.header import header_lines
from hardstone.summary.table import SeriesTable

_CLOSING = (
    "worst observed: the largest value of this run. No test inside a sample detects a "
    "path that was not taken."
)


def print_summary(document: RunDocument, stream: IO[str] | None = None) -> None:
    """Prints `document` to `stream` (default: standard output), in colour on a terminal."""
    console = make_console(stream)
    series = SeriesTable(document)
    table = series.build()
    _print_block(console, header_lines(document))
    if table is not None:
        console.print(table)
    _print_block(console, [*map(Text, series.notes)])
    _print_block(console, verdict_lines(document), "behaviours")
    _print_block(console, status_lines(document), "not as asked")
    _print_block(console, event_lines(document), "to know")
    _print_block(console, trust_lines(document))
    if table is not None:
        console.print(Text(_CLOSING, style="dim"))


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Left to the command, which knows its exit code; rich would exit with 1."""
        raise BrokenPipeError


def make_console(stream: IO[str] | None = None) -> Console:
    """A console that reads no markup in what it prints."""
    return _Console(file=stream, markup=False, highlight=False, emoji=False, soft_wrap=False)


def _print_block(console: Console, lines: Iterable[Text], title: str = "") -> None:
    found = list(lines)
    if not found:
        return
    if title:
        console.print(Text(title, style="bold underline"))
    for line in found:
        console.print(line)
    console.print()
