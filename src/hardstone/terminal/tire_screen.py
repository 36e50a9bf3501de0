"""A sweep of the tire on one screen: what each curve held, a map, and the statement."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from rich.console import Console
from rich.text import Text

from hardstone.model import RunDocument
from hardstone.present.tire_fast_table import HEADINGS, fast_rows
from hardstone.present.tire_map import (
    HELD,
    MISSED,
    PLAIN,
    MapText,
    legend,
    map_texts,
)
from hardstone.present.tire_statement_text import statement_texts
from hardstone.present.tire_table import BoundRow, bound_rows
from hardstone.present.tire_words import BOUND
from hardstone.present.wording import one_line, shorten
from hardstone.stats.tire_names import REAL_FAST
from hardstone.stats.tire_points import Point, points_of

_GUTTER = 10
_COLUMNS = (11, 10, 11, 8, 9, 9)  # held, missed from, missed, bound, mean, max
_FAST_COLUMNS = (11, 9, 9, 18)  # masses, total, CPU time, switches
_THREADS = 8
_LEAST_LABEL = 12
_LEAST_MAP = 4


def screen_lines(console: Console, document: RunDocument, room: int) -> list[Text]:
    """At most `room` lines: rows of the table first, then the statement, then maps."""
    points = points_of(document)
    told = list(_statements(document, points, console.width))[: max(room // 3, 1)]
    table = _table(console.width, bound_rows(document, points), room - len(told))
    left = room - len(told) - len(table)
    if not table:
        return [*_fast(console.width, fast_rows(document, points), left), *told]
    maps = [] if left < _LEAST_MAP else list(map_lines(console, document, points))
    if len(maps) > left:
        maps = [*maps[: left - 1], Text("and more of the maps, with --all", style="dim")]
    meaning = [Text(BOUND, style="dim")] if table and len(maps) < left else []
    return [*table, *meaning, *maps, *told][: max(room, 0)]


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


def _table(width: int, rows: Sequence[BoundRow], room: int) -> list[Text]:
    if not rows or room < 2:
        return []
    label = max(width - _THREADS - sum(_COLUMNS), _LEAST_LABEL)
    heads = ("held", "missed at", "missed", "bound", "mean", "max")
    lines = [Text(f"{'policy':{label}}{'threads':>{_THREADS}}{_aligned(heads)}", style="bold")]
    shown = rows if len(rows) < room else rows[: room - 2]
    for row in shown:
        who = shorten(", ".join(filter(None, (row.policy, row.under))), label - 1)
        cells = (row.held, row.missed_from, row.missed, row.bound, row.mean, row.worst)
        lines.append(Text(f"{who:{label}}{row.threads:>{_THREADS}}{_aligned(cells)}"))
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
    for number, row in enumerate((HEADINGS, *shown)):
        who = row[0] if number == 0 else f"{REAL_FAST} {row[0]}"
        cells = [row[place] for place in (2, 3, 6, 7)]
        sizes = zip(cells, _FAST_COLUMNS, strict=True)
        aligned = "".join(f"{shorten(cell, size - 1):>{size}}" for cell, size in sizes)
        text = f"{shorten(who, label - 1):{label}}{row[1]:>{_THREADS}}{aligned}"
        lines.append(Text(text, style="" if number else "bold"))
    if len(shown) < len(rows):
        lines.append(Text(f"and {len(rows) - len(shown)} more, with --all", style="dim"))
    return lines


def _aligned(cells: Sequence[str]) -> str:
    return "".join(
        f"{shorten(cell, size - 1):>{size}}" for cell, size in zip(cells, _COLUMNS, strict=True)
    )


def map_lines(console: Console, document: RunDocument, points: Sequence[Point]) -> Iterator[Text]:
    """The hard maps, each with its title and axis, two abreast where they are narrow enough."""
    is_plain = "utf" not in (console.encoding or "").lower()
    found = map_texts(document, points, max(console.width - _GUTTER - 2, 8))
    if not found:
        return
    yield Text(f"hard map: {legend(is_plain=is_plain)}", style="bold", overflow="fold")
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
            style = {MISSED: "red", HELD: "green"}.get(mark, "")
            line.append(PLAIN.get(mark, mark) if is_plain else mark, style)
        yield line
    if one.left_out:
        yield Text(f"and {one.left_out} more numbers of threads", style="dim")
