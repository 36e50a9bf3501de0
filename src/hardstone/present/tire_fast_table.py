"""SIM-P-RF as rows: total time, CPU time and context switches of each simulation."""

from __future__ import annotations

from collections.abc import Sequence

from hardstone.model import RunDocument
from hardstone.present.tire_table import switches_text
from hardstone.present.tire_words import CurveNames
from hardstone.stats.tire_costs import steps_each
from hardstone.stats.tire_points import Point, by_curve
from hardstone.units import format_count, format_ns

MOST_ROWS = 60
HEADINGS = ("real-fast", "threads", "masses", "total", "range", "a mass, a step", "CPU", "switches")
MEANING = (
    "Total: mean of the repeats, from the common start to the end of the last thread. CPU time of "
    "all threads, and context switches (voluntary + involuntary): of the last repeat."
)


def fast_rows(document: RunDocument, points: Sequence[Point]) -> list[tuple[str, ...]]:
    """Each measured point as in HEADINGS, by curve and masses, at most MOST_ROWS."""
    names = CurveNames(document)
    timed = [one for one in points if one.total and not one.has_frames]
    ordered = [one for own in by_curve(timed).values() for one in own]
    return [_row(document, one, names) for one in ordered[:MOST_ROWS]]


def _row(document: RunDocument, point: Point, names: CurveNames) -> tuple[str, ...]:
    total = point.total
    mean_ns = total.mean_ns if total else 0.0
    is_repeated = total is not None and total.repeats_count > 1
    steps = steps_each(document, point)
    each_ns = mean_ns / (steps * point.masses) if steps else None
    return (
        names.panel(point.curve),
        format_count(point.threads),
        format_count(point.masses),
        format_ns(mean_ns),
        f"{format_ns(total.min_ns)} to {format_ns(total.max_ns)}" if total and is_repeated else "-",
        format_ns(each_ns),
        format_ns(point.work.cpu_ns),
        switches_text(point),
    )
