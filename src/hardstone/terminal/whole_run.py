"""The whole run, from its document alone: `hardstone show RUN --all`."""

from __future__ import annotations

from typing import IO

from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from hardstone.model import RunDocument
from hardstone.present.headline import headline
from hardstone.present.key_figures import LIMIT_OF_MAXIMA
from hardstone.present.notices import deviations, idle_remarks
from hardstone.present.why_late import NOTE, all_causes
from hardstone.stats.conditions import conditions_in, names_in
from hardstone.stats.tire_sweep import listed_results
from hardstone.terminal.console import make_console, print_command, print_rows
from hardstone.terminal.kernel_view import show_kernel_time
from hardstone.terminal.noise_rows import print_noise
from hardstone.terminal.posix_view import show_posix
from hardstone.terminal.run_rows import (
    advice_commands,
    advice_rows,
    contradiction_lines,
    deviation_row,
    grants,
    not_realtime_lines,
    note_rows,
    trust_rows,
    verdict_row,
)
from hardstone.terminal.search_view import show_search
from hardstone.terminal.series_table import SeriesTable
from hardstone.terminal.widths import print_table
from hardstone.terminal.words import words

_LATE_EACH = 3


def print_whole(document: RunDocument, stream: IO[str] | None = None) -> None:
    """Prints `document` to `stream` (default: standard output), in colour on a terminal."""
    from hardstone.present.preemption_pairs import pairs_in
    from hardstone.terminal.beside import print_legend, print_loads, print_side_by_side
    from hardstone.terminal.preemption_view import show_pair
    from hardstone.terminal.tire_view import show_tire

    console = make_console(stream)
    print_head(console, document)
    console.print()
    if len(conditions_in(document)) > 1:
        print_side_by_side(console, document)
    else:
        _print_series(console, replace(document, results=listed_results(document)))
    print_noise(console, document)
    for pair in pairs_in(document):
        show_pair(console, pair)
    print_loads(console, document)
    print_legend(console, document)
    show_kernel_time(console, document)
    show_posix(console, document)
    show_search(console, document)
    show_tire(console, document)
    _print_verdicts(console, document)
    unlike = deviations(document)
    commands = dict.fromkeys(one.command for one in unlike if one.command)
    print_rows(console, "deviations from the request", map(deviation_row, unlike), commands)
    rows, to_type = note_rows(document)
    print_rows(console, "notes", rows, to_type)
    _print_why_late(console, document)
    print_rows(console, "", trust_rows(document))
    print_rows(console, "advice", advice_rows(document), advice_commands(document))


def print_head(console: Console, document: RunDocument) -> None:
    """Prints the title lines, preceded by the most severe warnings and their commands."""
    for line in (*contradiction_lines(document), *not_realtime_lines(document)):
        console.print(line)
    for command in grants(document):
        print_command(console, command)
    for number, text in enumerate(headline(document)):
        console.print(words(text, "" if number else "bold"))


def _print_series(console: Console, document: RunDocument) -> None:
    series = SeriesTable(document)
    table = series.build()
    if table is None:
        return
    print_table(console, table)
    console.print()
    for note in [*series.notes, *idle_remarks(document)]:
        console.print(words(note))
    console.print(Text(LIMIT_OF_MAXIMA, style="dim"))
    console.print()


def _print_why_late(console: Console, document: RunDocument) -> None:
    found = all_causes(document, _LATE_EACH)
    if found:
        rows = [(words(who, "bold"), words(text)) for who, text in found]
        print_rows(console, "why the worst values were late", rows)
        console.print(Text(NOTE, style="dim"))
        console.print()


def _print_verdicts(console: Console, document: RunDocument) -> None:
    names = names_in(document)
    for result in listed_results(document):
        rows = [verdict_row(verdict, result.test) for verdict in result.verdicts]
        print_rows(console, f"behaviours of {names.name(result)}", rows)
