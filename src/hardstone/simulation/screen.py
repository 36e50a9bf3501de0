"""The tire on a terminal: one screen of a sweep, all its tables, and several of them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hardstone.model import RunDocument
from hardstone.present.target_table import target_columns
from hardstone.simulation import tables
from hardstone.simulation.results import REAL_FAST, Point, has_tire, points_of, problems_of
from hardstone.simulation.scaling import scaling_texts
from hardstone.simulation.tables import (
    BOUND,
    FAST_HEADINGS,
    HELD,
    MAP_HELD,
    MAP_MISSED,
    PLAIN,
    BoundRow,
    MapText,
    StatementText,
    bound_rows,
    fast_rows,
    map_texts,
    statement_texts,
)
from hardstone.stats.conditions import sweep_points
from hardstone.stats.consistency import time_meaning
from hardstone.terminal.console import figures_table, make_console, print_table, words
from hardstone.wording import one_line, shorten


def print_tires(documents: Sequence[RunDocument]) -> None:
    """Prints each run after the first compared with that one."""
    console = make_console()
    columns = [column.short for column in target_columns(documents)]
    console.print(words(tables.TITLE.lower(), "bold"))
    for label, document in list(zip(columns, documents, strict=True))[1:]:
        labels = (columns[0], label)
        found = tables.texts_between(documents[0], document, labels)
        if isinstance(found, str):
            console.print(words(f"{labels[0]} and {label}: not compared: {found}", "yellow"))
        else:
            _print_statements(console, found)
    console.print(words(tables.STATEMENT_ABOUT, "dim"))
    meaning = time_meaning(documents[0].system)
    if meaning:
        console.print(words(meaning, "yellow"))


def _print_statements(console: Console, found: Sequence[StatementText]) -> None:
    for one in found:
        style = "bold" if one.is_decided else ""
        console.print(words(f"{one.title}: {one.conclusion}", style))
        console.print(words(f"  {one.speed}"))
        console.print(words(f"  {one.misses}"))
        for what, first, second in one.rows:
            console.print(words(f"  {what}: {one.first} {first}, {one.second} {second}"))
        for text in one.needed:
            console.print(words(f"  Open: {text}.", "yellow"))


_GUTTER = 10
_COLUMNS = (11, 10, 12, 10, 8, 8)  # held, missed from, missed, bound, mean, max
_FAST_COLUMNS = (11, 9, 9, 18)  # masses, total, CPU time, switches
_THREADS = 8
_LEAST_LABEL = 12
_LEAST_MAP = 4
_MOST_REASONS = 2


def screen_lines(console: Console, document: RunDocument, room: int) -> list[Text]:
    """At most `room` lines: rows of the table first, then the statement, then maps."""
    points = points_of(document)
    statements = list(_statements(document, points, console.width))[: max(room // 3, 1)]
    table = _bound_table(console.width, bound_rows(document, points), room - len(statements))
    reasons = list(_reasons(document, points, console.width))
    sentences = tables.prediction_sentences(document, points)[: max(room // 6, 1)]
    predicted = [Text(shorten(one, console.width)) for one in sentences if table]
    left = room - len(statements) - len(table) - len(reasons) - len(predicted)
    if not table:
        return [*_fast(console.width, fast_rows(document, points), left), *statements]
    maps = [] if left < _LEAST_MAP else list(_map_lines(console, document, points))
    if len(maps) > left:
        maps = [*maps[: left - 1], Text("and more of the maps, with --all", style="dim")]
    meaning = [Text(BOUND, style="dim")] if table and len(maps) < left else []
    opening = tables.opening_text(document)
    if opening:
        statements.append(Text(opening, style="dim"))
    return [*table, *meaning, *predicted, *reasons, *maps, *statements][: max(room, 0)]


def _statements(document: RunDocument, points: Sequence[Point], width: int) -> Iterator[Text]:
    """What each statement concludes, and why one is open, in two lines at most."""
    for one in statement_texts(document, points):
        why = "" if one.is_decided else f" Open: {'; '.join(one.needed)}."
        lines = textwrap.wrap(
            one_line(f"{one.title}: {one.conclusion}{why}"),
            width,
            max_lines=2,
            placeholder=" \u2026",
        )
        yield from (Text(line, style="bold" if one.is_decided else "") for line in lines)


def _threads(row: BoundRow) -> str:
    return "thread" if row.threads == "1" else "threads"


def _reasons(document: RunDocument, points: Sequence[Point], width: int) -> Iterator[Text]:
    """Why more threads held fewer masses, of the first policies, four lines each at most."""
    for text in scaling_texts(document, points)[:_MOST_REASONS]:
        lines = textwrap.wrap(one_line(text), width, max_lines=4, placeholder=" \u2026")
        yield from (Text(line, style="yellow") for line in lines)


def _bound_table(width: int, rows: Sequence[BoundRow], room: int) -> list[Text]:
    if not rows or room < 2:
        return []
    label = max(width - _THREADS - sum(_COLUMNS), _LEAST_LABEL)
    heads = ("held", "missed at", "missed", "bound", "mean", "max")
    lines = [
        Text(f"{'policy':{label}}{'threads':>{_THREADS}}{_aligned(heads, _COLUMNS)}", style="bold")
    ]
    shown = rows if len(rows) < room else rows[: room - 2]
    for row in shown:
        who = shorten(", ".join(filter(None, (row.policy, row.under))), label - 1)
        cells = (row.held, row.missed_from, row.missed, row.bound, row.mean, row.worst)
        lines.append(Text(f"{who:{label}}{row.threads:>{_THREADS}}{_aligned(cells, _COLUMNS)}"))
    if len(shown) < len(rows):
        lines.append(Text(f"and {len(rows) - len(shown)} more, with --all", style="dim"))
    return lines


def _fast(width: int, rows: Sequence[Sequence[str]], room: int) -> list[Text]:
    """Total times, where nothing was simulated in real time."""
    if not rows or room < 2:
        return []
    label = max(width - _THREADS - sum(_FAST_COLUMNS), _LEAST_LABEL)
    shown = rows if len(rows) < room else rows[: room - 2]
    lines = []
    for number, row in enumerate((FAST_HEADINGS, *shown)):
        who = row[0] if number == 0 else f"{REAL_FAST} {row[0]}"
        cells = [row[place] for place in (2, 3, 6, 7)]
        figures = f"{row[1]:>{_THREADS}}{_aligned(cells, _FAST_COLUMNS)}"
        text = f"{shorten(who, label - 1):{label}}{figures}"
        lines.append(Text(text, style="" if number else "bold"))
    if len(shown) < len(rows):
        lines.append(Text(f"and {len(rows) - len(shown)} more, with --all", style="dim"))
    return lines


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    """The cells in columns of these widths, each to the right."""
    return "".join(
        f"{shorten(cell, width - 1):>{width}}" for cell, width in zip(cells, widths, strict=True)
    )


def _map_lines(console: Console, document: RunDocument, points: Sequence[Point]) -> Iterator[Text]:
    """The hard maps, each with its title and axis, two abreast where they are narrow enough."""
    is_plain = "utf" not in (console.encoding or "").lower()
    found = map_texts(document, points, max(console.width - _GUTTER - 2, 8))
    if not found:
        return
    missed, held = (PLAIN[MAP_MISSED], PLAIN[MAP_HELD]) if is_plain else (MAP_MISSED, MAP_HELD)
    marks = f"{missed} missed, {held} none missed, ? not counted; a column for each n measured"
    yield Text(f"hard map: {marks}", style="bold", overflow="fold")
    blocks = [list(_map(one, is_plain=is_plain)) for one in found]
    half = console.width // 2
    if any(line.cell_len >= half for block in blocks for line in block):
        for block in blocks:
            yield from block
        return
    nothing: list[Text] = []
    for left, right in zip_longest(blocks[::2], blocks[1::2], fillvalue=nothing):
        for one, other in zip_longest(left, right, fillvalue=Text("")):
            yield one + Text(" " * (half - one.cell_len)) + other if other.plain else one


def _map(one: MapText, *, is_plain: bool) -> Iterator[Text]:
    yield Text(f"{one.title}: {one.ends[0]} to {one.ends[1]}")
    for threads, marks in one.lines:
        line = Text(f"{threads:>{_GUTTER - 2}}  ")
        for mark in marks:
            style = {MAP_MISSED: "red", MAP_HELD: "green"}.get(mark, "")
            line.append(PLAIN.get(mark, mark) if is_plain else mark, style)
        yield line
    if one.left_out:
        yield Text(f"and {one.left_out} more numbers of threads", style="dim")


_MOST_PROBLEMS = 4


def show_tire(console: Console, document: RunDocument) -> None:
    """Everything about the tire of a run; nothing where it has none."""
    if not has_tire(document):
        return
    points = points_of(document)
    rows = tables.bound_rows(document, points)
    if rows:
        console.print(words("simulation in real time: what held", "bold"))
        print_table(console, _held(rows))
        for row in rows:
            if row.note:
                who = ", ".join(
                    filter(None, (row.policy, row.under, f"{row.threads} {_threads(row)}"))
                )
                console.print(words(f"{who}: {row.note}", "yellow"))
        for text in scaling_texts(document, points):
            console.print(words(text, "yellow"))
        console.print(words(tables.STEPS, "dim"))
        console.print(words(HELD, "dim"))
        console.print()
    for line in _map_lines(console, document, points):
        console.print(line)
    _show_fast(console, tables.fast_rows(document, points))
    statements = tables.statement_texts(document, points)
    if statements:
        console.print(words(tables.TITLE.lower(), "bold"))
        _print_statements(console, statements)
        console.print(words(tables.STATEMENT_ABOUT, "dim"))
        console.print()
    _show_predictions(console, tables.prediction_table(document, points))
    _show_period(console, tables.period_rows(document, points))
    _show_costs(console, tables.cost_table(document, points))
    _show_published(console, tables.published_tire(document, points))
    _show_points(console, document, points)
    problems = problems_of(points)[:_MOST_PROBLEMS]
    for text in (*problems, *tables.denied_lines(points), *tables.paused_lines(points)):
        console.print(words(text, "yellow"))
    console.print()


def _held(rows: Sequence[tables.BoundRow]) -> Table:
    """Without the columns of conditions, solver and p99 where they tell nothing."""
    has_under = any(row.under for row in rows)
    has_solver = len({row.solver for row in rows}) > 1
    has_p99 = any(row.p99 != "-" for row in rows)
    titles = ["policy", *["under"] * has_under, *["solver"] * has_solver]
    numbers = ["threads", "held", "missed at", "missed", "bound", "mean", *["p99"] * has_p99, "max"]
    table = figures_table([*titles, *numbers], left=len(titles))
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
    console.print(words("simulation as fast as possible", "bold"))
    print_table(console, _columns_of(tables.FAST_HEADINGS, rows, places))
    console.print(words(tables.MEANING, "dim"))
    console.print()


def _show_predictions(console: Console, found: tables.PredictionTable) -> None:
    if not found.rows and not found.lacking:
        return
    headings = tables.PREDICTED_HEADINGS
    console.print(words("largest simulation: predicted and held", "bold"))
    if found.rows:
        table = figures_table(headings)
        for row in found.rows:
            table.add_row(*map(words, row[:-1]), words(row[-1].split(":")[0]))
        print_table(console, table)
    for text in found.lacking:
        console.print(words(text, "dim"))
    console.print(words(tables.PREDICTED, "dim"))
    console.print()


def _show_period(console: Console, rows: Sequence[Sequence[str]]) -> None:
    if not rows:
        return
    console.print(words("a period of the largest simulation that held", "bold"))
    print_table(console, _columns_of(tables.PERIOD_HEADINGS, rows, range(len(rows[0]))))
    console.print(words(tables.PERIOD, "dim"))
    console.print()


def _show_costs(console: Console, found: tables.CostTable) -> None:
    if found.rows:
        has_under = any(row[3] != "-" for row in found.rows)
        # What fits into 80 columns: masses, threads, policy, model, measured, residuals.
        places = (2, *[3] * has_under, 1, 0, 8, 9, 10, 12, 13)
        console.print(words("a step by the cost model", "bold"))
        print_table(console, _columns_of(tables.COST_HEADINGS, found.rows, places))
        console.print(words(tables.COST_ABOUT, "dim"))
    for text in (*found.notes, *found.lacking):
        console.print(words(text, "dim"))
    if found.rows or found.lacking:
        console.print()


def _show_published(console: Console, found: tables.PublishedTire) -> None:
    headings = found.headings
    console.print(words(f"published: {found.short}, on {found.hardware}", "bold"))
    print_table(console, _columns_of(headings, found.rows, range(len(headings))))
    console.print(words(f"This run: {found.refused or found.own_hardware}", "dim"))
    console.print(words(f"Pre-test of the study: {found.pretest}", "dim"))
    console.print()


def _show_points(console: Console, document: RunDocument, points: Sequence[Point]) -> None:
    """What fits into 80 columns of each point of a sweep; a battery has its series."""
    if not sweep_points(document):
        return
    rows = tables.point_rows(document, points)
    has_under = any(row[3] != "-" for row in rows)
    places = (2, *[3] * has_under, 1, 0, 4, 7, 9, 10, 11)
    console.print(words("points", "bold"))
    print_table(console, _columns_of(tables.POINT_HEADINGS, rows, places))
    more = len(points) - len(rows)
    if more > 0:
        console.print(words(f"and {more} more, with --json", "dim"))
    console.print()


def _columns_of(
    headings: Sequence[str], rows: Sequence[Sequence[str]], places: Sequence[int]
) -> Table:
    """A table of the columns at `places`: a name, then figures."""
    table = figures_table([headings[place] for place in places])
    for row in rows:
        table.add_row(*(words(row[place]) for place in places))
    return table
