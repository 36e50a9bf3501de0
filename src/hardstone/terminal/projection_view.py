"""`hardstone show RUN TEST --project`: the next maximum of each series, or every reason against."""

from __future__ import annotations

from typing import IO

from rich.console import Console

from hardstone.model import Result, RunDocument
from hardstone.present.projection_text import (
    LEAST_VALUES,
    PATH_NOT_TAKEN,
    ProjectionText,
    projections,
)
from hardstone.stats.conditions import condition_of, names_in
from hardstone.terminal.console import make_console, print_rows
from hardstone.terminal.whole_run import print_head
from hardstone.terminal.words import words
from hardstone.units import format_count

_STYLES = {True: "yellow", False: "dim"}


def print_projections(document: RunDocument, stream: IO[str] | None = None) -> None:
    """Prints those of all series of `document` to `stream` (default: standard output)."""
    console = make_console(stream)
    print_head(console, document)
    console.print()
    names = names_in(document)
    projected = 0
    for result in document.results:
        found = projections(result, document)
        under = names.label(condition_of(result))
        for one in found:
            _print_one(console, f"{result.test}{f' under {under}' if under else ''}", one)
        _print_left_out(console, result, len(found))
        projected += sum(one.is_projected for one in found)
    if projected > 1:
        console.print(words("Each interval is at its level alone, not all of them together."))
    console.print(words("The worst observed is what was measured. " + PATH_NOT_TAKEN))


def _print_one(console: Console, who: str, one: ProjectionText) -> None:
    console.print(words(f"{who}, {one.label}", "bold"))
    console.print(words(f"worst observed {one.worst}"))
    console.print(words(f"{one.outcome}:", _STYLES[one.is_projected]))
    print_rows(console, "", [(words("-"), words(line)) for line in one.lines])


def _print_left_out(console: Console, result: Result, shown: int) -> None:
    left = sum(one.count > 0 for one in result.series) - shown
    if left > 0:
        are = "series has" if left == 1 else "series have"
        why = f"fewer than {format_count(LEAST_VALUES)} values, or values that are no durations"
        console.print(words(f"{result.test}: no projection: {left} {are} {why}"))
        console.print()
