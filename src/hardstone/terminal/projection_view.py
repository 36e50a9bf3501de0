"""`hardstone show RUN TEST --project`: the next maximum of each series, or every reason against."""

from __future__ import annotations

from collections import Counter
from typing import IO

from rich.console import Console

from hardstone.model import RunDocument
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
    projected, left_out = 0, Counter[str]()
    for result in document.results:
        found = projections(result, document)
        under = names.label(condition_of(result))
        for one in found:
            _print_one(console, f"{result.test}{f' under {under}' if under else ''}", one)
        left_out[result.test] += sum(one.count > 0 for one in result.series) - len(found)
        projected += sum(one.is_projected for one in found)
    _print_left_out(console, left_out)
    if projected > 1:
        console.print(words("Each interval is at its level alone, not all of them together."))
    console.print(words("The worst observed is what was measured. " + PATH_NOT_TAKEN))


def _print_one(console: Console, who: str, one: ProjectionText) -> None:
    console.print(words(f"{who}, {one.label}", "bold"))
    console.print(words(f"worst observed {one.worst}"))
    console.print(words(f"{one.outcome}:", _STYLES[one.is_projected]))
    print_rows(console, "", [(words("-"), words(line)) for line in one.lines])


def _print_left_out(console: Console, left_out: Counter[str]) -> None:
    """How many series of each test were not looked at."""
    why = f"fewer than {format_count(LEAST_VALUES)} values, or values that are no durations"
    told = [
        f"{test}: no projection: {count} {'series has' if count == 1 else 'series have'} {why}"
        for test, count in left_out.items()
        if count
    ]
    for line in told:
        console.print(words(line))
    if told:
        console.print()
