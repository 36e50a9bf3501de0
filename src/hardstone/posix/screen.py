"""POSIX on a terminal: options by three means, limits, profiles, HP's features, and coverage."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import IO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hardstone.model import RunDocument
from hardstone.posix.tables import (
    CoverageTable,
    MeasuredText,
    PointRow,
    PosixTable,
    posix_tables,
)
from hardstone.stats.conditions import conditions_in
from hardstone.terminal.console import (
    figures_table,
    make_console,
    print_command,
    print_table,
    words,
)
from hardstone.terminal.one_screen import contradiction_lines
from hardstone.wording import kernel_text, target_text

_ROOMY = 80
_USUAL_NAME = 28
_BEFORE_REMARK = 58
_CLAIMS = {"passed": "green", "failed": "bold red", "uncounted": "yellow"}
_STYLES = {"passed": "green", "failed": "bold red", "partly": "yellow", "quiet": "dim"}


def print_posix(document: RunDocument, stream: IO[str] | None = None) -> None:
    """Prints both views of each result of POS-B-INV to `stream` (default: standard output)."""
    console = make_console(stream)
    for line in contradiction_lines(document):
        console.print(line)
    console.print(words(document.id, "bold"))
    console.print(words(target_text(document)))
    console.print(words(kernel_text(document.system)))
    console.print()
    show_posix(console, document)
    console.print()
    run = shlex.quote(document.id)
    console.print(words("the run, and its report:"))
    print_command(console, f"hardstone show {run}")
    print_command(console, f"hardstone report {run}")


def show_posix(console: Console, document: RunDocument) -> None:
    """The same without the machine; nothing where the run has no such result."""
    has_several = len(conditions_in(document)) > 1
    for table in posix_tables(document):
        if has_several:
            console.print(words(table.title, "bold"))
        if table.state:
            console.print(words(f"incomplete: {table.state}", "yellow"))
        for problem in table.problems:
            console.print(words(problem, "yellow"))
        if table.parts:
            print_table(console, _options(table, console.width))
            for text in filter(None, (table.means, table.named_only)):
                console.print(words(text, "dim"))
            console.print()
        _show_limits(console, table)
        _show_clocks(console, table)
        _show_profiles(console, table)
        console.print(words(table.points_title, "bold"))
        print_table(console, _points(table.points))
        console.print(words(table.points_meaning, "dim"))
        if table.command:
            console.print(words("to measure what this run does not have:"))
            print_command(console, table.command)
        console.print()
        _show_coverage(console, table.coverage)


# ---- options ----


def _options(found: PosixTable, width: int) -> Table:
    """The title of a part is a row of its own."""
    table = figures_table(("option", "headers", "sysconf", "call", ""), left=5)
    rows = [row for part in found.parts for row in part.rows]
    if width >= _ROOMY and all(len(row.option) < _USUAL_NAME for row in rows):
        table.columns[0].no_wrap = True
        table.columns[-1].max_width = width - _BEFORE_REMARK
    for part in found.parts:
        title, _, works = part.title.partition(": ")
        table.add_row(words(title, "bold"), "", "", words(works.partition(" options")[0], "bold"))
        for row in part.rows:
            remark = words(row.remark, "bold yellow")
            below = Text("\n") if row.remark and row.why else Text("")
            table.add_row(
                Text(" ") + words(row.option),
                words(row.headers),
                words(row.sysconf),
                words(row.call, _STYLES[row.look]),
                remark + below + words(row.why, "dim"),
            )
    return table


# ---- limits, clocks, profiles ----


def _show_limits(console: Console, found: PosixTable) -> None:
    if found.priorities:
        console.print(words(found.priorities))
    for one in found.claims:
        word = words(one.word, _CLAIMS[one.look])
        console.print(word + Text(" ") + words(f"{one.name}: {one.evidence}"))
    if found.priorities or found.claims:
        console.print()
    if found.limits:
        table = figures_table(("limit", "this system", "minimum in POSIX"))
        for row in found.limits:
            style = "bold red" if row.is_below else ""
            table.add_row(words(row.limit), words(row.value, style), words(row.least or "-"))
        print_table(console, table)
        console.print()


def _show_clocks(console: Console, found: PosixTable) -> None:
    if found.clocks:
        table = figures_table(("resolution", "claimed", "seen"))
        for row in found.clocks:
            table.add_row(*map(words, row))
        print_table(console, table)
        console.print(words(found.clocks_meaning, "dim"))
        console.print()


def _show_profiles(console: Console, found: PosixTable) -> None:
    if not found.profiles:
        return
    table = figures_table(("profile", "", "missing"), left=3)
    for row in found.profiles:
        style = "green" if row.is_satisfied else "yellow" if row.is_next else ""
        cells = (words(row.profile, "bold" if row.is_next else ""), words(row.state, style))
        table.add_row(*cells, words(row.missing))
    print_table(console, table)
    console.print(words(found.profiles_meaning, "dim"))
    console.print()


# ---- features and coverage ----


def _points(rows: Sequence[PointRow]) -> Table:
    table = figures_table(("feature", "by options of POSIX", "measured in this run"), left=3)
    for row in rows:
        options = Text("\n") + words(row.options, "dim") if row.options else Text("")
        table.add_row(
            words(row.name),
            words(row.answer, _STYLES.get(row.look, "")) + options,
            Text("\n").join(map(_measured, row.measured)),
        )
    return table


def _measured(one: MeasuredText) -> Text:
    found = words(one.test, "dim" if one.is_absent else "") + Text(" ")
    found += words(one.judged, _STYLES.get(one.look, ""))
    return found + Text("; " if one.judged and one.figure else "") + words(one.figure)


def _show_coverage(console: Console, found: CoverageTable) -> None:
    console.print(words(f"coverage, compared with {found.study}", "bold"))
    table = figures_table(("system", *found.columns), left=1 + len(found.columns))
    for row in found.rows:
        cells = [
            words(text, _STYLES.get(look, ""))
            for text, look in zip(row.cells, row.looks, strict=True)
        ]
        table.add_row(words(row.system, "bold" if row.is_own else ""), *cells)
    print_table(console, table)
    console.print(words(found.rule, "dim"))
