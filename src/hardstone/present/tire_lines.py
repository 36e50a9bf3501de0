"""The tire in a few lines, for a run that is no sweep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hardstone.model import RunDocument
from hardstone.present.tire_words import CurveNames, bound_text, masses_text, missed_text
from hardstone.present.wording import shorten
from hardstone.stats.tire_bound import Cell, bounds_of
from hardstone.stats.tire_names import REAL_FAST, REAL_TIME
from hardstone.stats.tire_points import Point, points_of
from hardstone.stats.tire_sweep import sweep_points
from hardstone.units import format_ns

MOST_LINES = 4


def tire_lines(document: RunDocument) -> list[str]:
    """Missed deadlines, then total times; empty for a sweep, which has a screen of its own."""
    if sweep_points(document):
        return []
    points = points_of(document)
    names = CurveNames(document)
    found = [*_real_time(points, names), *_real_fast(points, names)]
    more = len(found) - MOST_LINES
    return [*found[:MOST_LINES], *([f"and {more} more, with --all"] if more > 0 else [])]


def deadlines_missed(document: RunDocument) -> str:
    """The first size at which steps missed; empty without one, and for a sweep, which looks for
    them on purpose."""
    if sweep_points(document):
        return ""
    cells = [cell for bound in bounds_of(points_of(document)) for cell in bound.cells]
    late = [cell for cell in cells if cell.has_missed]
    if not late:
        return ""
    more = f"; {len(late)} sizes in all" if len(late) > 1 else ""
    return f"{REAL_TIME}: {missed_line(late[0], CurveNames(document))}{more}"


def missed_line(cell: Cell, names: CurveNames) -> str:
    """ "0 of 100 steps missed their deadline (share < 3.0 %): 400 masses, 2 threads, fifo"."""
    bound = f" (share {bound_text(cell)})" if cell.bound is not None else ""
    return f"{missed_text(cell)} steps missed their deadline{bound}: {_who(cell.points[0], names)}"


def _who(point: Point, names: CurveNames) -> str:
    parts = (masses_text(point.masses), _threads(point), names.panel(point.curve))
    return ", ".join(parts)


def _threads(point: Point) -> str:
    return "1 thread" if point.threads == 1 else f"{point.threads} threads"


def _real_time(points: Sequence[Point], names: CurveNames) -> Iterator[str]:
    for bound in bounds_of(points):
        for cell in bound.cells:
            if cell.points[0].is_measured:
                yield missed_line(cell, names)


def _real_fast(points: Sequence[Point], names: CurveNames) -> Iterator[str]:
    for point in points:
        if point.test == REAL_FAST and point.total:
            code = f", code {shorten(point.work.code, 12)}" if point.work.code else ""
            yield f"{_who(point, names)} in {format_ns(point.total.mean_ns)}{code}"
