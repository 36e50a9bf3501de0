"""The tire on a terminal: what held, the hard map, the statement, model and study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO

from rich import box
from rich.console import Console
from rich.table import Table

from hardstone.model import RunDocument
from hardstone.present import (
    tire_cost_table,
    tire_fast_table,
    tire_published,
    tire_statement_text,
    tire_table,
)
from hardstone.present.tire_statement_text import StatementText
from hardstone.present.tire_words import HELD
from hardstone.stats.tire_points import Point, has_tire, points_of, problems_of
from hardstone.stats.tire_sweep import sweep_points
from hardstone.terminal.one_screen import print_screen
from hardstone.terminal.tire_screen import map_lines
from hardstone.terminal.widths import print_table
from hardstone.terminal.words import words

_MOST_PROBLEMS = 4


def print_tire(document: RunDocument, stream: IO[str] | None = None) -> None:
    """Prints a sweep on one screen to `stream` (default: standard output)."""
    print_screen(document, stream)


def show_tire(console: Console, document: RunDocument) -> None:
    """Everything about the tire of a run; nothing where it has none."""
    if not has_tire(document):
        return
    points = points_of(document)
    rows = tire_table.bound_rows(document, points)
    if rows:
        console.print(words("simulation in real time: what held", "bold"))
        print_table(console, _held(rows))
        for row in rows:
            if row.note:
                who = ", ".join(filter(None, (row.policy, row.under, f"{row.threads} threads")))
                console.print(words(f"{who}: {row.note}", "yellow"))
        console.print(words(tire_table.STEPS, "dim"))
        console.print(words(HELD, "dim"))
        console.print()
    for line in map_lines(console, document, points):
        console.print(line)
    _show_fast(console, tire_fast_table.fast_rows(document, points))
    _show_statement(console, tire_statement_text.statement_texts(document, points))
    _show_costs(console, tire_cost_table.cost_table(document, points))
    _show_published(console, tire_published.published_tire(document, points))
    _show_points(console, document, points)
    told = [*tire_table.denied_lines(points), *tire_table.paused_lines(points)]
    for text in (*problems_of(points)[:_MOST_PROBLEMS], *told):
        console.print(words(text, "yellow"))
    console.print()


def _held(rows: Sequence[tire_table.BoundRow]) -> Table:
    """Without the columns of conditions, solver and p99 where they tell nothing."""
    has_under = any(row.under for row in rows)
    has_solver = len({row.solver for row in rows}) > 1
    has_p99 = any(row.p99 != "-" for row in rows)
    titles = ["policy", *["under"] * has_under, *["solver"] * has_solver]
    numbers = ["threads", "held", "missed at", "missed", "bound", "mean", *["p99"] * has_p99, "max"]
    table = _table([*titles, *numbers], left=len(titles))
    for row in rows:
        names = [row.policy, *[row.under] * has_under, *[row.solver] * has_solver]
        held = words(row.held, "bold" if row.has_held else "bold red")
        figures = [row.missed, row.bound, row.mean, *[row.p99] * has_p99, row.worst]
        table.add_row(
            *map(words, (*names, row.threads)), held, *map(words, (row.missed_from, *figures))
        )
    return table


def _show_fast(console: Console, rows: Sequence[Sequence[str]]) -> None:
    if not rows:
        return
    has_range = any(row[4] != "-" for row in rows)
    places = [0, 1, 2, 3, *[4] * has_range, 5, 6, 7]
    table = _table([tire_fast_table.HEADINGS[place] for place in places], left=1)
    for row in rows:
        table.add_row(*(words(row[place]) for place in places))
    console.print(words("simulation as fast as possible", "bold"))
    print_table(console, table)
    console.print(words(tire_fast_table.MEANING, "dim"))
    console.print()


def _show_statement(console: Console, found: Sequence[StatementText]) -> None:
    if not found:
        return
    console.print(words(tire_statement_text.TITLE.lower(), "bold"))
    for one in found:
        for number, (text, style) in enumerate(statement_parts(one)):
            console.print(words(text if number == 0 else f"  {text}", style))
    console.print(words(tire_statement_text.ABOUT, "dim"))
    console.print()


def statement_parts(one: StatementText) -> Iterator[tuple[str, str]]:
    """(text, style) of each line."""
    yield f"{one.title}: {one.conclusion}", "bold" if one.is_decided else ""
    yield one.speed, ""
    yield one.misses, ""
    for what, first, second in one.rows:
        yield f"{what}: {one.first} {first}, {one.second} {second}", ""
    for text in one.needed:
        yield f"Open: {text}.", "yellow"


def _show_costs(console: Console, found: tire_cost_table.CostTable) -> None:
    if found.rows:
        console.print(words("a step by the cost model", "bold"))
        print_table(console, _costs(found.rows))
        console.print(words(tire_cost_table.ABOUT, "dim"))
    for text in (*found.notes, *found.lacking):
        console.print(words(text, "dim"))
    if found.rows or found.lacking:
        console.print()


def _costs(rows: Sequence[tuple[str, ...]]) -> Table:
    """What fits into 80 columns: masses, threads, policy, model, measured, residuals."""
    has_under = any(row[3] != "-" for row in rows)
    places = (2, *[3] * has_under, 1, 0, 8, 9, 10, 12)
    table = _table([tire_cost_table.HEADINGS[place] for place in places], left=1)
    for row in rows:
        table.add_row(*(words(row[place]) for place in places))
    return table


def _show_published(console: Console, found: tire_published.PublishedTire) -> None:
    console.print(words(f"published: {found.short}, on {found.hardware}", "bold"))
    table = _table(tire_published.HEADINGS, left=1)
    for row in found.rows:
        table.add_row(*map(words, row))
    print_table(console, table)
    console.print(words(f"This run: {found.refused or found.own_hardware}", "dim"))
    console.print(words(f"Pre-test of the study: {found.pretest}", "dim"))
    console.print()


def _show_points(console: Console, document: RunDocument, points: Sequence[Point]) -> None:
    """What fits into 80 columns of each point of a sweep; a battery has its series."""
    if not sweep_points(document):
        return
    rows = tire_table.point_rows(document, points)
    has_under = any(row[3] != "-" for row in rows)
    places = (2, *[3] * has_under, 1, 0, 4, 7, 9, 10, 11)
    console.print(words("points", "bold"))
    table = _table([tire_table.POINT_HEADINGS[place] for place in places], left=1)
    for row in rows:
        table.add_row(*(words(row[place]) for place in places))
    print_table(console, table)
    more = len(points) - len(rows)
    if more > 0:
        console.print(words(f"and {more} more, with --json", "dim"))
    console.print()


def _table(titles: Sequence[str], left: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for number, title in enumerate(titles):
        table.add_column(title, justify="left" if number < left else "right", overflow="fold")
    return table
